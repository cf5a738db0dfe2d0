"""Output heads: L hidden states in, class logits out.

All four split exactly over depth, ``logits = bias + sum_i term_i``, so "what did layer i add to class c" has an answer
without gradients, and "what if layer i were taken away" one without another pass through the backbone. The softmax does
not notice when every class's weights move by the same vector; :meth:`Head.centre` chooses the one choice of that vector
for which a term says what speaks for a class *compared with the average class*.

Letters: B images, L layers, K classes, d_i the width of hidden state i, D the common width after the adapters.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, get_args

import torch
from torch import Tensor, nn

from laya.errors import LayaError, check_width, shown, unknown

Removal = Literal["zero-term", "renormalise", "zero-state"]
REMOVALS: tuple[Removal, ...] = get_args(Removal)


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
    scaled : divide every unit of every h_i by its standard deviation over the training set, which :meth:`look_at` must
        be shown; for frozen backbones, whose units differ in scale. Zero stays zero, and the split over depth exact.
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

    def look_at(self, hidden: Sequence[Tensor]) -> None:
        """Learn what can be learnt from the training images' hidden states h_i (N, d_i) before the training."""
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


class _WeightedHead(Head):
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


class LayaHead(_WeightedHead):
    """Layer-wise Attention Aggregator: input-conditioned attention over all layers.

    ``z_i = g_i(h_i)``, ``alpha = softmax(MLP([psi(z_1), ..., psi(z_L)]) / tau)``, ``logits = W sum_i alpha_i z_i + b``.

    Parameters
    ----------
    widths, classes, dim, tau, norm, layer_dropout, dropout, scaled : see :class:`Head` and :class:`_WeightedHead`.
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


class ScalarMixHead(_WeightedHead):
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


HEADS: dict[str, type[Head]] = {head.name: head for head in (LayaHead, LastLayerHead, ConcatHead, ScalarMixHead)}


def build_head(name: str, widths: Sequence[int], classes: int, options: dict[str, Any]) -> Head:
    """Build a head from its registered name.

    Raises
    ------
    LayaError
        The name is not registered, or the options do not fit the constructor.
    """
    if name not in HEADS:
        raise unknown("head", name, HEADS)
    try:
        return HEADS[name](widths, classes, **options)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise LayaError(f"The options {shown(sorted(options))} do not fit the head {name!r}.") from error


def _weights(tensor: Tensor | None) -> Tensor:
    if tensor is None:
        raise TypeError("the output is not that of a head with layer weights")
    return tensor


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
