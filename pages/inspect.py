"""Inspect: choose an image, see at which depth the decision was made."""

import streamlit as st

from laya import plots
from laya.ui import LayaError, analysis, controls, download, maps, theme, workbench
from laya.ui.inspect import report, usual

TEACHING = """
## At which depth was the decision made?

A network looks at an image in **layers**: the first see edges, the last see things. A LAYA model reads out *all* of its
layers and says, for each image, how much each one counted. Choose an image and see

- **which layer carried the decision**: the model's own attention,
- **whether the usual explanations agree**: Integrated Gradients and Grad-CAM, on the same scale,
- **what is true**: how far the confidence really falls when a layer is taken away.
"""

theme.frame()
left, right = st.columns([1, 2.5], gap="large")

with left:
    found = workbench.show(right, TEACHING)
checkpoint, seen = found.checkpoint, found.seen

if seen is not None:
    with right:
        answer = st.container()
        with st.container(horizontal=True, vertical_alignment="bottom"):
            target = controls.choose_target(checkpoint, analysis.predicted(checkpoint, seen), seen.key)
            settings = controls.choose_settings(checkpoint)
        try:
            result = analysis.explanation_of(checkpoint, seen, target, settings)
        except LayaError as error:
            st.error(theme.plain(str(error)))
            st.stop()
        with answer:
            report.answer(result, checkpoint.model.head.tau)
        depth = plots.depth_chart(result.layers, result.scores, result.measured)
        clicked = st.plotly_chart(
            depth,
            key="depth",
            config=theme.CHART,
            alt=result.summary(),
            on_select="rerun",
            selection_mode="points",
        )
        report.chart_notes(result)
        layer = report.clicked_layer(clicked, result)
        if layer is not None:
            maps.at_layer(found, seen, result, layer)
        predictions, agreement = st.columns(2, gap="large")
        with predictions:
            st.markdown("#### Prediction")
            likely = plots.prediction_chart(result.predictions, result.target_name)
            st.plotly_chart(likely, key="predictions", config=theme.CHART)
        with agreement:
            st.markdown("#### Which method is right here?")
            report.faithfulness(result)
        usual.show(checkpoint, result)
        with st.expander("Numbers", icon=":material/table:"):
            report.numbers(result)
            download.take_away(result, {"depth": depth, "predictions": likely}, found.recipe)
        with st.expander("How this was made", icon=":material/science:"):
            report.origin(result, found.recipe)

theme.footer(checkpoint)
