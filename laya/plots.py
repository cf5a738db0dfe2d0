"""Plotly figures from plain data; no streamlit, no torch."""

import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from laya.scores import LayerScores

FEW = 6  # up to so many layers stand as groups of bars on one axis; more become a row a method
GREY = "#8A93A3"
ACCENT = "#0072B2"
OTHER = "#D55E00"  # the second of two things that are compared (Okabe-Ito)
INK = "#1F2430"
DIVERGING = [(0, "#B2182B"), (0.25, "#F4A582"), (0.5, "#F7F7F7"), (0.75, "#92C5DE"), (1, "#2166AC")]  # ColorBrewer RdBu


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
                "textfont": {"size": 13, "color": _on(score.colour)},
                # A clicked bar must not make the others fade: they are still what the chart is about.
                "unselected": {"marker": {"opacity": 1}, "textfont": {"color": _on(score.colour)}},
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
    room = 0.06 * (high - low or 1)
    across = {
        "tickvals": list(range(len(layers))),
        "ticktext": [str(i + 1) for i in range(len(layers))] if many else _wrapped(names),
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
            "title": {"text": None if title is None else html.escape(title)},
            "height": 150 * rows + 90 if many else 430,
            "margin": {"l": 8, "r": 8, "t": 28 if title is None else 80, "b": 8},
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
    columns = [str(i) for i in range(1, len(layers) + 1)] if short else _wrapped(names)
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
        ticktext=_wrapped([html.escape(name) for name in layers]) if few else [str(i + 1) for i in range(len(layers))],
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
        legend={"orientation": "h", "y": 1.16, "x": 0},
        showlegend=count + (point is not None) > 1,
        boxmode="overlay",
        dragmode=False,
    )
    return figure


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


def map_strip(
    picture: str,
    maps: Sequence[tuple[str, Sequence[Sequence[float]] | None]],
    *,
    opacity: float,
    columns: int,
    aspect: float = 1.0,
) -> go.Figure:
    """A map a layer over the picture, one zero-centred colour scale for all: blue speaks for the class, red against it.

    Parameters
    ----------
    picture : what the model saw, as a data URI.
    maps : (layer name, rows of signed values, top row first; None where the layer has no places), shallow to deep.
    opacity : of the maps over the picture, 0 to 1.
    columns : maps in a row.
    aspect : height of the picture over its width.
    """
    rows = -(-len(maps) // columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        # "block 7 of 12" and "stage 2, 160 channels" are too long over a small picture; the pointer shows them whole.
        subplot_titles=[html.escape(name.partition(",")[0].partition(" of ")[0]) for name, _ in maps],
        horizontal_spacing=0.015,
        vertical_spacing=0.16 / rows,
    )
    top = max((abs(value) for _, values in maps if values is not None for row in values for value in row), default=0.0)
    for number, (name, values) in enumerate(maps):
        row, column = number // columns + 1, number % columns + 1
        axis = "" if number == 0 else str(number + 1)
        figure.add_layout_image(
            source=picture,
            xref=f"x{axis}",
            yref=f"y{axis}",
            x=0,
            y=0,
            sizex=1,
            sizey=1,
            sizing="stretch",
            layer="below",
        )
        if values is None:
            figure.add_annotation(
                text="no places",
                xref=f"x{axis}",
                yref=f"y{axis}",
                x=0.5,
                y=0.5,
                showarrow=False,
                bgcolor="rgba(255,255,255,.8)",
                font={"color": "#1F2430"},
            )
        height, width = (1, 1) if values is None else (len(values), len(values[0]))
        figure.add_heatmap(
            z=[[0.0]] if values is None else [list(line) for line in values],
            x0=0.5 / width,
            dx=1 / width,
            y0=0.5 / height,
            dy=1 / height,
            zmin=-(top or 1),
            zmax=top or 1,
            colorscale=DIVERGING,
            opacity=0 if values is None else opacity,
            showscale=False,
            hovertemplate=f"<b>{html.escape(name)}</b><br>%{{z:.2e}} logits<extra></extra>",
            hoverinfo="skip" if values is None else None,
            row=row,
            col=column,
        )
        figure.update_yaxes(scaleanchor=f"x{axis}", scaleratio=aspect, row=row, col=column)
    figure.update_xaxes(range=[0, 1], visible=False, fixedrange=True, constrain="domain")
    figure.update_yaxes(range=[1, 0], visible=False, fixedrange=True, constrain="domain")
    figure.update_annotations(font={"size": 12})
    figure.update_layout(
        height=rows * (205 if columns > 4 else 380 if columns == 1 else 260),
        margin={"l": 0, "r": 0, "t": 28, "b": 4},
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
        ticktext=_wrapped(names) if few else [str(i + 1) for i in range(len(names))],
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


def _on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour (WCAG 2, relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#FFFFFF"


def _wrapped(names: Sequence[str]) -> list[str]:
    """Layer names over two lines: "hidden layer 2, 256 units" breaks at the comma."""
    return [name.replace(", ", "<br>") for name in names]
