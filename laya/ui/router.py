"""The pages of the app, and the way to them."""

from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage

ROUTED = "routed"


def navigation() -> "StreamlitPage":
    """The navigation at the top of every page; gives the page that the address asks for."""
    st.session_state[ROUTED] = True
    return st.navigation(
        [
            st.Page("pages/inspect.py", title="Inspect", default=True),
            st.Page("pages/compare.py", title="Compare", url_path="compare"),
            st.Page("pages/profiles.py", title="Depth profiles", url_path="profiles"),
            st.Page("pages/evidence.py", title="Evidence", url_path="evidence"),
            st.Page("pages/models.py", title="Models", url_path="models"),
        ],
        position="top",
    )


def ensure() -> None:
    """Start again through app.py where a page was run without it.

    A folder called ``pages`` makes Streamlit run its files by themselves until it has seen ``st.navigation`` once,
    which it has not when the first address after a start leads straight to a page.
    """
    if ROUTED not in st.session_state:
        navigation()
        st.rerun()
