"""Does a method's ranking of the layers agree with what happens when a layer is removed?

Plain NumPy on scores and measured effects, both (N, L): N images, L layers.
"""

import itertools
from typing import Literal

import numpy as np

from laya.intervals import Floats, Interval

FAITHFUL = 0.5  # a rank correlation that puts about two of three pairs of layers in the right order
COARSE = 4  # layers; of more, all are in the right order by chance in less than 1 % of cases

Verdict = Literal["faithful", "unclear", "not faithful"]


def spearman(scores: Floats, effects: Floats) -> Floats:
    """Spearman's rank correlation of each image's scores with its effects.

    Parameters
    ----------
    scores, effects : (N, L); ties get average ranks.

    Returns
    -------
    (N,) in [-1, 1], higher is more faithful; NaN marks an image where either side is constant and no rank exists.
    """
    from scipy import stats  # here, because it takes long

    ranks = [stats.rankdata(values, axis=-1) for values in (scores, effects)]
    a, b = (rank - rank.mean(-1, keepdims=True) for rank in ranks)
    norm = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    result: Floats = np.divide((a * b).sum(-1), norm, out=np.full(len(norm), np.nan), where=norm > 0)
    return result


def verdict(faithfulness: Interval) -> Verdict | None:
    """Whether a method's ranking can be believed, by its mean Spearman over many images.

    "faithful" where the whole interval lies at or above :data:`FAITHFUL`, "not faithful" where it lies below, "unclear"
    between; None without an interval. The bound for three layers: a correlation of 0.5 is one swap of neighbours.
    """
    if faithfulness.mean is None or faithfulness.low is None or faithfulness.high is None:
        return None
    if faithfulness.low >= FAITHFUL:
        return "faithful"
    return "not faithful" if faithfulness.high < FAITHFUL else "unclear"


def coarseness(layers: int) -> str | None:
    """What to know about a rank correlation over so few layers; None where there are more than :data:`COARSE`.

    By chance, all L layers are in the right order in one of L! cases.
    """
    if layers > COARSE:
        return None
    if layers < 2:
        return "With one layer there is no order, so its faithfulness is not defined."
    orders = np.array(list(itertools.permutations(range(layers))), dtype=float)
    *others, last = sorted(
        {f"{rank:.3g}" for rank in spearman(orders, np.tile(orders[0], (len(orders), 1)))}, key=float
    )
    values = f"{', '.join(others)} or {last}" if len(others) < 4 else f"one of {len(others) + 1} values"
    return (
        f"With {layers} layers and no ties, the faithfulness on one image is {values}, and chance alone gives +1.00 in "
        f"{100 / len(orders):.0f} % of cases; read it over many images."
    )


def deletion_at_1(scores: Floats, effects: Floats) -> Floats:
    """Deletion@1: the drop of the target's probability when the top-ranked layer is removed.

    That drop is the layer's own leave-one-out effect. Where several layers share the top score it is their mean, the
    expectation when the tie is broken at random.

    Parameters
    ----------
    scores, effects : (N, L).

    Returns
    -------
    (N,) in [-1, 1], higher means that the method finds the layer that matters.
    """
    top = scores == scores.max(-1, keepdims=True)
    mean: Floats = (effects * top).sum(-1) / top.sum(-1)
    return mean


def controls(count: int, layers: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Scores (count, layers) that know nothing: every table of methods stands beside them.

    ``uniform`` gives every layer the same (its Spearman is undefined), ``random`` draws from ``rng``, ``last_layer``
    believes that only the deepest layer counts.
    """
    last = np.zeros((count, layers))
    last[:, -1] = 1
    return {"uniform": np.ones((count, layers)), "random": rng.random((count, layers)), "last_layer": last}
