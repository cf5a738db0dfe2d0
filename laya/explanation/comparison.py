"""Side by side: methods on one image, one image through two models, two images through one model.

Everything is worked out from traces, without another pass through a backbone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from laya.attribution import Settings
from laya.attribution.spatial import contribution_maps
from laya.checkpoints import Checkpoint
from laya.errors import LayaError, unknown
from laya.explanation.explanation import Explanation, explain_trace, prepare_image, trace_image
from laya.explanation.faithfulness import spearman
from laya.heads import REMOVALS, Removal
from laya.model import LayaClassifier, Trace, evaluating
from laya.scores import LayerScores

ORDERS = 200  # random orders behind the band of a curve


@dataclass(frozen=True)
class Agreement:
    """How far two methods agree on one image."""

    spearman: float | None  # rank correlation of their layer scores; None where one of them is constant
    top: bool  # whether they rank the same layer first


def agreement(scores: Sequence[LayerScores]) -> dict[tuple[str, str], Agreement]:
    """Every pair of methods, in both orders, as (id, id)."""
    table = {}
    for a in scores:
        for b in scores:
            rank = float(spearman(np.array([a.values]), np.array([b.values]))[0])
            same = int(np.argmax(a.values)) == int(np.argmax(b.values))
            table[a.method, b.method] = Agreement(None if np.isnan(rank) else rank, same)
    return table


@dataclass(frozen=True)
class Curve:
    """The target's probability as layers go or come, k = 0..L."""

    deletion: tuple[float, ...]  # without the k layers that are ranked first
    insertion: tuple[float, ...]  # with the k layers that are ranked first alone


@dataclass(frozen=True)
class Band:
    """The same for random orders: mean, and the middle 90 %, at every k."""

    deletion: tuple[tuple[float, float, float], ...]  # (low, mean, high)
    insertion: tuple[tuple[float, float, float], ...]


def curves(checkpoint: Checkpoint, trace: Trace, result: Explanation) -> tuple[dict[str, Curve], Band]:
    """Deletion and insertion curves of every method of an explanation, and the band of random orders.

    A method's order is by falling score, ties by depth; "removed" means what the explanation's settings say.

    Parameters
    ----------
    trace : of the explained image (B = 1), at the explanation's temperature.
    result : its explanation.
    """
    model, count = checkpoint.model, len(result.layers)
    columns = [*result.scores, result.measured]
    orders = np.stack([np.argsort(-np.array(scores.values), kind="stable") for scores in columns])
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.permutation(count) for _ in range(ORDERS)])
    values = _along(model, trace, result.target, np.concatenate([orders, drawn]), result.settings.removal)
    own = {scores.method: Curve(*map(tuple, values[:, i].tolist())) for i, scores in enumerate(columns)}
    low, high = np.quantile(values[:, len(columns) :], [0.05, 0.95], axis=1)
    mean = values[:, len(columns) :].mean(1)
    band = [tuple(zip(low[i].tolist(), mean[i].tolist(), high[i].tolist(), strict=True)) for i in range(2)]
    return own, Band(*band)


def _along(model: LayaClassifier, trace: Trace, target: int, orders: np.ndarray, removal: Removal) -> np.ndarray:
    """The target's probability along orders (N, L): (2, N, L + 1), deletion and insertion."""
    count = orders.shape[1]
    place = np.argsort(orders, axis=1)  # (N, L): which turn each layer has
    turns = np.arange(count + 1)[:, None, None]
    gone = torch.from_numpy(np.stack([place < turns, place >= turns]))  # (2, L + 1, N, L)
    return _probability(model, trace, target, gone, removal).transpose(0, 2, 1)


def _probability(model: LayaClassifier, trace: Trace, target: int, gone: Tensor, removal: Removal) -> np.ndarray:
    """The target's probability for sets of removed layers (..., L)."""
    with evaluating(model), torch.no_grad():
        removed = gone.to(trace.logits.device).unsqueeze(-2)  # one image
        logits = model.head.without(trace.head, removed, removal)
        chosen: np.ndarray = logits.double().softmax(-1)[..., 0, target].cpu().numpy()
    return chosen


def under_each_removal(
    checkpoint: Checkpoint, trace: Trace, target: str, settings: Settings
) -> dict[Removal, Explanation]:
    """The same question under every meaning of "removed" that the head knows."""
    known = [removal for removal in REMOVALS if checkpoint.model.head.attends or removal != "renormalise"]
    return {
        removal: explain_trace(checkpoint, trace, target=target, settings=replace(settings, removal=removal))
        for removal in known
    }


def against(checkpoint: Checkpoint, trace: Trace, one: str, other: str) -> tuple[float, ...]:
    """Which layers speak for class ``one`` over class ``other``: L differences of contributions, in logits.

    With the difference of the biases they add up to the difference of the two logits.

    Raises
    ------
    LayaError
        A class is unknown.
    """
    a, b = (_class(checkpoint, name) for name in (one, other))
    with torch.no_grad():
        terms = checkpoint.model.head.terms(trace.head)[0].double()
    return tuple((terms[:, a] - terms[:, b]).tolist())


@dataclass(frozen=True)
class ReadOut:
    """Class probabilities from a part of the depth; rows are layers, columns classes in label order."""

    alone: tuple[tuple[float, ...], ...]  # from layer i alone
    up_to: tuple[tuple[float, ...], ...]  # from layers 1..i together


