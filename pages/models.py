"""Models: what is here, how good it is, and a way to bring one's own."""

import streamlit as st

from laya.ui import models, theme

theme.frame()
left, right = st.columns([1, 2.5], gap="large")
with left:
    st.markdown("## Models")
    theme.note(
        "Every model reads out all of its layers with a LAYA head. Train one on your own pictures with "
        "<code>python -m laya train</code>, put its folder beside these, or bring it here as a zip."
    )
    models.bring()
with right:
    models.overview()
