"""Depth profiles of a data set: what each class asks of each depth.

One pass over the pictures leaves one row of figures each (:func:`collect`), on disk and resumable where the data is
large. Running sums over the rows (:class:`Sums`), kept for every pair of true and predicted class, then answer
everything: by true class, by predicted class, right or wrong, confused with what. Their memory depends on the number
of classes and layers alone.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import jensenshannon, squareform

from laya.checkpoints import Checkpoint
from laya.datasets import ImageSet, cache
from laya.errors import LayaError
from laya.evaluation import entropy, traces
from laya.faithfulness import Floats
from laya.progress import OnProgress, silent
from laya.rows import Rows, read

Grouping = Literal["true", "predicted"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CHUNK = 4096  # rows that are summed at once
OUTLIERS = 40  # images that a report names
RESAMPLES = 500  # of the bootstrap


@dataclass(frozen=True)
class Table:
    """One row of figures a picture; N pictures, L layers.

    Attributes
    ----------
    data : whose pictures these are, in the checkpoint's class order.
    values : (N, 2 + 3 L): predicted class, its probability, alpha, contribution to the true class, contribution to the
        predicted class. A row of NaN is a picture that could not be read; alpha is NaN where a head has no weights.
    layers : L names.
    """

    data: ImageSet
    values: NDArray[np.float32]
    layers: tuple[str, ...]

    def chunks(self) -> Iterator[tuple[np.ndarray, Floats]]:
        """Indices (n,) and float64 rows (n, 2 + 3 L) of the pictures that could be read, some at a time."""
        for start in range(0, len(self.values), CHUNK):
            block = np.asarray(self.values[start : start + CHUNK], dtype=np.float64)
            readable = ~np.isnan(block[:, 0])
            yield start + np.flatnonzero(readable), block[readable]


def collect(
    checkpoint: Checkpoint,
    data: ImageSet,
    *,
    kept: bool = True,
    cached: bool = False,
    on_progress: OnProgress = silent,
    on_skip: Callable[[str], None] = lambda _: None,
) -> Table:
    """Run a checkpoint over labelled pictures.

    Parameters
    ----------
    data : classes are matched by name; some may have no pictures.
    kept : keep the rows in the cache while they are made, so that an interrupted run goes on; False for the pictures
        of a visitor, of whom nothing may be left.
    cached : read the backbone's hidden states from the cache (:mod:`laya.hidden`).
    on_skip : told what could not be read; such pictures are left out.

    Raises
    ------
    LayaError
        The data has a class that the checkpoint does not know, or no picture can be read.
    """
    data = data.matched_to(checkpoint.classes, partly=True)
    layers = checkpoint.model.layers
    shape = (len(data), 2 + 3 * len(layers))
    if not kept:
        values = np.full(shape, np.nan, dtype=np.float32)
        for indices, block in _measured(checkpoint, data, 0, cached, on_progress, on_skip):
            values[indices] = block
    else:
        file = cache() / "profiles" / f"{_key(checkpoint, data)}.npy"
        if not file.exists():
            table = Rows(file, shape)
            for indices, block in _measured(checkpoint, data, table.done, cached, on_progress, on_skip):
                table.array[table.done : indices[-1] + 1] = np.nan
                table.array[indices] = block
                table.advance(int(indices[-1]) + 1)
            table.array[table.done :] = np.nan
            table.finish()
        values = read(file)
    if np.isnan(values[:, 0]).all():
        raise LayaError(f"None of the {len(data)} pictures can be read.")
    return Table(data, values, layers)


def _measured(
    checkpoint: Checkpoint,
    data: ImageSet,
    begin: int,
    cached: bool,
    on_progress: OnProgress,
    on_skip: Callable[[str], None],
) -> Iterator[tuple[np.ndarray, NDArray[np.float32]]]:
    """Indices (b,) and rows (b, 2 + 3 L) from picture ``begin`` on."""
    model = checkpoint.model
    rest = data.subset(np.arange(begin, len(data))) if begin else data

    def tell(what: str, done: int, total: int) -> None:
        on_progress(what, begin + done, begin + total)

    for local, trace in traces(
        model, rest, checkpoint.preprocessing, cached=cached and not begin, on_progress=tell, on_skip=on_skip
    ):
        if not trace.logits.isfinite().all():
            raise LayaError("The model gives values that are not numbers.")
        confidence, predicted = trace.probabilities.max(-1)
        truth = torch.from_numpy(rest.labels[local]).to(predicted.device)
        with torch.no_grad():
            terms = model.head.terms(trace.head)  # (b, L, K)
        picture = torch.arange(len(predicted), device=predicted.device)
        alpha = torch.full(terms.shape[:2], torch.nan) if trace.alpha is None else trace.alpha
        parts = (
            *(predicted.unsqueeze(1), confidence.unsqueeze(1), alpha),
            *(terms[picture, :, truth], terms[picture, :, predicted]),
        )
        yield begin + local, torch.cat([part.float().cpu() for part in parts], dim=1).numpy()


def _key(checkpoint: Checkpoint, data: ImageSet) -> str:
    labels = hashlib.sha256(data.labels.astype("<i8").tobytes()).hexdigest()
    parts = [checkpoint.identity, data.digest(), labels, torch.__version__]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# --- running sums -----------------------------------------------------------------------------------------------------


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


class Sketch:
    """Counts of F features in bins of constant relative width, from which quantiles are read.

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


# --- images that lie far from their class ----------------------------------------------------------------------------


