"""Means with their intervals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A mean over n images with a bootstrap interval; None where there is nothing to average or to resample."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        if self.mean is None:
            return "not defined"
        if self.low is None:
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_interval(values: Floats, rng: np.random.Generator, confidence: float = 0.95) -> Interval:
    """Mean with a percentile bootstrap interval (1,000 resamples of the images), NaN left out and not counted.

    Parameters
    ----------
    values : (N,).
    """
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return Interval(float(values[0]) if len(values) else None, None, None, len(values))
    from scipy import stats

    bounds = stats.bootstrap(
        (values,), np.mean, n_resamples=1000, batch=50, method="percentile", confidence_level=confidence, rng=rng
    ).confidence_interval
    return Interval(float(values.mean()), float(bounds.low), float(bounds.high), len(values))


def paired(differences: list[float], confidence: float = 0.95) -> dict[str, float | None]:
    """Mean of paired differences with Student's t interval."""
    from scipy import stats  # here, because it takes long

    if not differences:
        return {"mean": None, "low": None, "high": None}
    mean = float(np.mean(differences))
    if len(differences) < 2:
        return {"mean": mean, "low": None, "high": None}
    half = float(stats.sem(differences) * stats.t.ppf((1 + confidence) / 2, len(differences) - 1))
    return {"mean": mean, "low": mean - half, "high": mean + half}
