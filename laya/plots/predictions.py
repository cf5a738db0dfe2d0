"""Class probabilities."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from laya.palette import ACCENT, GREY


def prediction_chart(predictions: Sequence[tuple[str, float]], target: str, *, most: int = 10) -> go.Figure:
    """Class probabilities as horizontal bars, most likely on top; the explained class in colour.

    Parameters
    ----------
    predictions : (class, probability), most likely first.
    target : the explained class; shown even if it is not among the first.
    most : how many classes to show.
    """
    shown = list(predictions[:most])
    if target not in [name for name, _ in shown]:
        shown[-1] = next(pair for pair in predictions if pair[0] == target)
    names, values = zip(*reversed(shown), strict=True)
    figure = go.Figure(
        go.Bar(
            x=values,
            y=[html.escape(name) for name in names],
            orientation="h",
            marker={"color": [ACCENT if name == target else GREY for name in names], "cornerradius": 3},
            text=[f"{value:.1%}" for value in values],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}<br>probability %{x:.4%}<extra></extra>",
        )
    )
    figure.update_xaxes(range=[0, 1.18], visible=False)
    figure.update_yaxes(showgrid=False, ticklabelstandoff=6)
    figure.update_layout(height=34 + 23 * len(shown), margin={"l": 0, "r": 0, "t": 4, "b": 4}, bargap=0.28)
    return figure
