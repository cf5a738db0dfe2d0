"""The headline, by hand: even, tied, distrusted and signed scores in plain words."""

import re

import numpy as np
import pytest

from laya.attribution import ATTRIBUTIONS
from laya.checkpoints import Card
from laya.explanation.headline import headline, is_even, leaders
from laya.intervals import Interval

CNN = ("stem, 24 channels", "stage 1, 96 channels", "stage 2, 288 channels", "stage 3, 384 channels")
LAST = (0.0, -0.25, 0.0, 3.44)  # contributions of which all that is positive comes from the last layer
COSTS = (0.0, -0.04, 0.0, 0.73)


def card(split: str = "test", **means: float) -> Card:
    """Figures with an interval of 0.02 each way."""
    return Card({method: Interval(x, x - 0.02, x + 0.02, 100) for method, x in means.items()}, split)


def say(
    alpha: tuple[float, ...] | None,
    contribution: tuple[float, ...] = LAST,
    effect: tuple[float, ...] = COSTS,
    known: Card | None = None,
    layers: tuple[str, ...] = CNN,
) -> str:
    values = {"alpha": alpha, "contribution": contribution, "grad_cam": tuple(reversed(contribution))}
    scores = [ATTRIBUTIONS[method].scores(each) for method, each in values.items() if each is not None]
    return headline(layers, scores, effect, "cat", known)


# --- even ------------------------------------------------------------------------------------------------------------


def test_two_layers_are_even_up_to_57_to_43():
    # exp(-0.57 ln 0.57 - 0.43 ln 0.43) = exp(0.32041 + 0.36291) = 1.9804, above 0.99 * 2 = 1.98
    assert is_even((0.57, 0.43))
    # exp(-0.58 ln 0.58 - 0.42 ln 0.42) = exp(0.31594 + 0.36435) = 1.9744, below it
    assert not is_even((0.58, 0.42))


def test_even_means_the_same_for_any_number_of_layers():
    for count in range(2, 30):
        assert is_even((1 / count,) * count)
    for count in range(3, 30):  # half of it on one layer
        assert not is_even((0.5, *[0.5 / (count - 1)] * (count - 1)))
    # exp(-0.4 ln 0.4 - 0.6 ln 0.3) = exp(0.36652 + 0.72238) = 2.9710, above 0.99 * 3 = 2.97
    assert is_even((0.4, 0.3, 0.3))
    # exp(-0.41 ln 0.41 - 0.59 ln 0.295) = exp(0.36556 + 0.72026) = 2.9619, below it
    assert not is_even((0.41, 0.295, 0.295))
    # 1/2, 1/4, 1/4: an entropy of 1.5 bits, so 2.83 layers of 3
    assert not is_even((0.5, 0.25, 0.25))


def test_what_is_not_all_evidence_for_the_target_is_not_even():
    assert not is_even((1.0,))
    assert not is_even((0.0, 0.0))
    assert not is_even((0.5, -0.5))
    assert not is_even((-0.5, -0.5))


def test_an_even_attention_leads_nowhere():
    assert say((0.261, 0.255, 0.256, 0.228)) == (
        "The attention is spread evenly and tells no layer apart; by its contribution, layer 4 of 4 (stage 3) speaks "
        "most for “cat”. Removing it costs 73 points of confidence."
    )
    assert say((0.25,) * 4, (1.0, 0, 0, 0), (0.1, 0.5, 0, 0)) == (
        "The attention is spread evenly and tells no layer apart; by its contribution, layer 1 of 4 (stem) speaks most "
        "for “cat”. Removing layer 2 (stage 1) matters most: it costs 50 points of confidence."
    )
    assert say((0.25,) * 4, (1.0,) * 4, (0.1, 0.5, 0, 0)) == (
        "The attention is spread evenly and tells no layer apart, and the contribution is spread evenly and tells no "
        "layer apart. Removing layer 2 of 4 (stage 1) matters most: it costs 50 points of confidence in “cat”."
    )


# --- tied ------------------------------------------------------------------------------------------------------------


