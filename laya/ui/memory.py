"""Garbage collection between the runs of a page."""

import gc
import time

PAUSE = 60  # seconds
_collected = 0.0


def collect_garbage(now: float | None = None) -> None:
    """Collect garbage, and leave what is there out of the next collections; at most once in :data:`PAUSE` seconds.

    Streamlit looks through all objects after every run of a page. Half a million of them are those of the libraries,
    and looking through these took longer than the run itself.
    """
    global _collected
    now = time.monotonic() if now is None else now
    if now - _collected >= PAUSE or not _collected:
        _collected = now
        gc.unfreeze()  # what was in use the last time may be garbage by now
        gc.collect()
        gc.freeze()
