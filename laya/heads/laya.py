"""The Layer-wise Attention Aggregator."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from laya.errors import check_width
from laya.heads.weighted import WeightedHead


class LayaHead(WeightedHead):
    """Layer-wise Attention Aggregator: input-conditioned attention over all layers.

    ``z_i = g_i(h_i)``, ``alpha = softmax(MLP([psi(z_1), ..., psi(z_L)]) / tau)``, ``logits = W sum_i alpha_i z_i + b``.

    Parameters
    ----------
    widths, classes, dim, tau, norm, layer_dropout, dropout, scaled : see :class:`Head` and :class:`WeightedHead`.
    scorer_width : hidden units of the scoring MLP (GELU).
    psi_width : width of a small MLP (Linear, GELU), shared by the layers, in front of the scorer; None is the identity.

    References
    ----------
    G. Vessio, "Layer-wise Attention Aggregator", arXiv 2511.12723.
    """

    name = "laya"

    def __init__(
        self,
        widths: Sequence[int],
        classes: int,
        *,
        scorer_width: int = 192,
        psi_width: int | None = None,
        tau: float = 1.5,
        **options: Any,
    ) -> None:
        super().__init__(widths, classes, tau=tau, **options)
        dim = self.classifier.in_features
        check_width(scorer_width, "the scorer's width")
        if psi_width is not None:
            check_width(psi_width, "psi's width")
        self.options |= {"scorer_width": scorer_width, "psi_width": psi_width}
        self.psi = nn.Identity() if psi_width is None else nn.Sequential(nn.Linear(dim, psi_width), nn.GELU())
        self.scorer = nn.Sequential(
            nn.Linear(len(self.widths) * (psi_width or dim), scorer_width),
            nn.GELU(),
            nn.Linear(scorer_width, len(self.widths)),
        )

    def score(self, z: Tensor) -> Tensor:
        """``MLP([psi(z_1), ..., psi(z_L)])``."""
        scores: Tensor = self.scorer(self.psi(z).flatten(-2))
        return scores