def read_out(checkpoint: Checkpoint, trace: Trace) -> ReadOut:
    """What the head would say with one layer alone, and with the layers up to a depth.

    A head with layer weights shares the weight of the missing layers out among the others.
    """
    head, count = checkpoint.model.head, len(checkpoint.model.layers)
    removal: Removal = "renormalise" if head.attends else "zero-term"
    alone = ~torch.eye(count, dtype=torch.bool)
    up_to = torch.ones(count, count, dtype=torch.bool).triu(1)
    gone = torch.stack([alone, up_to]).to(trace.logits.device).unsqueeze(-2)  # (2, L, 1, L)
    with evaluating(head), torch.no_grad():
        values = head.without(trace.head, gone, removal).double().softmax(-1)[..., 0, :].tolist()
    return ReadOut(*(tuple(tuple(row) for row in part) for part in values))


def by_hand(checkpoint: Checkpoint, trace: Trace, weights: Sequence[float]) -> tuple[float, ...]:
    """Class probabilities when a person sets the layer weights; they are normalised to sum to 1.

    Raises
    ------
    LayaError
        All weights are 0, one is negative, or there are not as many as layers.
    """
    count = len(checkpoint.model.layers)
    if len(weights) != count or min(weights) < 0 or sum(weights) <= 0:
        raise LayaError(f"Give {count} layer weights at or above 0, at least one of them above 0.")
    head = checkpoint.model.head
    with torch.no_grad():
        share = trace.logits.new_tensor(weights) / sum(weights)
        logits = (share.unsqueeze(-1) * head.votes(trace.head)[0]).sum(0) + head.bias
        return tuple(logits.double().softmax(-1).tolist())


@dataclass(frozen=True)
class Shift:
    """How the depth profile of one image differs from that of another."""

    moved: float  # share of the total that lies on other layers: half the sum of absolute differences, 0 to 1
    depths: tuple[float, float]  # mean relative depth of each, 0 the first layer, 1 the last


def shift(one: Sequence[float], other: Sequence[float]) -> Shift:
    """Compare two distributions over layers (each summing to 1); with different depths, on the relative axis 0..1.

    Where the numbers of layers differ, each layer's weight is spread evenly over its stretch of the axis.
    """
    grid = np.unique(np.concatenate([np.linspace(0, 1, len(side) + 1) for side in (one, other)]))
    cells = []
    for side in (one, other):
        total = np.interp(grid, np.linspace(0, 1, len(side) + 1), np.concatenate([[0.0], np.cumsum(side)]))
        cells.append(np.diff(total))
    moved = float(np.abs(cells[0] - cells[1]).sum() / 2)
    return Shift(moved, (_depth(one), _depth(other)))


def _depth(shares: Sequence[float]) -> float:
    steps = max(len(shares) - 1, 1)
    return sum(i / steps * share for i, share in enumerate(shares)) / sum(shares)


def _class(checkpoint: Checkpoint, name: str) -> int:
    if name not in checkpoint.classes:
        raise unknown("class", name, checkpoint.classes)
    return checkpoint.classes.index(name)


@dataclass(frozen=True)
class LayerMap:
    """Where in the picture one layer's contribution comes from."""

    layer: str
    values: np.ndarray | None  # (H_i, W_i) in logits, signed; None where the layer has no places
    placeless: float  # the rest of the contribution
    empty: str | None = None  # why there is nothing to see, where there are no values or all are 0


def where(checkpoint: Checkpoint, trace: Trace, target: str) -> tuple[LayerMap, ...]:
    """The exact depth-by-place split of the target's logit for one image (B = 1).

    Raises
    ------
    LayaError
        The class is unknown.
    """
    index = torch.tensor([_class(checkpoint, target)], device=trace.logits.device)
    maps = contribution_maps(checkpoint.model, trace, index, checkpoint.preprocessing.size)
    return tuple(
        LayerMap(
            name, None if each.values is None else each.values[0].cpu().numpy(), float(each.placeless[0]), each.empty
        )
        for name, each in zip(checkpoint.model.layers, maps, strict=True)
    )


@dataclass(frozen=True)
class Comparison:
    """All methods on one image, side by side.

    Attributes
    ----------
    explanation : the scores and the measured effects.
    agreement : (method, method) to how far the two agree; ``leave_one_out`` is among them.
    curves : method to its deletion and insertion curves.
    band : the same for random orders.
    removals : the explanation under each meaning of "removed".
    maps : where in the picture each layer's contribution comes from.
    read_out : what the model would say from a part of its depth.
    """

    explanation: Explanation
    agreement: dict[tuple[str, str], Agreement]
    curves: dict[str, Curve]
    band: Band
    removals: dict[Removal, Explanation]
    maps: tuple[LayerMap, ...]
    read_out: ReadOut


def compare(
    checkpoint: Checkpoint,
    image: bytes | str | Path | Image.Image,
    *,
    target: str | None = None,
    settings: Settings | None = None,
    recipe: bool = True,
) -> Comparison:
    """Everything that the page Compare shows about one image, from one pass through the backbone.

    Parameters and errors are those of :func:`laya.explain`.

    Examples
    --------
    >>> checkpoint = laya.load("fashion-mnist-mlp")
    >>> result = laya.compare(checkpoint, "boot.png")
    >>> result.agreement["alpha", "leave_one_out"].spearman
    """
    settings = settings or Settings()
    trace = trace_image(checkpoint, prepare_image(checkpoint, image, recipe=recipe))
    result = explain_trace(checkpoint, trace, target=target, settings=settings)
    if settings.tau is not None:
        trace = checkpoint.model.at_temperature(trace, settings.tau)
    own, band = curves(checkpoint, trace, result)
    return Comparison(
        explanation=result,
        agreement=agreement([*result.scores, result.measured]),
        curves=own,
        band=band,
        removals=under_each_removal(checkpoint, trace, result.target_name, result.settings),
        maps=where(checkpoint, trace, result.target_name),
        read_out=read_out(checkpoint, trace),
    )
