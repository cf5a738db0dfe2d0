"""Pictures that lie far from their class, and whether that betrays a mistake."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon

from laya.data import ImageSet
from laya.intervals import Floats
from laya.studies.profiles.sums import Grouping, Sums
from laya.studies.profiles.table import Table

OUTLIERS = 40  # images that a report names
RESAMPLES = 500  # of the bootstrap


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


def places(report: dict[str, Any], data: ImageSet) -> list[int | None]:
    """Where in a data set the pictures stand that a report names as outliers.

    A name is taken for a picture only if there is no doubt: the data set has as many pictures as were profiled, exactly
    one of that name, and it is of the class that the report says. None for any other.

    Raises
    ------
    LayaError
        The data has a class that the report does not know.
    """
    images = report["outliers"]["images"]
    if len(data) != report["n"] + report.get("skipped", 0):
        return [None] * len(images)
    data = data.matched_to(list(report["classes"]), partly=True)
    named: dict[str, list[int]] = {}
    for place, name in enumerate(data.sources):
        named.setdefault(name, []).append(place)
    found: list[int | None] = []
    for each in images:
        there = named.get(each["image"], [])
        sure = len(there) == 1 and data.classes[data.labels[there[0]]] == each["true"]
        found.append(there[0] if sure else None)
    return found


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
