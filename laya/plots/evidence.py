"""Several heads, several seeds."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from laya.palette import ACCENT, GREY


def accuracy_chart(rows: Sequence[tuple[str, float, float | None, Sequence[float]]], best: str) -> go.Figure:
    """Accuracy of several heads: a dot for the mean with its standard deviation, a small ring for every seed.

    Parameters
    ----------
    rows : (name, mean, standard deviation or None, the seeds' values), in the order from top to bottom.
    best : the name that is drawn in colour.
    """
    figure = go.Figure()
    names = [html.escape(name) for name, *_ in rows]
    colours = [ACCENT if name == best else GREY for name, *_ in rows]
    for name, (_, _, _, seeds), colour in zip(names, rows, colours, strict=True):
        figure.add_scatter(
            x=list(seeds),
            y=[name] * len(seeds),
            mode="markers",
            marker={"symbol": "circle-open", "size": 8, "color": colour},
            hovertemplate="one seed: %{x:.2%}<extra></extra>",
        )
    figure.add_scatter(
        x=[mean for _, mean, _, _ in rows],
        y=names,
        mode="markers+text",
        marker={"size": 13, "color": colours},
        error_x={
            "type": "data",
            "array": [std or 0 for _, _, std, _ in rows],
            "thickness": 2,
            "width": 5,
            "color": GREY,
        },
        text=[f"{mean:.1%}" for _, mean, _, _ in rows],
        textposition="top center",
        cliponaxis=False,
        hovertemplate="<b>%{y}</b><br>mean %{x:.2%}<extra></extra>",
    )
    values = [value for _, _, _, seeds in rows for value in seeds]
    values += [mean + sign * (std or 0) for _, mean, std, _ in rows for sign in (-1, 1)]
    span = (max(values) - min(values)) or 0.02
    figure.update_xaxes(
        range=[min(values) - 0.12 * span, max(values) + 0.12 * span],
        tickformat=".0%" if span > 0.05 else ".1%",  # else neighbouring ticks would read the same
        zeroline=False,
        nticks=6,
    )
    figure.update_yaxes(autorange="reversed", ticklabelstandoff=8)
    figure.update_layout(
        height=60 + 52 * len(rows), margin={"l": 0, "r": 12, "t": 18, "b": 8}, showlegend=False, dragmode=False
    )
    return figure


def method_chart(
    rows: Sequence[tuple[str, str, float | None, float | None]], *, tickformat: str, span: tuple[float, float]
) -> go.Figure:
    """One measure for several methods as horizontal bars with their standard deviation over seeds.

    Parameters
    ----------
    rows : (label, colour, mean or None where it is not defined, standard deviation or None), from top to bottom.
    tickformat : of the axis, such as ``".0%"``.
    span : the axis' ends.
    """
    names = [html.escape(label) for label, *_ in rows]
    figure = go.Figure(
        go.Bar(
            x=[mean for _, _, mean, _ in rows],
            y=names,
            orientation="h",
            marker={"color": [colour for _, colour, _, _ in rows], "cornerradius": 3},
            error_x={
                "type": "data",
                "array": [std or 0 for *_, std in rows],
                "thickness": 1.5,
                "width": 4,
                "color": GREY,
            },
            hovertemplate="<b>%{y}</b><br>%{x:.3f}<extra></extra>",
        )
    )
    for name, (_, _, mean, std) in zip(names, rows, strict=True):
        figure.add_annotation(
            x=max(mean or 0, 0) + (std or 0),
            y=name,
            text="not defined" if mean is None else f"{mean:z.2f}",
            xanchor="left",
            xshift=6,
            showarrow=False,
        )
    figure.update_xaxes(range=list(span), tickformat=tickformat, zeroline=True, zerolinewidth=1)
    figure.update_yaxes(autorange="reversed", ticklabelstandoff=8)
    figure.update_layout(
        height=44 + 34 * len(rows), margin={"l": 0, "r": 12, "t": 8, "b": 8}, bargap=0.3, dragmode=False
    )
    return figure
