"""Rank agreement, deletion, controls and intervals, against SciPy and by hand."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import stats

from laya.explanation.faithfulness import coarseness, controls, deletion_at_1, spearman, verdict
from laya.intervals import Interval, mean_interval


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_spearman_is_scipys_image_by_image(rng):
    scores = rng.integers(0, 4, (50, 6)).astype(float)  # plenty of ties
    effects = rng.normal(size=(50, 6))
    scores[0] = [1, 2, 3, 4, 5, 6]
    for got, a, b in zip(spearman(scores, effects), scores, effects, strict=True):
        assert got == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


def test_spearman_by_hand():
    assert spearman(np.array([[1.0, 2, 3]]), np.array([[10.0, 20, 30]]))[0] == pytest.approx(1)
    assert spearman(np.array([[1.0, 2, 3]]), np.array([[3.0, 2, 1]]))[0] == pytest.approx(-1)
    # ranks (1, 2, 3) against (1, 3, 2): 1 - 6 * (0 + 1 + 1) / (3 * 8) = 0.5
    assert spearman(np.array([[1.0, 2, 3]]), np.array([[1.0, 3, 2]]))[0] == pytest.approx(0.5)


def test_a_constant_side_has_no_rank_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = spearman(np.array([[1.0, 1, 1], [1, 2, 3], [1, 2, 3]]), np.array([[1.0, 2, 3], [4, 4, 4], [1, 2, 3]]))
    assert np.isnan(result).tolist() == [True, True, False]


def test_deletion_is_the_effect_of_the_top_layer():
    effects = np.array([[0.1, 0.7, 0.2], [0.3, 0.0, -0.4]])
    assert deletion_at_1(np.array([[1.0, 9, 3], [0, 0, 1]]), effects).tolist() == pytest.approx([0.7, -0.4])


def test_a_tie_at_the_top_is_broken_evenly():
    assert deletion_at_1(np.array([[5.0, 5, 1]]), np.array([[0.2, 0.6, 0.9]]))[0] == pytest.approx(0.4)
    assert deletion_at_1(np.ones((1, 3)), np.array([[0.3, 0.6, 0.9]]))[0] == pytest.approx(0.6)


def test_controls_know_nothing(rng):
    effects = rng.normal(size=(4000, 5))
    made = controls(4000, 5, rng)
    assert np.isnan(spearman(made["uniform"], effects)).all()
    assert abs(spearman(made["random"], effects).mean()) < 0.03
    assert deletion_at_1(made["last_layer"], effects).tolist() == effects[:, -1].tolist()


def test_the_interval_is_that_of_the_normal_theory_for_many_values(rng):
    values = rng.normal(3, 2, 5000)
    interval = mean_interval(values, rng)
    half = 1.96 * values.std(ddof=1) / np.sqrt(5000)
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.15 * half)
    assert interval.n == 5000


def test_undefined_values_are_left_out_and_not_counted(rng):
    assert mean_interval(np.array([np.nan, 0.5, np.nan]), rng) == Interval(0.5, None, None, 1)
    assert mean_interval(np.array([np.nan]), rng) == Interval(None, None, None, 0)
    assert mean_interval(np.array([np.nan, 0.0, 1.0]), rng).mean == 0.5
    assert str(Interval(None, None, None, 0)) == "not defined"
    assert str(Interval(0.5, None, None, 1)) == "0.500"
    assert str(Interval(0.5, 0.25, 0.75, 9)) == "0.500 [0.250, 0.750]"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.5, 0.9, "faithful"),
        (0.4999, 0.9, "unclear"),
        (0.1, 0.5, "unclear"),
        (0.1, 0.4999, "not faithful"),
        (-0.3, -0.1, "not faithful"),
        (None, None, None),
    ],
)
def test_a_method_is_judged_by_the_whole_interval(low, high, expected):
    assert verdict(Interval(0.3, low, high, 50)) == expected


def test_what_was_never_defined_is_not_judged():
    assert verdict(Interval(None, None, None, 0)) is None


def test_few_layers_give_a_coarse_rank():
    with_two = coarseness(2)
    assert with_two == (
        "With 2 layers and no ties, the faithfulness on one image is -1 or 1, and chance alone gives +1.00 in 50 % of "
        "cases; read it over many images."
    )
    # Three: the 6 orders have distances sum d^2 = 0, 2, 2, 6, 6, 8, so 1 - 6 d^2 / 24 = 1, 0.5, 0.5, -0.5, -0.5, -1.
    assert coarseness(3) == with_two.replace("2 layers", "3 layers").replace("-1 or 1", "-1, -0.5, 0.5 or 1").replace(
        "50 %", "17 %"
    )
    # Four: sum d^2 is any even number from 0 to 20.
    assert coarseness(4) == with_two.replace("2 layers", "4 layers").replace("-1 or 1", "one of 11 values").replace(
        "50 %", "4 %"
    )
    assert coarseness(1) == "With one layer there is no order, so its faithfulness is not defined."
    assert coarseness(5) is None
    assert coarseness(12) is None


def test_the_values_with_four_layers_are_scipys():
    ranks = {round(stats.spearmanr(range(4), order).statistic, 9) for order in itertools.permutations(range(4))}
    assert len(ranks) == 11
