"""Depth profiles: spreads, and profiles on a relative axis."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from laya.palette import GREY, INK
from laya.plots.axes import FEW, wrapped


def spread_chart(
    layers: Sequence[str],
    groups: Sequence[tuple[str, str, Sequence[Sequence[float]], Sequence[float]]],
    *,
    point: tuple[str, Sequence[float]] | None = None,
    unit: str = "weight",
) -> go.Figure:
    """How a figure is spread at each layer: a box for the middle half, whiskers for the middle 90 %, a line the mean.

    Parameters
    ----------
    layers : L names, shallow to deep.
    groups : (label, colour, quantiles 5 L, means L); the quantiles at 5, 25, 50, 75 and 95 %.
    point : (label, L values) of one image, drawn as dots over the first group.
    unit : of the figure.
    """
    few = len(layers) <= FEW
    count = len(groups)
    figure = go.Figure()
    for number, (label, colour, quantiles, means) in enumerate(groups):
        low, first, middle, third, high = quantiles
        places = [i + (number - (count - 1) / 2) * 0.8 / count for i in range(len(layers))]
        figure.add_box(
            x=places,
            lowerfence=list(low),
            q1=list(first),
            median=list(middle),
            q3=list(third),
            upperfence=list(high),
            width=0.62 / count,
            name=html.escape(label),
            marker={"color": colour},
            line={"width": 1.5},
            hoverinfo="skip",
        )
        figure.add_scatter(
            x=places,
            y=list(means),
            mode="markers",
            marker={"symbol": "line-ew", "size": (26 if few else 14) / count, "line": {"color": colour, "width": 4}},
            showlegend=False,
            customdata=[[html.escape(layer), *(each[i] for each in quantiles)] for i, layer in enumerate(layers)],
            hovertemplate=f"<b>{html.escape(label)}</b><br>%{{customdata[0]}}<br>mean %{{y:.3f}} {unit}<br>"
            "median %{customdata[3]:.3f}<br>middle 90 % from %{customdata[1]:.3f} to %{customdata[5]:.3f}"
            "<extra></extra>",
        )
    if point is not None:
        label, values = point
        figure.add_scatter(
            x=list(range(len(layers))),
            y=list(values),
            mode="markers",
            name=html.escape(label),
            marker={"size": 13, "color": INK, "line": {"color": "#FFFFFF", "width": 2}},
            hovertemplate=f"<b>{html.escape(label)}</b><br>%{{y:.3f}} {unit}<extra></extra>",
        )
    figure.update_xaxes(
        tickvals=list(range(len(layers))),
        ticktext=wrapped([html.escape(name) for name in layers]) if few else [str(i + 1) for i in range(len(layers))],
        title=None if few else "layer, shallow to deep",
        range=[-0.5, len(layers) - 0.5],
        zeroline=False,
        showgrid=False,
        fixedrange=True,
    )
    figure.update_yaxes(title=unit, zeroline=True, zerolinewidth=1, zerolinecolor=GREY, fixedrange=True)
    figure.update_layout(
        height=300,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        showlegend=count + (point is not None) > 1,
        boxmode="overlay",
        dragmode=False,
    )
    return figure


def profile_chart(profiles: Sequence[tuple[str, str, Sequence[str], Sequence[float]]]) -> go.Figure:
    """Depth profiles of models with different numbers of layers on one relative axis, 0 the input, 1 the output.

    Each layer's share is drawn over its stretch of the axis, as a density: equal areas are equal shares.

    Parameters
    ----------
    profiles : (label, colour, layer names, shares that sum to 1), at most a few.
    """
    figure = go.Figure()
    for label, colour, layers, shares in profiles:
        count = len(layers)
        edges = [i / count for i in range(count + 1)]
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        figure.add_scatter(
            x=edges,
            y=[*(share * count for share in shares), shares[-1] * count],
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 2.5},
            fill="tozeroy",
            fillcolor=f"rgba({red},{green},{blue},.18)",
            name=html.escape(label),
            customdata=[
                [html.escape(name), share]
                for name, share in [*zip(layers, shares, strict=True), (layers[-1], shares[-1])]
            ],
            hovertemplate=f"<b>{html.escape(label)}</b><br>%{{customdata[0]}}: %{{customdata[1]:.1%}}<extra></extra>",
        )
    figure.update_xaxes(range=[0, 1], title="relative depth: 0 input, 1 output", zeroline=False, fixedrange=True)
    figure.update_yaxes(title="share per unit of depth", rangemode="tozero", zeroline=False, fixedrange=True)
    figure.update_layout(
        height=320,
        margin={"l": 0, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.12, "x": 0},
        dragmode=False,
    )
    return figure
