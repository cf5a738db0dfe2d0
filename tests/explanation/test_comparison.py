"""Comparisons against the formulas: everything follows from z, alpha and the classifier, in double precision."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

import laya
from laya.attribution import Settings
from laya.checkpoints import Checkpoint
from laya.errors import LayaError
from laya.explanation import comparison, explain, explain_trace
from laya.model import Trace
from laya.scores import LayerScores
from tests.conftest import CLASSES


@pytest.fixture
def trace(checkpoint: Checkpoint) -> Trace:
    return checkpoint.model.trace(torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(2)))


def parts(checkpoint: Checkpoint, trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """alpha (L,), votes W z_i (L, K), bias (K,)."""
    head = checkpoint.model.head
    z = torch.stack(trace.head.values, 1)[0].double()
    votes = z @ head.classifier.weight.double().T
    return trace.alpha[0].double().numpy(), votes.numpy(), head.classifier.bias.double().detach().numpy()


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def scores(method: str, *values: float) -> LayerScores:
    return LayerScores(method, method, "intrinsic", "", "#000000", "", values)


def test_agreement_is_spearman_and_the_same_first_layer():
    a, b, flat = scores("a", 3, 1, 2), scores("b", 9, 8, 1), scores("flat", 1, 1, 1)
    table = comparison.agreement([a, b, flat])
    assert table["a", "b"].spearman == pytest.approx(stats.spearmanr([3, 1, 2], [9, 8, 1]).statistic)
    assert table["a", "b"].top
    assert table["a", "a"].spearman == pytest.approx(1)
    assert table["a", "flat"].spearman is None


def test_curves_take_layers_away_in_the_methods_order(checkpoint, trace):
    result = explain_trace(checkpoint, trace)
    own, band = comparison.curves(checkpoint, trace, result)
    alpha, votes, bias = parts(checkpoint, trace)
    order = np.argsort(-np.array(result.attributions["contribution"]), kind="stable")
    for k in range(4):
        gone = np.isin(np.arange(3), order[:k])
        for kept, curve in ((~gone, own["contribution"].deletion), (gone, own["contribution"].insertion)):
            logits = (alpha * kept) @ votes + bias
            assert curve[k] == pytest.approx(softmax(logits)[result.target], abs=1e-6)
    assert own["alpha"].deletion[0] == pytest.approx(max(result.probabilities), abs=1e-6)
    assert own["alpha"].insertion[3] == pytest.approx(max(result.probabilities), abs=1e-6)
    # Every order ends at the same two points; in between, the band lies around its mean.
    for k, (low, mean, high) in enumerate(band.deletion):
        assert low - 1e-9 <= mean <= high + 1e-9
        if k in (0, 3):
            assert high - low < 1e-6


def test_the_classes_differ_by_their_contributions(checkpoint, trace):
    alpha, votes, bias = parts(checkpoint, trace)
    values = comparison.against(checkpoint, trace, "red", "blue")
    assert list(values) == pytest.approx(list(alpha * (votes[:, 0] - votes[:, 2])), abs=1e-6)
    logits = trace.logits[0].double().numpy()
    assert sum(values) + bias[0] - bias[2] == pytest.approx(logits[0] - logits[2], abs=1e-5)
    with pytest.raises(LayaError, match=r"no class called 'rad'\. Did you mean 'red'"):
        comparison.against(checkpoint, trace, "rad", "blue")


def test_the_read_out_is_the_head_on_a_part_of_the_layers(checkpoint, trace):
    alpha, votes, bias = parts(checkpoint, trace)
    values = comparison.read_out(checkpoint, trace)
    for i in range(3):
        assert list(values.alone[i]) == pytest.approx(list(softmax(votes[i] + bias)), abs=1e-6)
        share = alpha[: i + 1] / alpha[: i + 1].sum()
        assert list(values.up_to[i]) == pytest.approx(list(softmax(share @ votes[: i + 1] + bias)), abs=1e-6)
    assert list(values.up_to[2]) == pytest.approx(trace.probabilities[0].tolist(), abs=1e-6)


def test_weights_by_hand_replace_alpha(checkpoint, trace):
    alpha, votes, bias = parts(checkpoint, trace)
    expected = softmax(np.array([0.5, 0.25, 0.25]) @ votes + bias)
    assert list(comparison.by_hand(checkpoint, trace, [2, 1, 1])) == pytest.approx(list(expected), abs=1e-6)
    own = comparison.by_hand(checkpoint, trace, alpha.tolist())
    assert list(own) == pytest.approx(trace.probabilities[0].tolist(), abs=1e-6)
    for bad in ([0, 0, 0], [1, -1, 1], [1, 1]):
        with pytest.raises(LayaError, match="Give 3 layer weights at or above 0"):
            comparison.by_hand(checkpoint, trace, bad)


def test_each_meaning_of_removed_is_asked(checkpoint, trace):
    each = comparison.under_each_removal(checkpoint, trace, "green", Settings())
    assert list(each) == ["zero-term", "renormalise", "zero-state"]
    for removal, result in each.items():
        alone = explain_trace(checkpoint, trace, target="green", settings=Settings(removal=removal))
        assert (result.effect, result.faithfulness) == (alone.effect, alone.faithfulness)
        assert result.settings.removal == removal


def test_moved_attention_is_half_the_absolute_difference():
    shift = comparison.shift([0.5, 0.3, 0.2], [0.1, 0.3, 0.6])
    assert shift.moved == pytest.approx(0.4)
    assert shift.depths == (pytest.approx(0.35), pytest.approx(0.75))
    assert comparison.shift([0.2, 0.8], [0.2, 0.8]).moved == pytest.approx(0)
    assert comparison.shift([1, 0], [0, 1]) == comparison.Shift(1.0, (0.0, 1.0))


def test_different_depths_are_laid_on_one_axis():
    # Halves of 0.5 each are the same profile as quarters of 0.25 each.
    assert comparison.shift([0.5, 0.5], [0.25] * 4).moved == pytest.approx(0)
    # All in the first of 2 (0 to 1/2) against all in the first of 3 (0 to 1/3): a third of the first lies beyond.
    assert comparison.shift([1, 0], [1, 0, 0]).moved == pytest.approx(1 / 3)
    assert math.isfinite(comparison.shift([1.0], [1.0]).moved)


def test_vectors_have_no_map_and_all_their_contribution_is_placeless(checkpoint, trace):
    result = explain_trace(checkpoint, trace, target="blue")
    maps = comparison.where(checkpoint, trace, "blue")
    assert [each.layer for each in maps] == list(result.layers)
    assert all(each.values is None for each in maps)
    assert [each.placeless for each in maps] == pytest.approx(list(result.attributions["contribution"]), abs=1e-6)


def test_compare_puts_everything_together_from_one_image(checkpoint, noise):
    image, settings = noise("L", (8, 8)), Settings(tau=0.7, removal="renormalise", steps=20)
    result = laya.compare(checkpoint, image, target="green", settings=settings)
    single = explain(checkpoint, image, target="green", settings=settings)
    assert result.explanation.attributions == single.attributions
    assert result.explanation.effect == single.effect
    assert result.agreement["alpha", "leave_one_out"].spearman == single.faithfulness["alpha"].spearman
    assert list(result.removals) == ["zero-term", "renormalise", "zero-state"]
    assert result.removals["renormalise"].effect == pytest.approx(single.effect)
    green = CLASSES.index("green")
    assert result.curves["alpha"].deletion[0] == pytest.approx(single.probabilities[green])
    assert result.read_out.up_to[-1] == pytest.approx(single.probabilities)
    assert [each.placeless for each in result.maps] == pytest.approx(single.attributions["contribution"], abs=1e-6)
