"""Rank agreement, deletion, controls and intervals, against SciPy and by hand."""

import warnings

import numpy as np
import pytest
from scipy import stats

from laya.explanation.faithfulness import controls, deletion_at_1, spearman
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
