"""The load benchmark, small: the real app with several users at once. No time is asserted."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.load.crowd import crowd
from benchmarks.load.figures import figures
from benchmarks.load.questions import difference
from benchmarks.load.steps import heavy, judged, plan
from tests.server import serving


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_users_at_once_get_right_answers_beside_a_total_effect_run(tmp_path: Path):
    model = ["cifar10-cnn"]
    with serving(tmp_path / "log") as server:
        outcomes = asyncio.run(crowd(server, [plan(user, 5, model) for user in range(4)], [heavy(0, model)], limit=500))
        assert server.loads() == 1
    assert server.faults() == []
    found = figures(judged(outcomes))
    assert found["bad"] == []
    assert (found["errors"], found["wrong"]) == (0, 0)
    assert found["explanations"] == 20
    assert len(found["total_effects"]) == 1


def test_answers_that_differ_are_told_apart():
    right = {"Attention": (0.25, 0.75), "p(cat)": (0.5,)}
    assert difference({"Attention": (0.25, 0.750001), "p(cat)": (0.5,)}, right) is None
    assert "['Attention'][1]" in difference({"Attention": (0.25, 0.7501), "p(cat)": (0.5,)}, right)
    assert "['Attention']" in difference({"Attention": (0.25,), "p(cat)": (0.5,)}, right)
    assert "p(cat)" in difference({"Attention": (0.25, 0.75)}, right)
