"""Output heads: L hidden states in, class logits out.

All four split exactly over depth, ``logits = bias + sum_i term_i``, so "what did layer i add to class c" has an answer
without gradients, and "what if layer i were taken away" one without another pass through the backbone. The softmax does
not notice when every class's weights move by the same vector; :meth:`Head.centre` chooses the one choice of that vector
for which a term says what speaks for a class *compared with the average class*.

Letters: B images, L layers, K classes, d_i the width of hidden state i, D the common width after the adapters.
"""

from collections.abc import Sequence
from typing import Any

from laya.errors import LayaError, shown, unknown
from laya.heads.base import Head, HeadOutput, check_tau
from laya.heads.baselines import ConcatHead, LastLayerHead, ScalarMixHead
from laya.heads.laya import LayaHead
from laya.heads.removal import REMOVALS, Removal

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


__all__ = [
    "HEADS",
    "REMOVALS",
    "ConcatHead",
    "Head",
    "HeadOutput",
    "LastLayerHead",
    "LayaHead",
    "Removal",
    "ScalarMixHead",
    "build_head",
    "check_tau",
]
