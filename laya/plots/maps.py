"""Maps over the picture."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from laya.palette import DIVERGING


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
