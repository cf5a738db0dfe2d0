"""What is kept between reruns: models for everybody, an image's results for its own session alone."""

import hashlib
import time
import uuid
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st
import torch
from streamlit.runtime.scriptrunner import get_script_run_ctx

from laya import checkpoints
from laya.checkpoints import Checkpoint, Summary
from laya.device import within_memory
from laya.errors import GpuFullError, LayaError
from laya.ui import logs
from laya.ui.queue import QUICK, Queue

T = TypeVar("T")
DEVICE = "device"  # where this session computes, if not where everybody does
WAITING = "waiting"  # the page's place for a word to those who wait


@st.cache_resource(max_entries=8, show_spinner="Loading the model …")
def _load(folder: str, version: tuple[int, ...], device: str | None) -> Checkpoint:  # noqa: ARG001  # part of the key
    begin = time.perf_counter()
    loaded = checkpoints.load(folder, None if device is None else torch.device(device))
    logs.event("model loaded", model=loaded.name, device=loaded.device.type, seconds=_since(begin))
    return loaded


def checkpoint(summary: Summary) -> Checkpoint:
    """A model, loaded once for all sessions and again when its files change.

    Raises
    ------
    LayaError
        The checkpoint is damaged.
    """
    files = [summary.folder / name for name in (checkpoints.CONFIG, checkpoints.WEIGHTS)]
    try:
        states = [file.stat() for file in files]
    except OSError as error:
        raise LayaError(f"The checkpoint {summary.name!r} is no longer there; choose another.") from error
    version = tuple(number for state in states for number in (state.st_mtime_ns, state.st_size, state.st_ino))
    return _load(str(summary.folder), version, st.session_state.get(DEVICE))


def keep(slot: str, key: Hashable, build: Callable[[], T], *, queue: Queue = QUICK) -> T:
    """Compute once for ``key``, in turn; a slot holds one value, in this session only, and goes with it.

    Where the GPU's memory is full, the page starts again and the session goes on without the GPU.

    Parameters
    ----------
    queue : in which others wait meanwhile, and this session for others.

    Raises
    ------
    LayaError
        From ``build``, or the memory is full.
    """
    kept: tuple[Hashable, Any] | None = st.session_state.get(f"kept-{slot}")
    if kept is None or kept[0] != key:
        try:
            kept = (key, _queued(slot, build, queue))
        except GpuFullError:
            if st.session_state.get(DEVICE) == "cpu":
                raise
            torch.cuda.empty_cache()
            st.session_state[DEVICE] = "cpu"
            st.toast("The GPU’s memory is full; from here on this session computes without it, more slowly.")
            st.rerun()
        st.session_state[f"kept-{slot}"] = kept
    value: T = kept[1]
    return value


def _queued(what: str, build: Callable[[], T], queue: Queue) -> T:
    begin = time.perf_counter()
    facts = {"what": what, "session": _session(), "request": uuid.uuid4().hex[:8]}
    with queue.slot(_waiting):
        begun = time.perf_counter()
        shown = st.session_state.get(WAITING)
        if shown is not None:
            shown.empty()
        try:
            with within_memory():
                value = build()
        except LayaError:
            logs.event("refused", **facts)
            raise
        except Exception as error:
            logs.event("failed", **facts, error=type(error).__name__)
            raise
        logs.event("computed", **facts, waited=round(begun - begin, 3), seconds=_since(begun))
    return value


def _waiting(ahead: int) -> None:
    """Say so where every page has kept a place for it."""
    shown = st.session_state.get(WAITING)
    if shown is not None:
        shown.info(
            f"Waiting: {ahead} {'computation comes' if ahead == 1 else 'computations come'} first.",
            icon=":material/hourglass_top:",
        )


def _session() -> str:
    """A name for the session in the log that leads to nobody."""
    context = get_script_run_ctx(suppress_warning=True)
    return hashlib.sha256(context.session_id.encode()).hexdigest()[:8] if context else ""


def _since(begin: float) -> float:
    return round(time.perf_counter() - begin, 3)
