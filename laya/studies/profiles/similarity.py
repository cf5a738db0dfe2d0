"""How alike two profiles are, how deep one is, and an order by either."""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import jensenshannon, squareform


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
