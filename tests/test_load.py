"""The load benchmark, small: the real app with several users at once. No time is asserted."""

from pathlib import Path

import pytest

from benchmarks import load, visitor


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_users_at_once_get_right_answers_beside_a_total_effect_run(tmp_path: Path):
    with visitor.serving(tmp_path / "log") as server:
        found = load.level(server, users=4, explanations=5, total_effects=1, limit=500, model="cifar10-cnn")
    assert found["bad"] == []
    assert found["faults_in_log"] == []
    assert (found["errors"], found["wrong"]) == (0, 0)
    assert found["explanations"] == 20
    assert len(found["total_effects"]) == 1
    assert found["loads"] == 1
