"""Quantiles of a stream."""

import numpy as np

from laya.intervals import Floats


class Sketch:
    """Counts of F features in bins of constant relative width, from which quantiles are read.

    The package ddsketch takes one value at a time (36 times as long), and datasketches' KLL and REQ are random: another
    order of shards would give other quantiles.

    A quantile is right to within :data:`ACCURACY` of its value; what is smaller than :data:`SMALLEST` counts as 0.

    References
    ----------
    Masson, Rim, Lee, "DDSketch", VLDB 2019.
    """

    ACCURACY, SMALLEST, LARGEST = 0.02, 1e-4, 1e4
    _BASE = (1 + ACCURACY) / (1 - ACCURACY)
    HALF = int(np.ceil(np.log(LARGEST / SMALLEST) / np.log(_BASE)))

    def __init__(self, features: int) -> None:
        self.counts = np.zeros((features, 2 * self.HALF + 1), dtype=np.int64)

    def add(self, rows: Floats) -> None:
        """Count rows (n, F)."""
        size = np.abs(rows) / self.SMALLEST
        bins = np.ceil(np.log(np.maximum(size, 1)) / np.log(self._BASE)).clip(0, self.HALF) * np.sign(rows)
        places = np.arange(rows.shape[1]) * self.counts.shape[1] + bins.astype(np.int64) + self.HALF
        self.counts += np.bincount(places.ravel(), minlength=self.counts.size).reshape(self.counts.shape)

    def merge(self, other: "Sketch") -> None:
        """Count what another sketch has counted, too."""
        self.counts += other.counts

    def quantile(self, q: float) -> Floats:
        """The q-quantile of every feature (F,), q in [0, 1]: the value at rank ``q (n - 1)``, rounded down."""
        rank = np.floor(q * (self.counts.sum(1) - 1))
        bins = (self.counts.cumsum(1) > rank[:, None]).argmax(1) - self.HALF
        values: Floats = np.sign(bins) * self.SMALLEST * self._BASE ** np.abs(bins) * 2 / (1 + self._BASE)
        return np.where(bins == 0, 0.0, values)