def distances(table: Table, sums: Sums, grouping: Grouping = "predicted") -> Floats:
    """How far each picture's alpha is from the mean of its class: (N,), Jensen-Shannon, in [0, 1].

    The square root of the divergence in bits. The mean is that of the *other* pictures of the class, so that a small
    class does not hide its own outliers; NaN where there are none, or the picture could not be read.
    """
    count = len(table.layers)
    means = {}
    for number in range(len(sums.classes)):
        moments = sums.moments(true=number) if grouping == "true" else sums.moments(predicted=number)
        if moments is not None and moments.n > 1:
            means[number] = (moments.n, moments.mean[:count])
    found = np.full(len(table.values), np.nan)
    for indices, rows in table.chunks():
        group = table.data.labels[indices] if grouping == "true" else rows[:, 0].astype(np.int64)
        for number in np.unique(group):
            if int(number) in means:
                n, mean = means[int(number)]
                mine = group == number
                alpha = rows[mine, 2 : 2 + count]
                others = ((n * mean - alpha) / (n - 1)).clip(min=0)
                found[indices[mine]] = jensenshannon(alpha, others, base=2, axis=1)
    return found


def outliers(table: Table, sums: Sums, *, seed: int = 0) -> dict[str, Any] | None:
    """The pictures farthest from their predicted class, and whether distance tells wrong from right predictions.

    AUROC: the probability that a wrong prediction is ranked above a right one, with a 95 % bootstrap interval; the
    baseline ranks by one minus the largest softmax probability. None for a head without layer weights.
    """
    far = distances(table, sums)
    usable = np.flatnonzero(~np.isnan(far))
    if not len(usable):
        return None
    predicted, confidence = table.values[usable, 0].astype(np.int64), table.values[usable, 1].astype(np.float64)
    truth, names = table.data.labels[usable], table.data.classes
    wrong = predicted != truth
    order = np.argsort(-far[usable], kind="stable")[:OUTLIERS]
    return {
        "n": len(usable),
        "wrong": int(wrong.sum()),
        "auroc": {
            "profile_distance": auroc(wrong, far[usable], seed),
            "softmax": auroc(wrong, 1 - confidence, seed),
        },
        "images": [
            {
                "image": table.data.sources[usable[i]],
                "true": names[truth[i]],
                "predicted": names[predicted[i]],
                "confidence": float(confidence[i]),
                "distance": float(far[usable[i]]),
            }
            for i in order
        ],
    }


def auroc(wrong: NDArray[np.bool_], score: Floats, seed: int) -> dict[str, float] | None:
    """Area under the ROC curve of ``score`` (N,) for ``wrong`` (N,), with a 95 % bootstrap interval.

    None where all are wrong or none is.
    """
    from sklearn.metrics import roc_auc_score  # here, because it takes long

    if wrong.all() or not wrong.any():
        return None
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(wrong), len(wrong))
        if wrong[drawn].any() and not wrong[drawn].all():
            draws.append(float(roc_auc_score(wrong[drawn], score[drawn])))
    low, high = np.quantile(draws, [0.025, 0.975]) if draws else (np.nan, np.nan)
    return {"mean": float(roc_auc_score(wrong, score)), "low": float(low), "high": float(high)}


# --- everything together ----------------------------------------------------------------------------------------------


def build(
    checkpoint: Checkpoint,
    data: ImageSet,
    *,
    kept: bool = True,
    cached: bool = False,
    on_progress: OnProgress = silent,
    on_skip: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The object that ``python -m laya profile --json`` prints; for the parameters see :func:`collect`."""
    table = collect(checkpoint, data, kept=kept, cached=cached, on_progress=on_progress, on_skip=on_skip)
    sums = Sums.of([table])
    result = {"model": checkpoint.name, **sums.report(), "outliers": outliers(table, sums)}
    return result | {"skipped": len(table.values) - result["n"], "weights_sha256": checkpoint.weights}


def apart(one: list[float], other: list[float]) -> float:
    """Jensen-Shannon distance of two profiles in [0, 1]: the square root of the divergence in bits."""
    return float(jensenshannon(one, other, base=2))


def by_similarity(profiles: dict[str, list[float]]) -> list[str]:
    """Names of profiles in an order that puts similar ones side by side.

    Hierarchical clustering (average linkage, optimal leaf order) by Jensen-Shannon distance, shallow end first.
    """
    names = list(profiles)
    if len(names) < 3:
        return sorted(names, key=lambda name: depth(profiles[name]))
    square = np.array([[apart(profiles[a], profiles[b]) for b in names] for a in names])
    tree = linkage(squareform(square, checks=False), "average", optimal_ordering=True)
    order = [names[leaf] for leaf in leaves_list(tree)]
    return order if depth(profiles[order[0]]) <= depth(profiles[order[-1]]) else order[::-1]


def shares(profile: list[float]) -> list[float]:
    """Magnitudes that sum to 1; equal ones where all are 0."""
    size = np.abs(profile)
    total = size.sum()
    values: list[float] = (size / total if total else np.full(len(size), 1 / len(size))).tolist()
    return values


def depth(profile: list[float]) -> float:
    """Mean relative depth of a profile, 0 the first layer, 1 the last; magnitudes count."""
    return float(np.dot(shares(profile), np.linspace(0, 1, len(profile))))


def _plain(values: Floats | None) -> list[float] | None:
    """Nine significant digits, more than float32 holds; None where a value is none."""
    if values is None or np.isnan(values).any():
        return None
    return [float(f"{value:.9g}") for value in values]
