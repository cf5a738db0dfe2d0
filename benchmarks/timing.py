"""Times and peaks of memory on a noisy machine: two sides take turns, and medians of ratios are compared."""

import ctypes
import gc
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch

Work = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    what : is measured.
    model : on which model; "" where none is meant.
    value : the median.
    low, high : quartiles.
    unit : ``x`` for a ratio, ``s``, or ``MB``.
    target : the limit for the value; None where the row only informs.
    repeats : how many times it was measured.
    sides : median seconds, or MB, of the two sides of a ratio.
    """

    what: str
    model: str
    value: float
    low: float
    high: float
    unit: str
    target: float | None
    repeats: int
    sides: tuple[float, float] | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target holds; None without one."""
        return None if self.target is None else self.value <= self.target


def row(what: str, model: str, values: Sequence[float], *, unit: str, target: float | None) -> Row:
    """A line from repeated measurements of one quantity."""
    return Row(what, model, median(values), *_quartiles(values), unit, target, len(values))


def compare(
    what: str,
    model: str,
    ours: Work,
    reference: Work,
    *,
    repeats: int,
    target: float | None,
    warm: bool = True,
    factor: float = 1.0,
    measure: Callable[[Work], float] | None = None,
) -> Row:
    """The ratio of two sides that run in turns, the order swapped each time: the median of neighbouring runs' ratios.

    A slow drift of the machine does not move it.

    Parameters
    ----------
    warm : run both once before, without counting it.
    factor : the reference takes so many times as long as what is run of it.
    measure : what is compared: :func:`seconds`, which is the default, or :func:`peak`.
    """
    measure = measure or seconds
    if warm:
        ours()
        reference()
    gc.collect()
    gc.freeze()  # what is there now need not be looked through before every run
    pairs = []
    for number in range(repeats):
        late = measure(reference) if number % 2 else None
        mine = measure(ours)
        pairs.append((mine, factor * (measure(reference) if late is None else late)))
    gc.unfreeze()
    ratios = [mine / theirs for mine, theirs in pairs]
    sides = (median(mine for mine, _ in pairs), median(theirs for _, theirs in pairs))
    return Row(what, model, median(ratios), *_quartiles(ratios), "x", target, repeats, sides)


def seconds(work: Work) -> float:
    """Wall-clock time of one run, without the garbage collector in it."""
    gc.collect()
    gc.disable()
    _finish()
    begin = time.perf_counter()
    try:
        work()
        _finish()
        return time.perf_counter() - begin
    finally:
        gc.enable()


def peak(work: Work) -> float:
    """MB that a run needs at most, on top of what was in use before; the GPU's, where there is one. Linux alone."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system, and counts again when it is used
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark is the present one
    resident = _memory("VmRSS")
    work()
    return _memory("VmHWM") - resident


def _memory(name: str) -> float:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None  # noqa: S101  # every Linux has both
    return int(found[1]) / 1024


def _finish() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return ordered[quarter], ordered[-1 - quarter]
