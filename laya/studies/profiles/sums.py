"""Running sums over the pictures of a data set, from which every profile is read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np

from laya.intervals import Floats
from laya.studies.evaluation import entropy
from laya.studies.profiles.sketch import Sketch
from laya.studies.profiles.table import Table

Grouping = Literal["true", "predicted"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Moments:
    """Count, mean (F,) and sum of squared deviations (F,) of some rows; adding two gives those of all their rows.

    References
    ----------
    Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
    """

    n: int
    mean: Floats
    squares: Floats

    @classmethod
    def of(cls, rows: Floats) -> "Moments":
        """Of rows (n, F), n above 0."""
        mean: Floats = rows.mean(0)
        return cls(len(rows), mean, ((rows - mean) ** 2).sum(0))

    def __add__(self, other: "Moments") -> "Moments":
        n = self.n + other.n
        delta = other.mean - self.mean
        mean = self.mean + delta * (other.n / n)
        return Moments(n, mean, self.squares + other.squares + delta**2 * (self.n * other.n / n))

    @property
    def std(self) -> Floats | None:
        """Standard deviation over the rows (n - 1 in the denominator); None for one row."""
        return np.sqrt(self.squares / (self.n - 1)) if self.n > 1 else None


@dataclass
class Sums:
    """What is known about a data set after some of its pictures.

    Attributes
    ----------
    classes : K names.
    layers : L names.
    cells : (true class, predicted class) to the moments of alpha (L), contribution to the true class (L), contribution
        to the predicted class (L), and entropy of alpha (1), of the pictures there.
    sketches : (grouping, class) to the sketch of alpha (L) and contribution to the class (L).
    """

    classes: tuple[str, ...]
    layers: tuple[str, ...]
    cells: dict[tuple[int, int], Moments] = field(default_factory=dict)
    sketches: dict[tuple[Grouping, int], Sketch] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Iterable[Table]) -> "Sums":
        """Of all pictures of one or several tables."""
        each = []
        for table in tables:
            sums = cls(table.data.classes, table.layers)
            for indices, rows in table.chunks():
                sums.add(table.data.labels[indices], rows)
            each.append(sums)
        total = each[0]
        for other in each[1:]:
            total.merge(other)
        return total

    def add(self, truth: np.ndarray, rows: Floats) -> None:
        """Take in pictures: true classes (n,) and their rows (n, 2 + 3 L)."""
        count = len(self.layers)
        predicted = rows[:, 0].astype(np.int64)
        alpha, own, chosen = (rows[:, 2 + i * count : 2 + (i + 1) * count] for i in range(3))
        features = np.concatenate([alpha, own, chosen, entropy(alpha)[:, None]], axis=1)
        cell = truth * len(self.classes) + predicted
        for key in np.unique(cell):
            here = divmod(int(key), len(self.classes))
            moments = Moments.of(features[cell == key])
            self.cells[here] = self.cells[here] + moments if here in self.cells else moments
        views: tuple[tuple[Grouping, np.ndarray, Floats], ...] = (
            ("true", truth, own),
            ("predicted", predicted, chosen),
        )
        for grouping, group, contribution in views:
            for number in np.unique(group):
                mine = group == number
                sketch = self.sketches.setdefault((grouping, int(number)), Sketch(2 * count))
                sketch.add(np.nan_to_num(np.concatenate([alpha[mine], contribution[mine]], axis=1)))

    def merge(self, other: "Sums") -> None:
        """Take in all pictures of other sums over the same classes and layers."""
        for here, moments in other.cells.items():
            self.cells[here] = self.cells[here] + moments if here in self.cells else moments
        for key, sketch in other.sketches.items():
            self.sketches.setdefault(key, Sketch(2 * len(self.layers))).merge(sketch)

    def moments(
        self, *, true: int | None = None, predicted: int | None = None, right: bool | None = None
    ) -> Moments | None:
        """Of the cells that fit; None where there is no picture."""
        found = [
            moments
            for (t, p), moments in self.cells.items()
            if true in (None, t) and predicted in (None, p) and right in (None, t == p)
        ]
        return reduce(lambda a, b: a + b, found) if found else None

    def profile(
        self, moments: Moments | None, grouping: Grouping = "true", sketch: Sketch | None = None
    ) -> dict[str, Any]:
        """The JSON object P: n, mean and standard deviation of alpha and contribution, quantiles where known."""
        count = len(self.layers)
        first = count if grouping == "true" else 2 * count
        result: dict[str, Any] = {"n": moments.n if moments else 0}
        for name, start, place in (("alpha", 0, 0), ("contribution", first, count)):
            part = slice(start, start + count)
            result[f"{name}_mean"] = None if moments is None else _plain(moments.mean[part])
            std = moments.std if moments else None
            result[f"{name}_std"] = None if std is None else _plain(std[part])
            if sketch is not None:
                there = result[f"{name}_mean"] is not None
                values = [_plain(sketch.quantile(q)[place : place + count]) for q in QUANTILES] if there else None
                result[f"{name}_quantiles"] = values
        return result

    def sketch(self, grouping: Grouping, number: int | None = None) -> Sketch:
        """Of one class, or of all."""
        total = Sketch(2 * len(self.layers))
        for (g, n), each in self.sketches.items():
            if g == grouping and number in (None, n):
                total.merge(each)
        return total

    def report(self) -> dict[str, Any]:
        """Everything as JSON values: overall, right and wrong, by true class, by predicted class, confusions."""
        total = self.moments()
        alpha = None if total is None else _plain(total.mean[: len(self.layers)])
        confused = sorted((here for here in self.cells if here[0] != here[1]), key=lambda here: -self.cells[here].n)
        return {
            "n": total.n if total else 0,
            "layers": list(self.layers),
            "quantiles": list(QUANTILES),
            "overall": self.profile(total, sketch=self.sketch("true")),
            "right": self.profile(self.moments(right=True)),
            "wrong": self.profile(self.moments(right=False)),
            "alpha_entropy": None if total is None or alpha is None else float(total.mean[-1]),
            "alpha_mutual_information": None
            if total is None or alpha is None
            else max(0.0, float(entropy(np.array(alpha)) - total.mean[-1])),
            "classes": {name: self._class(number) for number, name in enumerate(self.classes)},
            "predicted": {
                name: self.profile(self.moments(predicted=number), "predicted", self.sketch("predicted", number))
                for number, name in enumerate(self.classes)
            },
            "confusions": [
                {"true": self.classes[t], "predicted": self.classes[p]} | self.profile(self.cells[t, p])
                for t, p in confused
            ],
        }

    def _class(self, number: int) -> dict[str, Any]:
        every = self.moments(true=number)
        return {
            "n": every.n if every else 0,
            "all": self.profile(every, sketch=self.sketch("true", number)),
            "right": self.profile(self.moments(true=number, right=True)),
            "wrong": self.profile(self.moments(true=number, right=False)),
        }


def _plain(values: Floats | None) -> list[float] | None:
    """Nine significant digits, more than float32 holds; None where a value is none."""
    if values is None or np.isnan(values).any():
        return None
    return [float(f"{value:.9g}") for value in values]
