"""Where in the picture each layer's contribution comes from."""

import base64
import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from laya import plots
from laya.explanation import Explanation, comparison
from laya.ui import analysis, cache, theme
from laya.ui.analysis import Analysis
from laya.ui.workbench import Workbench

COLUMNS = 6  # maps in a row
PIXELS = (
    "What can be shown is which pixels the whole network listened to: Integrated Gradients from Captum, blue for the "
    "class, red against it."
)


def strip(bench: Workbench, seen: Analysis, result: Explanation) -> go.Figure | None:
    """A map a layer, on one colour scale; the pixels where no layer has one, and None where these are blank as well."""
    maps = _maps(bench, seen, result)
    reasons = [each.empty for each in maps]
    if all(reasons):
        theme.note(" ".join([*(html.escape(reason) for reason in dict.fromkeys(reasons) if reason), PIXELS]))
        with st.container(width=320):
            return pixels(_pixels(bench, seen, result), seen, "where-pixels")
    opacity = st.slider("Strength of the maps over the picture", 0.0, 1.0, 0.65, 0.05, key="opacity")
    with st.container(key="strip"):
        figure = layers(result.layers, [each.values for each in maps], reasons, seen, "where", opacity=opacity)
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
        if chosen.values is None or chosen.empty:
            theme.note(f"{html.escape(chosen.empty or '')} {PIXELS}")
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
        if chosen.values is None or chosen.empty:
            pixels(_pixels(bench, seen, result), seen, "at-pixels")
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


def layers(
    names: Sequence[str],
    maps: Sequence[np.ndarray | None],
    empty: Sequence[str | None],
    seen: Analysis,
    key: str,
    *,
    opacity: float,
) -> go.Figure | None:
    """The maps of the layers that have something to show, if any; of the others, in a sentence, why they have not.

    Parameters
    ----------
    names : L layers.
    maps : L maps (H_i, W_i), or None.
    empty : L reasons, where there is no map or one of zeros.
    """
    shown = [
        (name, each.tolist())
        for name, each, why in zip(names, maps, empty, strict=True)
        if each is not None and not why
    ]
    figure = draw(shown, seen, key, opacity=opacity) if shown else None
    for reason in dict.fromkeys(why for why in empty if why):
        left_out = "; ".join(name for name, why in zip(names, empty, strict=True) if why == reason)
        theme.note(f"<b>{html.escape(left_out)}:</b> {html.escape(reason)}")
    return figure


def pixels(values: list[list[float]], seen: Analysis, key: str) -> go.Figure | None:
    """Integrated Gradients at the pixels; a sentence where all are 0."""
    if any(map(any, values)):
        return draw([("pixels", values)], seen, key, opacity=0.75)
    theme.note(
        "Here they are 0 at every pixel: the picture is what they start from, the mean colour all over, or nothing in "
        "it changes the class’s logit."
    )
    return None


def draw(maps: list[tuple[str, list[list[float]] | None]], seen: Analysis, key: str, *, opacity: float) -> go.Figure:
    """Maps over the picture that the model saw."""
    picture = f"data:image/png;base64,{base64.b64encode(seen.thumbnails[1]).decode()}"
    width, height = seen.prepared.image.size
    figure = plots.map_strip(picture, maps, opacity=opacity, columns=min(COLUMNS, len(maps)), aspect=height / width)
    st.plotly_chart(figure, key=key, config=theme.CHART)
    return figure
