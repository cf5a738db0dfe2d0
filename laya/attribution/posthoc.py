"""Gradient methods from Captum at the hidden states, through the head (the direct effect of a layer)."""

from collections.abc import Callable

import torch
from captum.attr import InputXGradient, IntegratedGradients
from torch import Tensor

from laya.attribution.method import Settings
from laya.attribution.target import check_target
from laya.model import LayaClassifier, Trace

ROWS = 4096  # most rows that go through the head at once, so that memory does not grow with steps or images


def integrated_gradients(model: LayaClassifier, trace: Trace, target: Tensor, settings: Settings) -> Tensor:
    """Captum's Integrated Gradients over the tuple (h_1..h_L), baseline 0, summed over each state: (B, L), signed.

    Complete up to the integration error: a row sums to the target's logit minus the logit when every h_i is 0.

    Raises
    ------
    LayaError
        The target is no class.

    References
    ----------
    Sundararajan, Taly, Yan, "Axiomatic Attribution for Deep Networks", ICML 2017.
    """
    check_target(target, model.head.classes, len(trace.logits))
    method = IntegratedGradients(_from_joined(model, trace), multiply_by_inputs=True)
    attributions = method.attribute(
        _joined(trace), target=target, n_steps=settings.steps, internal_batch_size=max(ROWS, len(target))
    )
    return _summed(model, attributions)


def grad_cam(model: LayaClassifier, trace: Trace, target: Tensor, settings: Settings) -> Tensor:
    """Grad-CAM at each hidden state: ReLU of the sum over d_i of gradient times activation, (B, L), never negative.

    A hidden state has no place left (it is pooled), so the gradient's spatial mean in the paper is the gradient itself.

    Raises
    ------
    LayaError
        The target is no class.

    References
    ----------
    Selvaraju et al., "Grad-CAM", ICCV 2017, equations 1 and 2.
    """
    check_target(target, model.head.classes, len(trace.logits))
    method = InputXGradient(_from_joined(model, trace))
    return _summed(model, method.attribute(_joined(trace), target=target)).relu()


def baseline_logits(model: LayaClassifier, trace: Trace) -> Tensor:
    """The logits (B, K) when every hidden state is 0: the start of Integrated Gradients' path."""
    logits: Tensor = model.head([torch.zeros_like(h) for h in trace.hidden], tau=trace.head.tau).logits
    return logits


# Captum gets the hidden states side by side as one tensor: it works on each tensor that it is given step by step in
# Python, which for a deep backbone takes longer than the head itself.


def _joined(trace: Trace) -> Tensor:
    """(B, d_1 + ... + d_L); a new tensor, so that Captum's gradient flags never reach the trace, which others share."""
    return torch.cat([h.detach() for h in trace.hidden], dim=1).requires_grad_()


def _from_joined(model: LayaClassifier, trace: Trace) -> Callable[[Tensor], Tensor]:
    def logits(joined: Tensor) -> Tensor:
        hidden = torch.split(joined, list(model.head.widths), dim=1)
        found: Tensor = model.head(hidden, tau=trace.head.tau).logits
        return found

    return logits


def _summed(model: LayaClassifier, attributions: Tensor) -> Tensor:
    parts = torch.split(attributions.detach(), list(model.head.widths), dim=1)
    return torch.stack([part.sum(-1) for part in parts], dim=-1)