def test_a_tie_is_no_lead():
    assert say((0.2, 0.19, 0.31, 0.30)) == (
        "Layer 3 (stage 2) and layer 4 (stage 3) carry 31% and 30% of the attention. "
        "Removing layer 4 (stage 3) matters most: it costs 73 points of confidence in “cat”."
    )
    assert say((0.1, 0.3, 0.3, 0.3)).startswith(
        "Layer 2 (stage 1), layer 3 (stage 2) and layer 4 (stage 3) carry 30%, 30% and 30% of the attention. "
    )
    assert say((0.2, 0.18, 0.32, 0.30)).startswith("Layer 3 of 4 (stage 2) carries 32% of the attention; removing it")
    many = say((0.2, 0.2, 0.2, 0.19, 0.19, 0.02), (0.0,) * 6, (0.0,) * 5 + (0.5,), layers=("x",) * 6)
    assert many.startswith("5 of 6 layers carry 19% to 20% each of the attention. Removing layer 6 (x) matters most")


def test_tied_effects_are_no_lead_either():
    assert say((0.7, 0.1, 0.1, 0.1), effect=(0.01, 0.6, 0.597, 0.0)).endswith(
        " Removing layer 2 (stage 1) or layer 3 (stage 2) matters most: it costs 60 points of confidence."
    )
    assert say((0.7, 0.1, 0.1, 0.1), effect=(0.01, 0.604, 0.596, 0.0)).endswith("it costs 60 points of confidence.")
    assert say((0.7, 0.1, 0.1, 0.1), effect=(0.01, 0.304, 0.296, -0.31)).endswith(
        "it costs 30 points or adds 31 points of confidence."
    )
    assert say((0.7, 0.1, 0.1, 0.1), effect=(0.31, 0.30, 0.0, 0.0)).endswith(
        "; removing it costs 31 points of confidence in “cat”."
    )
    # An effect of less than half a point is not tied with one of a point.
    assert "Removing layer 2 (stage 1) matters most: it costs 1 point" in say(
        (0.7, 0.1, 0.1, 0.1), effect=(0.004, 0.012, 0, 0)
    )


def test_leaders_are_at_most_one_rounded_point_apart():
    assert leaders((0.314, 0.296, 0.39)) == [2]
    assert leaders((0.386, 0.296, 0.394)) == [0, 2]  # 39 % and 39 %
    assert leaders((0.376, 0.374, 0.25)) == [0, 1]  # 38 % and 37 %
    assert leaders((0.376, 0.364, 0.26)) == [0]  # 38 % and 36 %
    assert leaders((0.004, 0.0, -0.996)) == [0]
    assert leaders((0.0, -1.0)) == []


# --- distrusted ------------------------------------------------------------------------------------------------------

DISTRUST = "This model’s attention is no guide to its decision (faithfulness 0.30 on test images)"


def test_where_the_card_says_no_the_contribution_leads():
    expected = (
        f"{DISTRUST}; by its contribution, layer 4 of 4 (stage 3) speaks most for “cat”. "
        "Removing it costs 73 points of confidence."
    )
    known = card(alpha=0.30, contribution=0.96)
    assert say((0.261, 0.255, 0.256, 0.228), known=known) == expected
    assert say((0.1, 0.1, 0.1, 0.7), known=known) == expected
    assert say((0.1, 0.1, 0.1, 0.7), (0, 0, 1.0, 1.0), known=known) == (
        f"{DISTRUST}; by their contributions, layer 3 (stage 2) and layer 4 (stage 3) speak most for “cat”. "
        "Removing layer 4 (stage 3) matters most: it costs 73 points of confidence."
    )
    assert "(faithfulness 0.30 on held-back images)" in say((1, 0, 0, 0), known=card("validation", alpha=0.30))


