"""Where in the picture, at each depth: maps over places."""

from dataclasses import dataclass

import torch
from torch import Tensor

from laya.model import LayaClassifier, Trace, evaluating


@dataclass(frozen=True)
class ContributionMap:
    """One layer's contribution to the target's logit, split over the places of the picture.

    Attributes
    ----------
    values : (B, H_i, W_i), signed, in logits; None where the layer has no places (a vector, a class token alone).
    placeless : (B,), the part of the contribution that no place makes: the class token's, and constants of the head.
    """

    values: Tensor | None
    placeless: Tensor


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
    """
    with evaluating(model), torch.no_grad():
        terms = model.head.terms(trace.head)
        own = terms.gather(-1, target.view(-1, 1, 1).expand(-1, terms.shape[1], 1)).squeeze(-1)
        slopes = model.head.slopes(trace.head, trace.hidden, target)
        maps = []
        for i, (activation, slope) in enumerate(zip(trace.activations, slopes, strict=True)):
            places = model.backbone.places(activation, size)
            if places is None:
                maps.append(ContributionMap(None, own[:, i]))
                continue
            mean = slope[:, -places.shape[1] :].unsqueeze(1) / places[0, 0].numel()
            values = (mean @ places.flatten(2)).reshape(len(places), *places.shape[2:])
            maps.append(ContributionMap(values, own[:, i] - values.sum((1, 2))))
    return tuple(maps)
