"""The scores of the shipped samples stay what they are, whatever is moved around in the code.

``python -m tests.checkpoints.test_scores`` writes them anew, for a checkpoint that was trained again.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from laya import checkpoints
from laya.attribution import Settings
from laya.explanation import explain_trace, prepare_image, trace_image
from laya.heads import REMOVALS

STORED = Path(__file__).with_name("scores.json")
DIGITS = 7  # significant


def scores_of(name: str) -> dict[str, Any]:
    """For each sample the target, its probability, all layer scores, and the effects under each meaning of removal."""
    checkpoint = checkpoints.load(name)
    found = {}
    for file in sorted(checkpoints.samples(name).values()):
        trace = trace_image(checkpoint, prepare_image(checkpoint, file))
        results = {
            removal: explain_trace(checkpoint, trace, settings=Settings(removal=removal)) for removal in REMOVALS
        }
        result = results[REMOVALS[0]]
        found[file.name] = {
            "target": result.target_name,
            "probability": [result.probabilities[result.target]],
            **result.attributions,
            **{f"effect, {removal}": each.effect for removal, each in results.items()},
        }
    return found


@pytest.mark.parametrize("name", ["best-artworks-vit", "cifar10-cnn", "fashion-mnist-mlp"])
def test_the_scores_of_the_samples_are_those_that_are_stored(name):
    stored, again = json.loads(STORED.read_text())[name], scores_of(name)
    assert stored.keys() == again.keys()
    for sample, scores in stored.items():
        assert scores.pop("target") == again[sample].pop("target")
        assert scores.keys() == again[sample].keys()
        for which, values in scores.items():  # other processors round single precision otherwise
            assert again[sample][which] == pytest.approx(values, rel=1e-3, abs=1e-4), (sample, which)


def store() -> None:
    """Write what the code says now, a line for each sample."""
    models = []
    for name in (entry.name for entry in checkpoints.available()):
        lines = [f"{json.dumps(sample)}: {json.dumps(_short(scores))}" for sample, scores in scores_of(name).items()]
        models.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    STORED.write_text("{\n" + ",\n".join(models) + "\n}\n")


def _short(scores: dict[str, Any]) -> dict[str, Any]:
    return {
        which: values if isinstance(values, str) else [float(f"{value:.{DIGITS}g}") for value in values]
        for which, values in scores.items()
    }


if __name__ == "__main__":
    store()
