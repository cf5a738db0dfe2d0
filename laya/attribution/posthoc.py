"""Gradient methods from Captum at the hidden states, through the head (the direct effect of a layer)."""

import torch
from captum.attr import InputXGradient, IntegratedGradients
from torch import Tensor

from laya.attribution.method import Settings
from laya.model import LayaClassifier, Trace

ROWS = 4096  # most rows that go through the head at once, so that memory does not grow with steps or images


def integrated_gradients(model: LayaClassifier, trace: Trace, target: Tensor, settings: Settings) -> Tensor:
    """Captum's Integrated Gradients over the tuple (h_1..h_L), baseline 0, summed over each state: (B, L), signed.

    Complete up to the integration error: a row sums to the target's logit minus the logit when every h_i is 0.

    References
    ----------
    Sundararajan, Taly, Yan, "Axiomatic Attribution for Deep Networks", ICML 2017.
    """
    method = IntegratedGradients(lambda *hidden: _logits(model, hidden, trace.head.tau), multiply_by_inputs=True)
    attributions = method.attribute(
        _inputs(trace), target=target, n_steps=settings.steps, internal_batch_size=max(ROWS, len(target))
    )
    return _summed(attributions)


def grad_cam(model: LayaClassifier, trace: Trace, target: Tensor, settings: Settings) -> Tensor:
    """Grad-CAM at each hidden state: ReLU of the sum over d_i of gradient times activation, (B, L), never negative.

    A hidden state has no place left (it is pooled), so the gradient's spatial mean in the paper is the gradient itself.

    References
    ----------
    Selvaraju et al., "Grad-CAM", ICCV 2017, equations 1 and 2.
    """
    method = InputXGradient(lambda *hidden: _logits(model, hidden, trace.head.tau))
    return _summed(method.attribute(_inputs(trace), target=target)).relu()


def baseline_logits(model: LayaClassifier, trace: Trace) -> Tensor:
    """The logits (B, K) when every hidden state is 0: the start of Integrated Gradients' path."""
    logits: Tensor = model.head([torch.zeros_like(h) for h in trace.hidden], tau=trace.head.tau).logits
    return logits


def _inputs(trace: Trace) -> tuple[Tensor, ...]:
    # Fresh tensor objects on the same storage: Captum's gradient flags never reach the trace, which others may share.
    return tuple(h.detach().requires_grad_() for h in trace.hidden)


def _logits(model: LayaClassifier, hidden: tuple[Tensor, ...], tau: float) -> Tensor:
    # A head may leave a layer out (LastLayer); the zero term keeps every layer in the graph, with gradient 0.
    unused = sum((0 * h).sum(-1, keepdim=True) for h in hidden)
    logits: Tensor = model.head(hidden, tau=tau).logits
    return logits + unused


def _summed(attributions: tuple[Tensor, ...]) -> Tensor:
    return torch.stack([attribution.sum(-1) for attribution in attributions], dim=-1).detach()
