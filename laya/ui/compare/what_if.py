"""What the model would say with other layer weights."""

import streamlit as st

from laya import plots
from laya.explanation import Explanation, comparison
from laya.ui import analysis, theme
from laya.ui.analysis import Analysis
from laya.ui.workbench import Workbench


def what_if(bench: Workbench, seen: Analysis, result: Explanation, trace: analysis.Trace) -> None:
    """Sliders for the layer weights, and what the model predicts with them."""
    with st.expander("What if the attention were another?", icon=":material/tune:"):
        own = result.attributions["alpha"]
        version = st.session_state.setdefault("what-if-version", 0)
        keys = [f"weight-{seen.key}-{version}-{i}" for i in range(len(own))]
        left, right = st.columns(2, gap="large")
        with left:
            weights = [
                st.slider(name, 0.0, 1.0, round(share, 3), 0.001, key=key)
                for name, share, key in zip(result.layers, own, keys, strict=True)
            ]
            if st.button("Back to the model’s own", icon=":material/restart_alt:"):
                st.session_state["what-if-version"] = version + 1
                st.rerun()
        with right:
            if not sum(weights):
                st.info("Give at least one layer some weight.")
                return
            values = comparison.by_hand(bench.checkpoint, trace, weights)
            predictions = sorted(zip(bench.checkpoint.classes, values, strict=True), key=lambda pair: -pair[1])
            st.markdown(
                f"**{theme.plain(predictions[0][0])}, {predictions[0][1]:.1%}** instead of "
                f"{theme.plain(result.predictions[0][0])}, {result.predictions[0][1]:.1%}"
            )
            st.plotly_chart(plots.prediction_chart(predictions, result.target_name), key="what-if", config=theme.CHART)
            theme.note("The weights are normalised to sum to 1; z and the classifier stay as they are.")
