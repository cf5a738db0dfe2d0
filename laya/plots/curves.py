"""What happens as layers go or come, and which layers tell two classes apart."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from laya.palette import DIVERGING, GREY
from laya.plots.axes import FEW, wrapped


def curve_chart(
    lines: Sequence[tuple[str, str, Sequence[float]]],
    band: Sequence[tuple[float, float, float]],
    *,
    measured: str,
    title: str,
) -> go.Figure:
    """The target's probability as layers go or come, a line a method, over the band of random orders.

    Parameters
    ----------
    lines : (label, colour, L + 1 probabilities).
    band : (low, mean, high) of random orders at every k = 0..L.
    measured : the label of the measured effect, whose line is dotted.
    title : above the chart.
    """
    steps = list(range(len(band)))
    low, mean, high = (list(part) for part in zip(*band, strict=True))
    figure = go.Figure()
    figure.add_scatter(x=steps, y=high, mode="lines", line={"width": 0}, hoverinfo="skip")
    figure.add_scatter(
        x=steps,
        y=low,
        mode="lines",
        line={"width": 0},
        fill="tonexty",
        fillcolor="rgba(138,147,163,.22)",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=steps,
        y=mean,
        mode="lines",
        line={"color": GREY, "dash": "dash"},
        name="random order",
        hovertemplate="random order: %{y:.1%}<extra></extra>",
    )
    for label, colour, values in lines:
        figure.add_scatter(
            x=steps,
            y=list(values),
            mode="lines+markers",
            name=label,
            line={"color": colour, "width": 2.5, "dash": "dot" if label == measured else "solid"},
            hovertemplate=f"{html.escape(label)}, k = %{{x}}: %{{y:.1%}}<extra></extra>",
        )
    figure.update_xaxes(title="k layers", dtick=1 if len(steps) <= 14 else None, zeroline=False, fixedrange=True)
    figure.update_yaxes(range=[-0.03, 1.03], tickformat=".0%", zeroline=False, fixedrange=True)
    figure.update_layout(
        title={"text": title, "font": {"size": 14}, "x": 0, "xanchor": "left"},
        height=280,
        margin={"l": 0, "r": 8, "t": 36, "b": 8},
        showlegend=False,
        dragmode=False,
    )
    return figure


def difference_chart(layers: Sequence[str], values: Sequence[float], one: str, other: str) -> go.Figure:
    """Which layers speak for class ``one`` (blue, up) and which for ``other`` (red, down), in logits."""
    names = [html.escape(name) for name in layers]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(names))),
            y=list(values),
            marker={"color": [DIVERGING[-1][1] if value >= 0 else DIVERGING[0][1] for value in values]},
            text=[f"{value:+.2f}" for value in values],
            textposition="outside",
            cliponaxis=False,
            customdata=names,
            hovertemplate="%{customdata}<br>%{y:+.3f} logits<extra></extra>",
        )
    )
    few = len(names) <= FEW
    figure.update_xaxes(
        tickvals=list(range(len(names))),
        ticktext=wrapped(names) if few else [str(i + 1) for i in range(len(names))],
        title=None if few else "layer",
        fixedrange=True,
    )
    top = max(map(abs, values), default=1.0) or 1.0
    figure.update_yaxes(range=[-1.3 * top, 1.3 * top], zeroline=True, zerolinewidth=1, fixedrange=True)
    for text, y, anchor in ((f"for {one}", 1.28 * top, "top"), (f"for {other}", -1.28 * top, "bottom")):
        figure.add_annotation(
            text=html.escape(text), xref="paper", x=0, y=y, yanchor=anchor, xanchor="left", showarrow=False
        )
    figure.update_layout(height=280, margin={"l": 0, "r": 8, "t": 8, "b": 8}, dragmode=False)
    return figure
