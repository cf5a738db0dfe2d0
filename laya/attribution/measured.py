"""What really happens to the prediction when a layer is taken away."""

import torch
from torch import Tensor

from laya.attribution.method import Settings
from laya.attribution.target import check_target
from laya.model import LayaClassifier, Trace


def leave_one_out(model: LayaClassifier, trace: Trace, target: Tensor, settings: Settings) -> Tensor:
    """The drop of the target's probability when each layer alone is removed: (B, L), in [-1, 1].

    Positive: the layer supports the target. ``settings.removal`` says what removing means; the backbone does not run.

    Raises
    ------
    LayaError
        The target is no class.
    """
    check_target(target, model.head.classes, len(trace.logits))
    count = len(model.layers)
    alone = torch.eye(count, dtype=torch.bool, device=trace.logits.device).unsqueeze(1)
    with torch.no_grad():
        logits = model.head.without(trace.head, alone.expand(count, len(target), count), settings.removal)
    chosen = target.view(1, -1, 1)
    # Double precision: a saturated softmax would otherwise round different effects to the same one.
    kept = trace.logits.double().softmax(-1).unsqueeze(0).gather(-1, chosen)
    left = logits.double().softmax(-1).gather(-1, chosen.expand(count, -1, 1))
    return (kept - left).squeeze(-1).T
