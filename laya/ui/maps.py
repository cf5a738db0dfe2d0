"""Where in the picture each layer's contribution comes from."""

import base64
import html

import plotly.graph_objects as go
import streamlit as st

from laya import plots
from laya.explanation import Explanation, comparison
from laya.ui import analysis, cache, theme
from laya.ui.analysis import Analysis
from laya.ui.workbench import Workbench

COLUMNS = 6  # maps in a row
NO_PLACES = (
    "This network reads the picture as one long vector, so its layers have no places and there is no map of depth by "
    "place. What can be shown is which pixels the whole network listened to: Integrated Gradients from Captum, blue "
    "for the class, red against it."
)


def strip(bench: Workbench, seen: Analysis, result: Explanation) -> go.Figure:
    """A map a layer, on one colour scale; the pixels alone where the layers have no places."""
    maps = _maps(bench, seen, result)
    if all(each.values is None for each in maps):
        theme.note(NO_PLACES)
        with st.container(width=320):
            return draw([("pixels", _pixels(bench, seen, result))], seen, "where-pixels", opacity=0.75)
    opacity = st.slider("Strength of the maps over the picture", 0.0, 1.0, 0.65, 0.05, key="opacity")
    named = [(each.layer, None if each.values is None else each.values.tolist()) for each in maps]
    with st.container(key="strip"):
        figure = draw(named, seen, "where", opacity=opacity)
    placeless = sum(abs(each.placeless) for each in maps)
    theme.note(
        f"Exact, without gradients: blue places speak for “{html.escape(result.target_name)}”, red ones against it, "
        "all on one scale; each map sums to the part of the layer’s contribution that has a place. What has none (a "
        f"class token, constants of the head) makes up {placeless:.2f} logits in all. A place of a deep layer has "
        "seen its surroundings, too."
    )
    return figure


def at_layer(bench: Workbench, seen: Analysis, result: Explanation, layer: int) -> None:
    """One layer's map, large, with its sums in words."""
    chosen = _maps(bench, seen, result)[layer]
    contribution = result.attributions["contribution"][layer]
    st.markdown(f"#### Where in the picture? Layer {layer + 1}: {theme.plain(chosen.layer)}")
    picture, words = st.columns([1, 1.4], gap="large", vertical_alignment="center")
    target = html.escape(result.target_name)
    with words:
        if chosen.values is None:
            theme.note(NO_PLACES)
        else:
            plus, minus = chosen.values.clip(min=0).sum(), chosen.values.clip(max=0).sum()
            empty = "" if plus > 0 else " No place speaks for it here, so nothing is blue."
            theme.note(
                f"This layer adds <b>{contribution:+.2f} logits</b> to “{target}”: {plus:+.2f} from places that speak "
                f"for it (blue), {minus:+.2f} from places that speak against it (red), {chosen.placeless:+.2f} without "
                f"a place (class token, constants of the head).{empty} Exact, without gradients; a place of a deep "
                "layer has seen its surroundings, too."
            )
        theme.note("All layers side by side, and what Grad-CAM says, are on the page Compare.")
    with picture, st.container(width=360):
        if chosen.values is None:
            draw([("pixels", _pixels(bench, seen, result))], seen, "at-pixels", opacity=0.75)
        else:
            draw([(chosen.layer, chosen.values.tolist())], seen, "at-layer", opacity=0.65)


def _maps(bench: Workbench, seen: Analysis, result: Explanation) -> tuple[comparison.LayerMap, ...]:
    trace = analysis.trace_at(bench.checkpoint, seen, result.settings)
    return cache.keep(
        "where",
        (seen.key, result.target, result.settings.tau),
        lambda: comparison.where(bench.checkpoint, trace, result.target_name),
    )


def _pixels(bench: Workbench, seen: Analysis, result: Explanation) -> list[list[float]]:
    return cache.keep(
        "pixels",
        (seen.key, result.target, result.settings),
        lambda: analysis.pixels_of(bench.checkpoint, seen, result.target, result.settings),
    )


def draw(maps: list[tuple[str, list[list[float]] | None]], seen: Analysis, key: str, *, opacity: float) -> go.Figure:
    """Maps over the picture that the model saw."""
    picture = f"data:image/png;base64,{base64.b64encode(seen.thumbnails[1]).decode()}"
    width, height = seen.prepared.image.size
    figure = plots.map_strip(picture, maps, opacity=opacity, columns=min(COLUMNS, len(maps)), aspect=height / width)
    st.plotly_chart(figure, key=key, config=theme.CHART)
    return figure
