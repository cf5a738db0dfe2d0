"""Heads with one weight a layer."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from laya.errors import check_width
from laya.heads.base import Head, HeadOutput, check_share, check_tau
from laya.heads.removal import Removal


class WeightedHead(Head):
    """Adapters z_i = g_i(h_i), one weight a layer, a linear classifier on the weighted sum.

    Parameters
    ----------
    widths, classes, dropout, scaled : see :class:`Head`.
    dim : D, the common width of the adapters' outputs.
    tau : softmax temperature; larger is flatter.
    norm : put one LayerNorm, shared by the layers, on every z_i, so that no layer is loud by its scale alone. The
        split over depth stays exact.
    layer_dropout : probability, in [0, 1), of leaving a layer out of an image's sum while training (the others share
        its weight), so that no layer can do all the work; at least one layer always stays.

    Raises
    ------
    LayaError
        A parameter out of its range.
    """

    attends = True

    def __init__(
        self,
        widths: Sequence[int],
        classes: int,
        *,
        dim: int = 96,
        tau: float = 1.0,
        norm: bool = False,
        layer_dropout: float = 0.0,
        dropout: float = 0.0,
        scaled: bool = False,
    ) -> None:
        super().__init__(widths, classes, dropout=dropout, scaled=scaled)
        check_width(dim, "the adapters' width")
        self.tau = check_tau(tau)
        self.layer_dropout = check_share(layer_dropout, "layer_dropout")
        self.options |= {"dim": dim, "tau": tau, "norm": norm, "layer_dropout": layer_dropout}
        self.adapters = nn.ModuleList(nn.Linear(width, dim) for width in widths)
        self.norm = nn.LayerNorm(dim) if norm else nn.Identity()
        self.classifier = nn.Linear(dim, classes)

    @abstractmethod
    def score(self, z: Tensor) -> Tensor:
        """Adapted states (..., L, D) to one score a layer (..., L), before division by tau."""

    def adapt(self, hidden: Sequence[Tensor]) -> Tensor:
        """Hidden states h_i (B, d_i) to z (B, L, D)."""
        adapted: Tensor = self.dropout(self.norm(self._linear(hidden)))
        return adapted

    def _linear(self, hidden: Sequence[Tensor]) -> Tensor:
        """The adapters alone, before what follows them: (B, L, D)."""
        z = [adapter(self.scale(i, h)) for i, (adapter, h) in enumerate(zip(self.adapters, hidden, strict=True))]
        return torch.stack(z, dim=-2)

    def forward(self, hidden: Sequence[Tensor], *, tau: float | None = None) -> HeadOutput:
        """Read h_i (B, d_i) out by attention over the layers."""
        tau = self.tau if tau is None else check_tau(tau)
        z = self.adapt(hidden)
        scores = self.score(z) / tau
        if self.training and self.layer_dropout:
            draw = torch.rand_like(scores)
            left_out = (draw < self.layer_dropout) & (draw < draw.amax(-1, keepdim=True))
            scores = scores.masked_fill(left_out, -torch.inf)
        alpha = scores.softmax(-1)
        return HeadOutput(self._classify(alpha, z), z.unbind(-2), scores, alpha, tau)

    def _classify(self, alpha: Tensor, z: Tensor) -> Tensor:
        logits: Tensor = self.classifier((alpha.unsqueeze(-1) * z).sum(-2))
        return logits

    def terms(self, output: HeadOutput) -> Tensor:
        """alpha_i W z_i, (B, L, K)."""
        return _weights(output.alpha).unsqueeze(-1) * self.votes(output)

    def slopes(self, output: HeadOutput, hidden: Sequence[Tensor], target: Tensor) -> list[Tensor]:
        """See :meth:`Head.slopes`: ``alpha_i W_c g_i``, through the LayerNorm at its scale for this image."""
        rows = _weights(output.alpha).unsqueeze(-1) * self.classifier.weight[target].unsqueeze(1)  # (B, L, D)
        if isinstance(self.norm, nn.LayerNorm):
            spread = (self._linear(hidden).var(-1, keepdim=True, correction=0) + self.norm.eps).sqrt()
            rows = rows * self.norm.weight / spread
            rows = rows - rows.mean(-1, keepdim=True)
        return [
            self.scale(i, row @ cast(Tensor, adapter.weight))
            for i, (adapter, row) in enumerate(zip(self.adapters, rows.unbind(1), strict=True))
        ]

    def votes(self, output: HeadOutput) -> Tensor:
        """W z_i, (B, L, K)."""
        return torch.stack(output.values, dim=-2) @ self.classifier.weight.T

    def without(self, output: HeadOutput, removed: Tensor, mode: Removal) -> Tensor:
        """See :meth:`Head.without`; layer weights make all three meanings possible."""
        if mode == "renormalise":
            scores = _weights(output.scores).masked_fill(removed, -torch.inf)
            # When every layer is gone nothing is left to share the weight: only the bias speaks.
            alpha = torch.where(removed.all(-1, keepdim=True), 0.0, scores.softmax(-1))
            return (alpha.unsqueeze(-1) * self.votes(output)).sum(-2) + self.bias
        if mode == "zero-state":
            z = torch.stack(output.values, dim=-2)
            empty = self.adapt([z.new_zeros(1, width) for width in self.widths])
            z = torch.where(removed.unsqueeze(-1), empty, z)
            return self._classify((self.score(z) / output.tau).softmax(-1), z)
        return super().without(output, removed, mode)


def _weights(tensor: Tensor | None) -> Tensor:
    if tensor is None:
        raise TypeError("the output is not that of a head with layer weights")
    return tensor
