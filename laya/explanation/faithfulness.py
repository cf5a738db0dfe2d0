"""Does a method's ranking of the layers agree with what happens when a layer is removed?

Plain NumPy on scores and measured effects, both (N, L): N images, L layers.
"""

import numpy as np

from laya.intervals import Floats


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
