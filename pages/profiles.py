"""Depth profiles: what each class asks of each depth, over a whole data set."""

import streamlit as st

from laya.ui import LayaError, controls, theme
from laya.ui.profiles import page, source

theme.frame()
left, right = st.columns([1, 2.5], gap="large")
profile = None
with left:
    summary = controls.choose_checkpoint()
    if summary is None:
        st.stop()
    try:
        profile = source.choose_profile(summary)
    except LayaError as error:
        st.error(theme.plain(str(error)), icon=":material/error:")
    if profile is not None:
        theme.note(page.READING)
with right:
    if profile is None:
        st.markdown(page.TEACHING)
    else:
        page.show(summary, profile)
