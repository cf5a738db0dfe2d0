"""Tables of numbers as coloured cells."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from laya.palette import BLACK, PAPER, WHITE, diverging, ink_on, sequential
from laya.plots.axes import wrapped

SIZE = 12  # of the numbers, in pixels
DIGIT = 6.6  # width of a sign of that size, in pixels
NARROWEST = 500  # pixels that all columns together have on a phone, where a strip of many scrolls
Row = Sequence[float | None]


def layer_heatmap(
    layers: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float] | None]],
    *,
    short: bool,
    signed: bool = False,
    unit: str = "",
    ground: str = PAPER,
) -> go.Figure:
    """One number a layer, a row for each thing, one scale for all; signed: blue above 0, red below.

    A click on a cell selects the row's name, as the point's customdata.

    Parameters
    ----------
    layers : L names, shallow to deep.
    rows : (name, L values, or None for an empty row), from top to bottom.
    short : number the layers on the axis; the names show when the pointer rests on a cell.
    signed : the values may be negative.
    unit : of the values, such as ``logits``; without one they are shares in [0, 1].
    ground : colour of the page that the chart stands on, #RRGGBB; the nearer a value is to 0, the nearer its colour.
    """
    names = [html.escape(layer) for layer in layers]
    labels = [html.escape(name) for name, _ in rows]
    values: list[Row] = [[None] * len(layers) if each is None else each for _, each in rows]
    top = max((abs(value) for row in values for value in row if value is not None), default=0.0) or 1.0
    sign = "+z" if signed or unit else ""
    mark = f" {unit}" if unit else "%"

    def number(value: float | None, digits: int) -> str:
        return "" if value is None else f"{value if unit else 100 * value:{sign}.{digits}f}"

    def text(value: float | None, digits: int) -> str:
        """What would round to nothing stays blank: the eye finds the layers that count."""
        shown = number(value, digits)
        if not shown or not float(shown):
            return ""
        return shown if short or unit else shown + mark  # columns by number are narrow: there the axis has the mark

    for digits in (1, 0) if unit else (0,):
        texts = [[text(value, digits) for value in row] for row in values]
        if max((len(each) for row in texts for each in row), default=0) * DIGIT <= NARROWEST / len(layers):
            break
    else:  # they would run into each other; the pointer still finds them
        texts = [[""] * len(layers)] * len(rows)
    figure = _cells(
        columns=[str(i) for i in range(1, len(layers) + 1)] if short else wrapped(names),
        rows=labels,
        values=values,
        texts=texts,
        hover=[
            [
                f"<b>{label}</b><br>{name}<br>{number(value, 3 if unit else 2)}{mark}"
                for name, value in zip(names, row, strict=True)
            ]
            for label, row in zip(labels, values, strict=True)
        ],
        keys=[name for name, _ in rows],
        top=top,
        signed=signed,
        ground=ground,
    )
    title = f"layer, shallow to deep; in {mark.strip()}" if short else None
    figure.update_xaxes(title={"text": title, "standoff": 6})
    figure.update_xaxes(autotickangles=[0, 90])  # slanted, names of two lines would collide
    head = 60 if title else 40
    figure.update_layout(height=head + 10 + 26 * len(rows), margin={"t": head})
    return figure


def agreement_chart(labels: Sequence[str], ranks: Sequence[Row], *, ground: str = PAPER) -> go.Figure:
    """Rank agreement between every two methods as a small matrix: blue agrees, red contradicts.

    Parameters
    ----------
    labels : M names.
    ranks : M rows of M Spearman correlations; None where it is not defined.
    ground : colour of the page that the chart stands on, #RRGGBB.
    """
    names = [html.escape(label) for label in labels]
    texts = [["–" if value is None else f"{value:+.2f}" for value in row] for row in ranks]
    figure = _cells(
        columns=names,
        rows=names,
        values=ranks,
        texts=texts,
        hover=[
            [f"{one} and {other}: {text}" for other, text in zip(names, row, strict=True)]
            for one, row in zip(names, texts, strict=True)
        ],
        keys=labels,
        top=1,
        signed=True,
        ground=ground,
    )
    figure.update_xaxes(tickangle=0)
    figure.update_layout(height=70 + 38 * len(names), margin={"t": 44})
    return figure


def _cells(
    *,
    columns: Sequence[str],
    rows: Sequence[str],
    values: Sequence[Row],
    texts: Sequence[Sequence[str]],
    hover: Sequence[Sequence[str]],
    keys: Sequence[str],
    top: float,
    signed: bool,
    ground: str,
) -> go.Figure:
    """R x C coloured cells, each with its text in black or white, as can be read on it.

    Plotly's own choice of the ink looks at the brightness alone, and on middle blue the contrast falls to 3. So the
    texts are points of their own, a trace for each ink; these are what the pointer finds, too, for Plotly selects
    points and never cells.

    Parameters
    ----------
    columns, rows : C and R names on the axes, from the left and from the top.
    values : R x C; None leaves the ground bare.
    texts, hover : R x C, in the cell and under the pointer.
    keys : R, what a click on a row selects.
    top, signed : the scale goes from 0 to ``top``, or from ``-top``.
    ground : the colour of 0.
    """
    scale, low = (diverging(ground), -top) if signed else (sequential(ground), 0.0)
    stops = [list(stop) for stop in scale]  # as Plotly's sampling wants them

    def ink(value: float | None) -> str:
        if value is None:
            return ink_on(ground)
        (channels,) = sample_colorscale(stops, [(value - low) / (top - low)], colortype="tuple")
        return ink_on("#" + "".join(f"{round(255 * channel):02x}" for channel in channels))

    figure = go.Figure(
        go.Heatmap(
            z=[list(row) for row in values],
            x=list(columns),
            y=list(rows),
            zmin=low,
            zmax=top,
            colorscale=scale,
            xgap=2,
            ygap=2,
            hoverinfo="skip",
            showscale=False,
        )
    )
    cells = [(row, column) for row in range(len(rows)) for column in range(len(columns))]
    for colour in (BLACK, WHITE):
        mine = [(row, column) for row, column in cells if ink(values[row][column]) == colour]
        figure.add_scatter(
            x=[columns[column] for _, column in mine],
            y=[rows[row] for row, _ in mine],
            text=[texts[row][column] for row, column in mine],
            hovertext=[hover[row][column] for row, column in mine],
            customdata=[keys[row] for row, _ in mine],
            mode="text",
            textfont={"size": SIZE, "color": colour},
            selected={"textfont": {"color": colour}},
            unselected={"textfont": {"color": colour}},  # a clicked cell must not make the others fade
            hovertemplate="%{hovertext}<extra></extra>",
        )
    figure.update_xaxes(
        type="category",
        categoryarray=list(columns),
        range=[-0.5, len(columns) - 0.5],
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        automargin=True,
    )
    figure.update_yaxes(
        type="category",
        categoryarray=list(rows),
        range=[len(rows) - 0.5, -0.5],
        ticklabelstandoff=8,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        automargin=True,
    )
    figure.update_layout(
        margin={"l": 0, "r": 4, "b": 4},
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        showlegend=False,
        hoverdistance=-1,  # the whole cell finds its text, however wide it is
    )
    return figure
