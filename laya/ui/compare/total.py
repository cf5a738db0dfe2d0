"""Total effects: Captum through the whole network, on request."""

import time

import streamlit as st

from laya import plots
from laya.attribution import ATTRIBUTIONS
from laya.explanation import Explanation
from laya.scores import LayerScores
from laya.ui import analysis, cache, maps, theme
from laya.ui.analysis import Analysis
from laya.ui.queue import SLOW
from laya.ui.workbench import Workbench

INTEGRATED, GRAD_CAM = (ATTRIBUTIONS[method].colour for method in ("integrated_gradients", "grad_cam"))
STEPS = 20  # of Integrated Gradients through the whole network


def total_effects(bench: Workbench, seen: Analysis, result: Explanation) -> None:
    """Captum through the later blocks: slow, so on request, with progress and a way to stop."""
    with st.expander("Total effects: what a layer passes on to later layers counts, too", icon=":material/hourglass:"):
        key = f"{seen.key}-{result.target}"
        kept = st.session_state.get("kept-total")
        if kept is None or kept[0] != key:
            estimate = max(1.0, seen.seconds * 3 * STEPS * (len(result.layers) + 1))
            st.markdown(
                "Everything above is a **direct** effect, through the head alone. Captum’s layer methods go through "
                f"all that comes after a layer. For this model and image that takes about {_duration(estimate)}."
            )
            if not st.button("Measure the total effects", icon=":material/play_arrow:"):
                return
            bar = st.progress(0.0, "pixels")
            st.button("Stop", icon=":material/stop:")  # any click ends the run at the next pass

            begin = time.monotonic()

            def tell(what: str, done: int, total: int) -> None:
                left = _duration((time.monotonic() - begin) * (total - done) / done) if done else _duration(estimate)
                bar.progress(done / total, f"{what}, about {left} left")

            cache.keep(
                "total",
                key,
                lambda: analysis.total_effects_of(bench.checkpoint, seen, result.target, STEPS, tell),
                queue=SLOW,
            )
            st.rerun()
        total = kept[1]
        columns = [
            LayerScores(
                "layer_ig", "LayerIntegratedGradients", "post-hoc", "", INTEGRATED, "logits", total.integrated_gradients
            ),
            LayerScores("layer_gc", "LayerGradCam", "post-hoc", "", GRAD_CAM, "logits", total.grad_cam),
        ]
        st.plotly_chart(
            plots.depth_chart(result.layers, columns, result.measured, multiples=True), key="total", config=theme.CHART
        )
        worst = max(map(abs, total.convergence))
        theme.note(
            "Total effects, from Captum. The diamonds are the measured <em>direct</em> effects, which these need not "
            f"follow. {STEPS} steps; Integrated Gradients misses its sum by {worst:.2g} logits at most."
        )
        if any(each is not None for each in total.maps):
            st.markdown("##### Grad-CAM at each layer, through the whole network")
            with st.container(key="strip-total"):
                maps.layers(result.layers, total.maps, total.empty, seen, "total-maps", opacity=0.65)
        st.markdown("##### Integrated Gradients at the pixels")
        with st.container(width=320):
            maps.pixels(total.pixels.tolist(), seen, "pixels")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
