"""What is kept between reruns: models for everybody, an image's results for its own session alone."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

from laya import checkpoints
from laya.checkpoints import Checkpoint, Summary
from laya.errors import LayaError

T = TypeVar("T")


@st.cache_resource(max_entries=8, show_spinner="Loading the model …")
def _load(folder: str, modified: tuple[int, ...]) -> Checkpoint:  # noqa: ARG001  # a part of the cache key
    return checkpoints.load(folder)


def checkpoint(summary: Summary) -> Checkpoint:
    """A model, loaded once for all sessions and again when its files change.

    Raises
    ------
    LayaError
        The checkpoint is damaged.
    """
    files = [summary.folder / name for name in (checkpoints.CONFIG, checkpoints.WEIGHTS)]
    try:
        modified = tuple(file.stat().st_mtime_ns for file in files)
    except OSError as error:
        raise LayaError(f"The checkpoint {summary.name!r} is no longer there; choose another.") from error
    return _load(str(summary.folder), modified)


def asked(name: str) -> str | None:
    """What the address asked for when the session began, once: afterwards the widgets know better."""
    if "asked" not in st.session_state:
        st.session_state["asked"] = st.query_params.to_dict()
    value: str | None = st.session_state["asked"].pop(name, None)
    return value


def tell(name: str, value: str | None) -> None:
    """Keep the address true, so that a copied link opens the same view; None takes the word out of it."""
    if value is None:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value


def keep(slot: str, key: Hashable, build: Callable[[], T]) -> T:
    """Compute once for ``key``; a slot holds one value, in this session only, and goes with it."""
    kept: tuple[Hashable, Any] | None = st.session_state.get(f"kept-{slot}")
    if kept is None or kept[0] != key:
        kept = (key, build())
        st.session_state[f"kept-{slot}"] = kept
    value: T = kept[1]
    return value
