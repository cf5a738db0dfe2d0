"""Where in the picture, at each depth: maps over places."""

from dataclasses import dataclass

import torch
from torch import Tensor

from laya.attribution.target import check_target
from laya.model import LayaClassifier, Trace, evaluating

# Why a layer has no map, or one that is 0 at every place.
VECTOR = "The network reads the picture as one long vector here, so its layers have no places in it."
NO_PATCHES = "The head reads the class token of this layer alone, which has no place in the picture."
UNPLACED = "Where this layer's tokens lie in the picture is not known."
UNREAD = (
    "The head does not read this layer for this class, so no place of it adds anything to the logit; what it passes on "
    "to later layers is among the total effects."
)
SILENT = "This layer's values add nothing to the logit at any place of this picture."


@dataclass(frozen=True)
class ContributionMap:
    """One layer's contribution to the target's logit, split over the places of the picture.

    Attributes
    ----------
    values : (B, H_i, W_i), signed, in logits; None where the layer has no places (a vector, a class token alone).
    placeless : (B,), the part of the contribution that no place makes: the class token's, and constants of the head.
    empty : why there is nothing to see, in one sentence, where ``values`` is None or 0 at every place; else None.
    """

    values: Tensor | None
    placeless: Tensor
    empty: str | None = None


def contribution_maps(
    model: LayaClassifier, trace: Trace, target: Tensor, size: tuple[int, int]
) -> tuple[ContributionMap, ...]:
    """The exact depth-by-place split of the target's logit, without gradients.

    ``contribution_i(c) = sum_p alpha_i / P * W_c . g_i(A_i[p])`` for hidden states that are means over places; a
    LayerNorm on z_i is taken at its scale for this image. For each layer the map's sum plus ``placeless`` is the
    contribution; over all layers, with the bias, the logit.

    Parameters
    ----------
    trace : with its activations.
    target : class indices (B,).
    size : height and width of the pictures that went in, in pixels.

    Raises
    ------
    LayaError
        The target is no class.
    """
    check_target(target, model.head.classes, len(trace.logits))
    with evaluating(model), torch.no_grad():
        terms = model.head.terms(trace.head)
        own = terms.gather(-1, target.view(-1, 1, 1).expand(-1, terms.shape[1], 1)).squeeze(-1)
        slopes = model.head.slopes(trace.head, trace.hidden, target)
        maps = []
        for i, (activation, slope) in enumerate(zip(trace.activations, slopes, strict=True)):
            places = model.backbone.places(activation, size)
            if places is None:
                maps.append(ContributionMap(None, own[:, i], _placeless(model, activation, size)))
                continue
            mean = slope[:, -places.shape[1] :].unsqueeze(1) / places[0, 0].numel()
            values = (mean @ places.flatten(2)).reshape(len(places), *places.shape[2:])
            empty = None if values.any() else SILENT if mean.any() else UNREAD
            maps.append(ContributionMap(values, own[:, i] - values.sum((1, 2)), empty))
    return tuple(maps)


def _placeless(model: LayaClassifier, activation: Tensor, size: tuple[int, int]) -> str:
    """Why no place of a layer gives anything to its hidden state."""
    if activation.dim() == 2:
        return VECTOR
    return UNPLACED if model.backbone.feature_map(activation, size) is None else NO_PATCHES
