"""Compare: methods, images and models side by side, by depth and by place."""

import streamlit as st

from laya.ui import LayaError, address, theme, workbench
from laya.ui.compare import images, methods, models

TEACHING = """
## Do the explanations agree?

Choose an image and put side by side

- **methods**: which layers each names, how far they agree, and who is right when layers are taken away,
- **images**: the same model on your image and on another, or on a blurred, turned, cropped or grey copy,
- **models**: the same image through two networks, on one relative depth axis.
"""
VIEWS = {
    "Methods": methods.show,
    "Images": images.show,
    "Models": models.show,
}

theme.frame()
left, right = st.columns([1, 2.5], gap="large")
with left:
    found = workbench.show(right, TEACHING)
if found.seen is not None:
    with right:
        asked = address.initial("view")
        view = st.segmented_control(
            "Compare",
            list(VIEWS),
            default=asked if asked in VIEWS else "Methods",
            required=True,
            key="view",
            persist_state="session",
        )
        address.record("view", view)
        try:
            VIEWS[view or "Methods"](found, found.seen)
        except LayaError as error:
            st.error(theme.plain(str(error)))
theme.footer(found.checkpoint)