def test_where_neither_is_faithful_the_measured_effect_leads():
    both = say((1, 0, 0, 0), known=card(alpha=0.30, contribution=0.2))
    assert both == (
        f"{DISTRUST}, and this model’s contribution is no guide to its decision (faithfulness 0.20 on test images). "
        "Removing layer 4 of 4 (stage 3) matters most: it costs 73 points of confidence in “cat”."
    )
    assert say((1, 0, 0, 0), effect=(0, 0, 0, 0), known=card(alpha=0.30, contribution=0.2)).endswith(
        " No single layer is decisive here: whichever is removed, the others carry the decision."
    )
    assert say((0.25,) * 4, known=card(alpha=0.9, contribution=0.2)).startswith(
        "The attention is spread evenly and tells no layer apart, and this model’s contribution is no guide"
    )


@pytest.mark.parametrize("known", [None, card(alpha=0.85), card(alpha=0.51), card(alpha=0.49), card(contribution=0.1)])
def test_the_attention_leads_unless_it_is_known_to_be_wrong(known):
    assert say((0.1, 0.1, 0.1, 0.7), known=known) == (
        "Layer 4 of 4 (stage 3) carries 70% of the attention; removing it costs 73 points of confidence in “cat”."
    )


# --- signed ----------------------------------------------------------------------------------------------------------


def test_a_head_without_attention_speaks_by_its_evidence():
    assert say(None) == (
        "Layer 4 of 4 (stage 3) carries 93% of the evidence; removing it costs 73 points of confidence in “cat”."
    )
    assert say(None, (0, 0, -1.0, -3.0), (0, 0, 0, -0.4)) == (
        "Layer 4 of 4 (stage 3) speaks most against “cat”, and no layer for it; "
        "removing it adds 40 points of confidence in “cat”."
    )
    assert say((0.25,) * 4, (0, 0, -1.0, -3.0), (0, 0, 0, -0.4)) == (
        "The attention is spread evenly and tells no layer apart; by its contribution, layer 4 of 4 (stage 3) speaks "
        "most against “cat”, and no layer for it. Removing it adds 40 points of confidence."
    )


def test_no_evidence_is_not_told_as_some_against():
    nothing = (
        "o layer speaks for “cat” or against it. No single layer is decisive here: whichever is removed, the others "
    )
    assert say(None, (0.0,) * 4, (0.0,) * 4) == f"N{nothing}carry the decision."
    assert say((0.25,) * 4, (0.0,) * 4, (0.0,) * 4) == (
        f"The attention is spread evenly and tells no layer apart, and n{nothing}carry the decision."
    )


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        ("block 2 of 3", "Block 2 of 3"),
        ("hidden layer 2, 256 units", "Hidden layer 2 of 3"),
        ("stage 1, 96 channels", "Layer 2 of 3 (stage 1)"),  # its own number is another
        ("stage 12", "Layer 2 of 3 (stage 12)"),
        ("layer2, 512 channels", "Layer 2 of 3 (layer2)"),
        ("features.denseblock2.denselayer12, 512 channels", "Layer 2 of 3"),
        ("", "Layer 2 of 3"),
    ],
)
def test_layers_are_named_as_people_know_them(layer, name):
    text = say((0.1, 0.8, 0.1), (0, 1, 0), (0, 0.5, 0), layers=("a", layer, "c"))
    assert text.startswith(f"{name} carries 80% of the attention; ")


def test_it_is_never_longer_than_two_sentences():
    rng = np.random.default_rng(0)
    for _ in range(500):
        count = int(rng.integers(1, 8))
        alpha = rng.dirichlet(np.full(count, rng.choice([0.1, 1, 1000])))
        contribution, effect = rng.normal(size=count), rng.normal(size=count) * rng.choice([0, 0.003, 0.3])
        figures = rng.choice([0.2, 0.5, 0.9], 2)
        known = None if rng.random() < 0.3 else card(alpha=figures[0], contribution=figures[1])
        text = say(tuple(alpha), tuple(contribution), tuple(effect), known, ("stage 1, 3 units",) * count)
        assert re.fullmatch(r"[A-Z0-9][^\n]*\.", text)
        assert text.count(". ") <= 1
        assert "“cat”" in text or "decisive" in text
