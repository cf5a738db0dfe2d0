"""Tables of numbers as coloured cells."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from laya.palette import DIVERGING
from laya.plots.axes import FEW, wrapped


def layer_heatmap(
    layers: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float] | None]],
    *,
    short: bool,
    signed: bool = False,
    unit: str = "",
    clickable: bool = False,
) -> go.Figure:
    """One number a layer, a row for each thing, one scale for all: darker is more; signed: blue above 0, red below.

    Parameters
    ----------
    layers : L names, shallow to deep.
    rows : (name, L values, or None for an empty row), from top to bottom.
    short : number the layers on the axis; the names show when the pointer rests on a cell.
    signed : the values may be negative.
    unit : of the values, such as ``logits``; without one they are shares in [0, 1].
    clickable : a click on a cell selects the row's name, as the point's customdata.
    """
    names = [html.escape(layer) for layer in layers]
    labels = [html.escape(name) for name, _ in rows]
    columns = [str(i) for i in range(1, len(layers) + 1)] if short else wrapped(names)
    values = [[None] * len(layers) if each is None else list(each) for _, each in rows]
    top = max((abs(value) for row in values for value in row if value is not None), default=0.0) or 1.0
    shares = [(0, "#F4F6FA"), (0.25, "#A9CDE8"), (0.6, "#2E7FBF"), (1, "#08315C")]

    def told(value: float | None, digits: int) -> str:
        if value is None:
            return ""
        if unit:
            return f"{value:+z.{digits}f}"
        return f"{value:+z.{digits - 1}%}" if signed else f"{value:.{digits - 1}%}"

    hover = f"%{{hovertext}} {unit}" if unit else "%{hovertext}"
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=columns,
            y=labels,
            zmin=-top if signed else 0,
            zmax=top,
            colorscale=DIVERGING if signed else shares,
            xgap=2,
            ygap=2,
            customdata=[names] * len(rows),
            hovertext=[[told(value, 3 if unit else 2) for value in row] for row in values],
            hovertemplate=f"<b>%{{y}}</b><br>%{{customdata}}<br>{hover}<extra></extra>",
            # What would round to nothing stays blank: the eye finds the layers that count.
            text=[["" if value is None or abs(value) < 0.005 else told(value, 1) for value in row] for row in values],
            texttemplate="%{text}",
            textfont={"size": 11 if len(layers) <= FEW else 9},
            showscale=False,
        )
    )
    if clickable:  # Plotly selects points, never cells: an unseen point lies on each
        figure.add_scatter(
            x=[column for _ in rows for column in columns],
            y=[label for label in labels for _ in columns],
            customdata=[name for name, _ in rows for _ in columns],
            mode="markers",
            marker={"symbol": "square", "size": 24, "opacity": 0},
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
            hovertext=[
                f"<b>{label}</b><br>{name}<br>{told(value, 3 if unit else 2)} {unit}"
                for label, row in zip(labels, values, strict=True)
                for name, value in zip(names, row, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    # Ranges by hand: the unseen points would have the axes leave room for their size.
    figure.update_xaxes(
        side="top", type="category", range=[-0.5, len(layers) - 0.5], showgrid=False, zeroline=False, fixedrange=True
    )
    figure.update_yaxes(
        type="category",
        range=[len(rows) - 0.5, -0.5],
        ticklabelstandoff=8,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_layout(
        height=50 + 26 * len(rows), margin={"l": 0, "r": 4, "t": 40, "b": 4}, dragmode=False, showlegend=False
    )
    return figure


def agreement_chart(labels: Sequence[str], ranks: Sequence[Sequence[float | None]]) -> go.Figure:
    """Rank agreement between every two methods as a small matrix: blue agrees, red contradicts.

    Parameters
    ----------
    labels : M names.
    ranks : M rows of M Spearman correlations; None where it is not defined.
    """
    names = [html.escape(label) for label in labels]
    figure = go.Figure(
        go.Heatmap(
            z=[list(row) for row in ranks],
            x=names,
            y=names,
            zmin=-1,
            zmax=1,
            colorscale=DIVERGING,
            xgap=2,
            ygap=2,
            text=[["–" if value is None else f"{value:+.2f}" for value in row] for row in ranks],
            texttemplate="%{text}",
            hovertemplate="%{y} and %{x}: %{text}<extra></extra>",
            showscale=False,
        )
    )
    figure.update_xaxes(side="top", showgrid=False, fixedrange=True, tickangle=0)
    figure.update_yaxes(autorange="reversed", showgrid=False, fixedrange=True, ticklabelstandoff=6)
    figure.update_layout(height=70 + 38 * len(names), margin={"l": 0, "r": 4, "t": 44, "b": 4}, dragmode=False)
    return figure
