"""The heads that LAYA is compared with: LastLayer, Concat, ScalarMix."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from laya.heads.base import Head, HeadOutput
from laya.heads.weighted import WeightedHead


class ScalarMixHead(WeightedHead):
    """One global softmax weight a layer, the same for every image; otherwise as LAYA.

    References
    ----------
    Peters et al., "Deep contextualized word representations", NAACL 2018, section 3.2 (the scalar mix of ELMo).
    """

    name = "scalar_mix"

    def __init__(self, widths: Sequence[int], classes: int, **options: Any) -> None:
        super().__init__(widths, classes, **options)
        self.weights = nn.Parameter(torch.zeros(len(self.widths)))

    def score(self, z: Tensor) -> Tensor:
        """The L parameters, whatever the input."""
        return self.weights.expand(z.shape[:-1])


class ConcatHead(Head):
    """A linear classifier on the concatenation of all hidden states."""

    name = "concat"

    def __init__(self, widths: Sequence[int], classes: int, **options: Any) -> None:
        super().__init__(widths, classes, **options)
        self.classifier = nn.Linear(sum(self.widths), classes)

    def forward(self, hidden: Sequence[Tensor], *, tau: float | None = None) -> HeadOutput:  # noqa: ARG002
        """Read h_i (B, d_i) out; there is no temperature, so ``tau`` has no effect."""
        values = tuple(self.scale(i, h) for i, h in enumerate(hidden))
        return HeadOutput(self.classifier(self.dropout(torch.cat(values, dim=-1))), values, None, None, self.tau)

    def slopes(self, output: HeadOutput, hidden: Sequence[Tensor], target: Tensor) -> list[Tensor]:  # noqa: ARG002
        """See :meth:`Head.slopes`: the classifier's block for each layer."""
        blocks = torch.split(self.classifier.weight[target], list(self.widths), dim=1)
        return [self.scale(i, block) for i, block in enumerate(blocks)]

    def terms(self, output: HeadOutput) -> Tensor:
        """The classifier's block for each layer times h_i, (B, L, K)."""
        blocks = torch.split(self.classifier.weight, list(self.widths), dim=1)
        return torch.stack([h @ block.T for h, block in zip(output.values, blocks, strict=True)], dim=-2)


class LastLayerHead(Head):
    """The usual head: a linear classifier on the deepest hidden state alone."""

    name = "last_layer"

    def __init__(self, widths: Sequence[int], classes: int, **options: Any) -> None:
        super().__init__(widths, classes, **options)
        self.classifier = nn.Linear(self.widths[-1], classes)

    def forward(self, hidden: Sequence[Tensor], *, tau: float | None = None) -> HeadOutput:  # noqa: ARG002
        """Read h_L (B, d_L) out; there is no temperature, so ``tau`` has no effect."""
        values = tuple(self.scale(i, h) for i, h in enumerate(hidden))
        return HeadOutput(self.classifier(self.dropout(values[-1])), values, None, None, self.tau)

    def slopes(self, output: HeadOutput, hidden: Sequence[Tensor], target: Tensor) -> list[Tensor]:  # noqa: ARG002
        """See :meth:`Head.slopes`: zero for every layer but the last."""
        last = self.scale(len(hidden) - 1, self.classifier.weight[target])
        return [*(torch.zeros_like(h) for h in hidden[:-1]), last]

    def terms(self, output: HeadOutput) -> Tensor:
        """Zero for every layer but the last, (B, L, K)."""
        last = output.values[-1] @ self.classifier.weight.T
        return torch.stack([torch.zeros_like(last)] * (len(self.widths) - 1) + [last], dim=-2)
