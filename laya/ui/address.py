"""The page's address: what it asked for, and what it says now."""

import streamlit as st


def initial(name: str) -> str | None:
    """What the address asked for when the session began, once: afterwards the widgets know better."""
    if "asked" not in st.session_state:
        st.session_state["asked"] = st.query_params.to_dict()
    value: str | None = st.session_state["asked"].pop(name, None)
    return value


def record(name: str, value: str | None) -> None:
    """Keep the address true, so that a copied link opens the same view; None takes the word out of it."""
    if value is None:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value
