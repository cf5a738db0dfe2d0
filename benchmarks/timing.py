"""Ratios of running times on a noisy machine: the two sides take turns, and medians are compared."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Work = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """Time of one thing over that of another.

    Attributes
    ----------
    ratio : median of the ratios of neighbouring runs, which a slow drift of the machine does not move.
    low, high : the quartiles of those ratios.
    ours, reference : median seconds of each side.
    repeats : pairs that were run.
    """

    ratio: float
    low: float
    high: float
    ours: float
    reference: float
    repeats: int


def compare(ours: Work, reference: Work, *, repeats: int, warm: bool = True) -> Ratio:
    """Run both sides in turns, the order swapped each time, after one run of each that does not count if ``warm``."""
    if warm:
        ours()
        reference()
    pairs = []
    for number in range(repeats):
        if number % 2:
            late = seconds(reference)
            pairs.append((seconds(ours), late))
        else:
            pairs.append((seconds(ours), seconds(reference)))
    ratios = sorted(a / b for a, b in pairs)
    quarter = len(ratios) // 4
    return Ratio(
        median(ratios),
        ratios[quarter],
        ratios[-1 - quarter],
        median(a for a, _ in pairs),
        median(b for _, b in pairs),
        repeats,
    )


def seconds(work: Work) -> float:
    """Wall-clock time of one run, without the garbage collector in it."""
    gc.collect()
    gc.disable()
    begin = time.perf_counter()
    try:
        work()
        return time.perf_counter() - begin
    finally:
        gc.enable()
