"""Times and peaks of memory on a noisy machine: two sides take turns, and medians of ratios are compared.

pyperf and torch's Timer measure one side at a time, whose drift is then in the ratio; so the turns are ours.
"""

import ctypes
import gc
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch.utils.benchmark import timer

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
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return Row(what, model, middle, low, high, unit, target, len(values))


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
    return replace(row(what, model, ratios, unit="x", target=target), sides=tuple(np.median(pairs, axis=0).tolist()))


def seconds(work: Work) -> float:
    """Wall-clock time of one run and what it left to the GPU; timeit keeps the garbage collector out of it."""
    gc.collect()
    return timeit.timeit(work, timer=timer, number=1)


def peak(work: Work) -> float:
    """MB that a run needs at most, on top of what was in use before; the GPU's, where there is one. Linux alone."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        allocated = torch.cuda.memory_allocated()
        work()
        return (torch.cuda.max_memory_allocated() - allocated) / 2**20
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system, and counts again when it is used
    # psutil and the resource module know no highest mark that can be set back to the present one
    Path("/proc/self/clear_refs").write_text("5")
    before = _highest()
    work()
    return _highest() - before


def _highest() -> float:
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
