"""The classifier: a backbone, a head, and the trace that one forward pass leaves behind.

Letters used in every shape: B images, C channels, H x W pixels, L layers, d_i the width of hidden state i,
D the common width after the adapters, K classes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from laya.backbones import Backbone
from laya.device import within_memory
from laya.errors import LayaError
from laya.heads import Head, HeadOutput


@dataclass(frozen=True)
class Trace:
    """Everything that one forward pass produced; every explanation is worked out from it.

    Attributes
    ----------
    activations : L raw activations A_i as the backbone gave them; none where only the hidden states were kept.
    hidden : L pooled hidden states h_i, each (B, d_i).
    head : the head's output: logits (B, K), z_i, layer scores and alpha (B, L).
    """

    activations: tuple[Tensor, ...]
    hidden: tuple[Tensor, ...]
    head: HeadOutput

    @property
    def logits(self) -> Tensor:
        """(B, K)."""
        return self.head.logits

    @property
    def probabilities(self) -> Tensor:
        """(B, K), rows summing to 1."""
        return self.head.logits.softmax(-1)

    @property
    def alpha(self) -> Tensor | None:
        """(B, L), or None for a head without layer weights."""
        return self.head.alpha


class LayaClassifier(nn.Module):
    """A backbone whose every layer feeds one head.

    Raises
    ------
    LayaError
        The head was built for other layers than the backbone has.
    """

    backbone: Backbone
    head: Head

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        if backbone.widths != head.widths:
            raise LayaError(
                f"The head expects layers of widths {head.widths}, but the backbone gives {backbone.widths}."
            )
        self.backbone = backbone
        self.head = head

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the L layers, shallow to deep."""
        return self.backbone.layers

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, C, H, W) to logits (B, K)."""
        return self.read(self.hidden_states(x)).logits

    def hidden_states(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images (B, C, H, W) to the L pooled hidden states, each (B, d_i)."""
        return tuple(self.backbone.pool(activation) for activation in self.backbone(x))

    def read(self, hidden: Sequence[Tensor], *, tau: float | None = None) -> HeadOutput:
        """L hidden states (B, d_i) to the head's output."""
        output: HeadOutput = self.head(hidden, tau=tau)
        return output

    @within_memory()
    def trace(self, x: Tensor, *, tau: float | None = None) -> Trace:
        """One forward pass in evaluation mode, without gradients, that keeps what it produced.

        Parameters
        ----------
        x : images (B, C, H, W), preprocessed.
        tau : softmax temperature of the layer weights; None is the head's own.
        """
        with evaluating(self), torch.no_grad():
            activations = self.backbone(x)
            hidden = tuple(self.backbone.pool(activation) for activation in activations)
            return Trace(activations, hidden, self.read(hidden, tau=tau))

    @within_memory()
    def trace_of(self, hidden: Sequence[Tensor], *, tau: float | None = None) -> Trace:
        """A trace from hidden states (B, d_i) that were computed earlier; it has no activations."""
        with evaluating(self), torch.no_grad():
            return Trace((), tuple(hidden), self.read(hidden, tau=tau))

    @within_memory()
    def at_temperature(self, trace: Trace, tau: float) -> Trace:
        """The same hidden states read out at another temperature; the backbone does not run again."""
        with evaluating(self), torch.no_grad():
            return replace(trace, head=self.read(trace.hidden, tau=tau))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put every sub-module into evaluation mode, and put back afterwards exactly those that were training.

    A model that already evaluates is not touched, so threads that share one do not disturb each other.
    """
    training = [module for module in model.modules() if module.training]
    try:
        for module in training:
            module.training = False
        yield
    finally:
        for module in training:
            module.training = True
