"""The chart of depth: all methods over one layer axis."""

import html
import textwrap
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from laya.palette import GREY, ink_on
from laya.plots.axes import FEW, wrapped
from laya.scores import LayerScores


def depth_chart(
    layers: Sequence[str],
    scores: Sequence[LayerScores],
    measured: LayerScores,
    *,
    title: str | None = None,
    multiples: bool | None = None,
) -> go.Figure:
    """All methods over one layer axis, shallow on the left, with the measured effect as diamonds.

    Every method is drawn as shares of its own total (:attr:`LayerScores.shares`), one scale for all; the raw values
    show when the pointer rests on a bar.

    Parameters
    ----------
    layers : L names, shallow to deep.
    scores : the methods to draw as bars, L values each.
    measured : the reference, drawn as diamonds.
    title : above the chart, for a chart that stands alone.
    multiples : a row a method; None: where there are more than :data:`FEW` layers.
    """
    many = len(layers) > FEW if multiples is None else multiples
    rows = len(scores) if many else 1
    names = [html.escape(name) for name in layers]  # Plotly reads HTML
    limits = [share for score in (*scores, measured) for share in score.shares]
    low, high = min(0.0, *limits), max(0.0, *limits)
    width = 0.8 if many else 0.84 / len(scores)
    bars, words = [], []
    for number, score in enumerate(scores):
        offset = 0.0 if many else (number - (len(scores) - 1) / 2) * width
        labels = [f"{score.label}  {share:z.0%}" for share in score.shares]  # z: never "-0%"
        # A label stands in its bar where the bar is long enough, else on top of it: nothing to decode in a legend.
        inside = [not many and share > 0.5 * (high - low) for share in score.shares]
        bars.append(
            {
                "type": "bar",
                "x": [i + offset for i in range(len(layers))],
                "y": score.shares,
                "width": width * 0.94,
                "name": score.label,
                "marker": {"color": score.colour, "cornerradius": 3},
                "text": [label if fits else "" for label, fits in zip(labels, inside, strict=True)],
                "textangle": -90,
                "textposition": "inside",
                "constraintext": "none",
                "textfont": {"size": 13, "color": ink_on(score.colour)},
                # A clicked bar must not make the others fade: they are still what the chart is about.
                "unselected": {"marker": {"opacity": 1}, "textfont": {"color": ink_on(score.colour)}},
                "customdata": list(zip(names, score.values, strict=True)),
                "hovertemplate": f"<b>{score.label}</b> ({score.family})<br>%{{customdata[0]}}<br>"
                f"share %{{y:.1%}}<br>raw %{{customdata[1]:.4g}} {score.unit}<extra></extra>",
                **_axes(number + 1 if many else 1),
            }
        )
        words += [
            {
                "x": i + offset,
                "y": max(score.shares[i], 0.0),
                "text": label,
                "textangle": -90,
                "yanchor": "bottom",
                "yshift": 4,
                "showarrow": False,
                "font": {"size": 12},
            }
            for i, (label, fits) in enumerate(zip(labels, inside, strict=True))
            if not fits and not many
        ]
    lines = textwrap.wrap(title or "", 90)  # Plotly cuts a title off where the chart ends
    above = 28 if title is None else 56 + 24 * len(lines)
    room = 0.06 * (high - low or 1)
    across = {
        "tickvals": list(range(len(layers))),
        "ticktext": [str(i + 1) for i in range(len(layers))] if many else wrapped(names),
        "range": [-0.5, len(layers) - 0.5],
        "showgrid": False,
        "zeroline": False,
    }
    up = {
        "range": [low - room * (low < 0), high + room],
        "tickformat": ".0%",
        "zeroline": True,
        "zerolinewidth": 1,
        "zerolinecolor": GREY,
    }
    layout: dict[str, Any] = {}
    last = _axes(rows)
    for row, (bottom, top) in enumerate(_rows(rows), start=1):
        own = _axes(row)
        layout[own["xaxis"].replace("x", "xaxis")] = (
            across
            | {"anchor": own["yaxis"]}
            | (
                {"title": {"text": "layer, shallow to deep"}}
                if row == rows
                else {"matches": last["xaxis"], "showticklabels": False}
            )
        )
        layout[own["yaxis"].replace("y", "yaxis")] = up | {"anchor": own["xaxis"], "domain": [bottom, top]}
        if many:
            score = scores[row - 1]
            words.append(
                {
                    "text": f"<b>{score.label}</b> ({score.family})",
                    "x": 0.5,
                    "xref": "paper",
                    "xanchor": "center",
                    "y": top,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "font": {"size": 16},
                    "showarrow": False,
                }
            )
        else:
            layout["yaxis"]["title"] = {"text": "share of each method's total"}
    # One description instead of Plotly's subplots and updates, which take twenty times as long for the same chart.
    return go.Figure(
        data=[*bars, *(trace for row in range(1, rows + 1) for trace in _reference(names, measured, 0.42, row))],
        layout=layout
        | {
            "annotations": words,
            "title": {"text": None if title is None else "<br>".join(map(html.escape, lines))},
            "height": (150 * rows + 62 if many else 402) + above,
            "margin": {"l": 8, "r": 8, "t": above, "b": 8},
            "showlegend": False,
            "bargap": 0,
            "barmode": "overlay",
            "hoverlabel": {"align": "left"},
        },
    )


def _axes(row: int) -> dict[str, str]:
    """The axes of a row of charts, counted from 1, under the names that Plotly has for them."""
    number = "" if row == 1 else str(row)
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def _rows(count: int, gap: float = 0.06) -> list[tuple[float, float]]:
    """Bottom and top of rows of charts, the highest first, in shares of the height."""
    height = (1 - gap * (count - 1)) / count
    bottoms = [(count - 1 - number) * (height + gap) for number in range(count)]
    return [(bottom, min(1.0, bottom + height)) for bottom in bottoms]


def _reference(names: Sequence[str], measured: LayerScores, half: float, row: int) -> list[dict[str, Any]]:
    """The measured effect: a line across each layer's group and a diamond on it, readable on light and on dark."""
    line = {  # a gap after each layer's piece
        "type": "scatter",
        "x": [x for i in range(len(names)) for x in (i - half, i + half, None)],
        "y": [y for share in measured.shares for y in (share, share, None)],
        "mode": "lines",
        "line": {"color": GREY, "width": 2, "dash": "dot"},
        "hoverinfo": "skip",
    }
    diamonds = {
        "type": "scatter",
        "x": list(range(len(names))),
        "y": measured.shares,
        "mode": "markers",
        "cliponaxis": False,
        "name": measured.label,
        "marker": {
            "symbol": "diamond",
            "size": 14,
            "color": measured.colour,
            "line": {"color": "#FFFFFF", "width": 2},
        },
        "unselected": {"marker": {"opacity": 1}},
        "customdata": list(zip(names, measured.values, strict=True)),
        "hovertemplate": f"<b>{measured.label}</b> (measured)<br>%{{customdata[0]}}<br>share %{{y:.1%}}<br>"
        f"raw %{{customdata[1]:.4g}} {measured.unit}<extra></extra>",
    }
    return [line | _axes(row), diamonds | _axes(row)]
