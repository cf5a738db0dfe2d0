"""What every head answers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from laya.errors import LayaError, check_width, shown, unknown
from laya.heads.removal import REMOVALS, Removal


@dataclass(frozen=True)
class HeadOutput:
    """What one pass through a head produced.

    Attributes
    ----------
    logits : (B, K).
    values : L tensors (B, D) for the attending heads (z_i), or (B, d_i) for the others (h_i itself, scaled).
    scores : (B, L), the logits of the layer weights, already divided by tau; None for a head without layer weights.
    alpha : (B, L), the layer weights, positive and summing to 1; None for a head without layer weights.
    tau : the softmax temperature that was used.
    """

    logits: Tensor
    values: tuple[Tensor, ...]
    scores: Tensor | None
    alpha: Tensor | None
    tau: float


class Head(nn.Module, ABC):
    """What every head answers. ``options`` rebuilds it, together with ``widths`` and ``classes``.

    ``attends`` tells whether the head has layer weights alpha; every head ends in a linear ``classifier``.

    Parameters
    ----------
    widths : d_1..d_L.
    classes : K.
    dropout : probability of dropping a unit of what is classified while training, in [0, 1).
    scaled : divide every unit of every h_i by its standard deviation over the training set, which :meth:`fit_scale`
        must be shown; for frozen backbones, whose units differ in scale. Zero stays zero, and the split over depth
        exact.
    """

    name: ClassVar[str]
    attends: ClassVar[bool] = False
    tau: float = 1.0
    classifier: nn.Linear

    def __init__(self, widths: Sequence[int], classes: int, *, dropout: float = 0.0, scaled: bool = False) -> None:
        super().__init__()
        if not widths or classes < 2:
            raise LayaError("A head needs at least one layer and at least 2 classes.")
        for width in widths:
            check_width(width, "a layer's width")
        self.widths = tuple(widths)
        self.classes = classes
        self.options: dict[str, Any] = {"dropout": check_share(dropout, "dropout"), "scaled": bool(scaled)}
        self.dropout = nn.Dropout(dropout)
        self.scaled = bool(scaled)
        if scaled:
            for i, width in enumerate(widths):
                self.register_buffer(f"scale_{i}", torch.ones(width))

    def fit_scale(self, hidden: Sequence[Tensor]) -> None:
        """Take the units' scale from the training images' hidden states h_i (N, d_i), before the training."""
        if self.scaled:
            for i, h in enumerate(hidden):
                self.get_buffer(f"scale_{i}").copy_(h.std(0).clamp_min(1e-5))

    def scale(self, i: int, values: Tensor) -> Tensor:
        """Values (..., d_i) divided by the scale of layer i's units."""
        return values / self.get_buffer(f"scale_{i}") if self.scaled else values

    def centre(self) -> None:
        """Move every class's weights and bias by the same amount, so that their mean over the classes is 0.

        No probability changes, and the weights' norm is the smallest among all that give the same probabilities.
        """
        with torch.no_grad():
            self.classifier.weight.sub_(self.classifier.weight.mean(0))
            self.classifier.bias.sub_(self.classifier.bias.mean())

    @property
    def bias(self) -> Tensor:
        """The part of the logits (K,) that no layer contributes."""
        return self.classifier.bias

    @abstractmethod
    def forward(self, hidden: Sequence[Tensor], *, tau: float | None = None) -> HeadOutput:
        """Read hidden states h_i (B, d_i) out; ``tau`` replaces the head's own temperature for this call."""

    @abstractmethod
    def terms(self, output: HeadOutput) -> Tensor:
        """What each layer adds to each logit: (B, L, K), with ``logits = bias + terms.sum(1)`` exactly."""

    def votes(self, output: HeadOutput) -> Tensor:
        """What each layer says before it is weighted, (B, L, K): its term, where there are no weights."""
        return self.terms(output)

    @abstractmethod
    def slopes(self, output: HeadOutput, hidden: Sequence[Tensor], target: Tensor) -> list[Tensor]:
        """How the target's logit depends on each hidden state: L vectors u_i (B, d_i).

        Layer i's term is ``u_i . h_i`` plus what does not depend on h_i, once the layer weights (and the scale of a
        LayerNorm on z_i) are taken as they are for this image. So a term splits exactly over whatever h_i is a sum of.

        Parameters
        ----------
        output : this head's output for ``hidden``.
        hidden : h_i (B, d_i).
        target : class indices (B,).
        """

    def without(self, output: HeadOutput, removed: Tensor, mode: Removal) -> Tensor:
        """The logits when some layers are taken away, without another pass through the backbone.

        Parameters
        ----------
        output : this head's output for B images.
        removed : bool (..., B, L), True where a layer is taken away; leading dimensions are alternatives.
        mode : ``zero-term`` drops the layer's term and keeps the other weights, ``renormalise`` shares its weight out
            among the others, ``zero-state`` sets h_i to 0 and runs the head again.

        Returns
        -------
        Tensor (..., B, K).

        Raises
        ------
        LayaError
            The head has no layer weights to renormalise, or the mode does not exist.
        """
        if mode == "renormalise":
            raise LayaError(
                f"The head {self.name!r} has no layer weights to renormalise; choose zero-term or zero-state."
            )
        if mode not in REMOVALS:
            raise unknown("meaning of removal", mode, REMOVALS)
        # Without layer weights a layer's term is linear in h_i, so dropping the term and zeroing h_i are the same.
        return output.logits - (self.terms(output) * removed.unsqueeze(-1)).sum(-2)


def check_share(value: float, what: str) -> float:
    """The number itself, if it is a usable probability of leaving something out.

    Raises
    ------
    LayaError
        Not a number in [0, 1).
    """
    if not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise LayaError(f"{what} must be a number in [0, 1), not {shown(value)}.")
    return float(value)


def check_tau(tau: float) -> float:
    """The temperature itself, if it is usable.

    Raises
    ------
    LayaError
        Not a number from 0.001 to 1,000,000.
    """
    if not isinstance(tau, (int, float)) or not 1e-3 <= tau <= 1e6:
        raise LayaError(f"The temperature tau must be a number from 0.001 to 1000000, not {shown(tau)}.")
    return float(tau)
