"""An explanation in one or two sentences: which layer speaks, by the first method that can be believed."""

import re
from collections.abc import Sequence

import numpy as np

from laya.checkpoints import Card
from laya.explanation.faithfulness import verdict
from laya.scores import LayerScores

EVEN = 0.99  # of all layers: scores that use so many, by their perplexity, tell none apart
SLIGHT = 0.005  # half a point of confidence: an effect below it decides nothing
NAMED = 3  # so many layers are named one by one; more are counted
SHORT = 20  # most characters of a layer's own name in a sentence


def headline(
    layers: Sequence[str], scores: Sequence[LayerScores], effect: Sequence[float], target: str, card: Card | None
) -> str:
    """Where the weight lies, and whether that layer really matters.

    The model's own word comes first: its attention, or else its contribution. One is passed over where the card calls
    it not faithful, or where it is spread evenly; where both are, the measured effects speak alone.

    Parameters
    ----------
    layers : L names, shallow to deep.
    scores : the methods, in the order in which the intrinsic ones may lead.
    effect : L measured effects on the target's probability.
    target : the explained class.
    card : what is known of the methods over many images; None: nothing is said about trust.
    """
    lead, doubts = None, []
    for each in scores:
        if each.family == "intrinsic":
            doubt = _doubt(each, card)
            if doubt is None:
                lead = each
                break
            doubts.append(doubt)
    before = ", and ".join(doubts)
    opening, named = (before, []) if lead is None else _opening(layers, lead, target, before)
    one = named[0] if len(named) == 1 else None
    if one is not None and not doubts:
        opening += f"; removing it {_cost([effect[one]])} in “{target}”"
    most = [i for i in leaders([abs(each) for each in effect]) if abs(effect[i]) >= SLIGHT]
    if not most:
        closing = " No single layer is decisive here: whichever is removed, the others carry the decision."
    elif one not in most:
        names = _names(layers, most, "or", first=not named)
        closing = f" Removing {names} matters most: it {_cost([effect[i] for i in most])}"
        closing += "." if f"“{target}”" in opening else f" in “{target}”."
    else:
        closing = f" Removing it {_cost([effect[one]])}." if doubts else ""
    return f"{opening[0].upper()}{opening[1:]}.{closing}"


def noun(scores: LayerScores) -> str:
    """What sentences call an intrinsic method."""
    return "attention" if scores.method == "alpha" else "contribution"


def is_even(shares: Sequence[float]) -> bool:
    """Whether shares (L,) tell no layer apart: all above 0, and as good as equal.

    Their perplexity, exp of the Shannon entropy, is the number of layers that they use, from 1 to L. From 99 % of L on
    they are even: up to 57 : 43 for two layers; where one layer stands out from equal others, up to 40 % of three, 31 %
    of four, 12 % of twelve. A single layer is never even.
    """
    from scipy.stats import entropy  # here, because it takes long

    if len(shares) < 2 or min(shares) <= 0:
        return False
    return bool(np.exp(entropy(shares)) >= EVEN * len(shares))


def leaders(values: Sequence[float]) -> list[int]:
    """The layers with the highest value and those that are tied with it, shallow to deep; none without values above 0.

    A tie: as rounded percentages, which is how a person reads them, the two are at most one apart.
    """
    least = max(map(_points, values)) - 1
    return [i for i, value in enumerate(values) if value > 0 and _points(value) >= least]


def _doubt(scores: LayerScores, card: Card | None) -> str | None:
    """Why a method is passed over; None where it is not."""
    known = None if card is None else card.faithfulness.get(scores.method)
    if card is not None and known is not None and verdict(known) == "not faithful":
        return (
            f"this model’s {noun(scores)} is no guide to its decision (faithfulness {known.mean:.2f} on {card.images})"
        )
    if is_even(scores.shares):
        return f"the {noun(scores)} is spread evenly and tells no layer apart"
    return None


def _opening(layers: Sequence[str], lead: LayerScores, target: str, doubts: str) -> tuple[str, list[int]]:
    """What a method says, after the doubts about the one before it, without a full stop; and the layers it names."""
    supporting = leaders(lead.shares)
    named = supporting or leaders([-share for share in lead.shares])
    if not named:
        return f"{f'{doubts}, and ' if doubts else ''}no layer speaks for “{target}” or against it", []
    many = len(named) > 1
    names = _names(layers, named, "and", first=True)
    if supporting and not doubts:
        what = "attention" if lead.method == "alpha" else "evidence"
        return (
            f"{names} {'carry' if many else 'carries'} {_amount([lead.shares[i] for i in named])} of the {what}",
            named,
        )
    side = f"for “{target}”" if supporting else f"against “{target}”, and no layer for it"
    by = f"{doubts}; by {f'their {noun(lead)}s' if many else f'its {noun(lead)}'}, " if doubts else ""
    return f"{by}{names} {'speak' if many else 'speaks'} most {side}", named


def _names(layers: Sequence[str], chosen: Sequence[int], conjunction: str, *, first: bool) -> str:
    """Layers as a sentence names them; where one is named ``first``, with the number of all."""
    if len(chosen) > NAMED:
        return f"any of {len(chosen)} layers" if conjunction == "or" else f"{len(chosen)} of {len(layers)} layers"
    of = f" of {len(layers)}" if first and len(chosen) == 1 else ""
    *others, last = (_name(layers[i], i + 1, of) for i in chosen)
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def _name(layer: str, number: int, of: str) -> str:
    """A layer by its number and, where that is short, its own name; the name alone where it ends with the number."""
    own = re.sub(r" of \d+$", "", layer.partition(",")[0])  # "block 7 of 12"; "stage 3, 384 channels"
    if not 0 < len(own) <= SHORT:
        return f"layer {number}{of}"
    return f"{own}{of}" if own.endswith(f" {number}") else f"layer {number}{of} ({own})"


def _amount(shares: Sequence[float]) -> str:
    """The shares of the layers that lead, in words that do not claim all where it is only rounding."""
    if len(shares) > NAMED:
        return f"{min(map(_points, shares))}% to {max(map(_points, shares))}% each"
    *others, last = ("over 99%" if 0.995 <= share < 1 else f"{_points(share)}%" for share in shares)
    return f"{', '.join(others)} and {last}" if others else last


def _cost(effects: Sequence[float]) -> str:
    """What removing a layer does to the confidence; more than one effect where layers are tied."""
    parts = []
    for verb, those in (
        ("costs", [each for each in effects if each > 0]),
        ("adds", [each for each in effects if each < 0]),
    ):
        points = sorted({max(1, _points(abs(each))) for each in those if abs(each) >= SLIGHT}, reverse=True)
        if points:
            parts.append(f"{verb} {' or '.join(map(str, points))} point{'' if points == [1] else 's'}")
    return f"{' or '.join(parts)} of confidence" if parts else "changes less than half a point of confidence"


def _points(share: float) -> int:
    return round(100 * share)
