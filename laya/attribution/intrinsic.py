"""What the model itself says about its layers, without a backward pass."""

import torch
from torch import Tensor

from laya.attribution.method import Settings
from laya.attribution.target import check_target
from laya.errors import LayaError
from laya.model import LayaClassifier, Trace


def alpha(model: LayaClassifier, trace: Trace, target: Tensor, settings: Settings) -> Tensor:
    """The layer weights (B, L): positive, each row sums to 1; the same for every target class.

    Raises
    ------
    LayaError
        The head has no layer weights.

    References
    ----------
    G. Vessio, arXiv 2511.12723.
    """
    if trace.alpha is None:
        raise LayaError(f"The head {model.head.name!r} has no layer weights.")
    return trace.alpha


def contribution(model: LayaClassifier, trace: Trace, target: Tensor, settings: Settings) -> Tensor:
    """What each layer adds to the target's logit (B, L), signed: alpha_i * (W_c . z_i).

    Exact: the head's bias for the class plus the row's sum is the logit.

    Raises
    ------
    LayaError
        The target is no class.
    """
    check_target(target, model.head.classes, len(trace.logits))
    with torch.no_grad():
        terms = model.head.terms(trace.head)
    return terms.gather(-1, target.view(-1, 1, 1).expand(-1, terms.shape[1], 1)).squeeze(-1)
