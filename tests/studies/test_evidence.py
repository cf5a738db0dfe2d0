"""The table of all heads: figures worked out by hand, every run measured once, claims that follow the figures."""

import json
import math

import numpy as np
import pytest

from laya import checkpoints
from laya.errors import LayaError
from laya.intervals import paired
from laya.studies import claims, evidence
from laya.studies.evidence import summarise
from tests.conftest import CLASSES, PREPROCESSING, make_model, only_checkpoints


def a_run(row: str, seed: int, accuracy: float, **more: object) -> dict[str, object]:
    base = {"row": row, "seed": seed, "accuracy": accuracy, "macro_f1": accuracy / 2, "parameters": 7, "layers": ["a"]}
    return base | {"seconds": 10.0} | more


def test_the_interval_is_that_of_students_t():
    # Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3); t for 2 degrees of freedom at 0.975 is 4.302653.
    interval = paired([1.0, 2.0, 3.0])
    assert interval["mean"] == pytest.approx(2)
    assert interval["low"] == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-5)
    assert interval["high"] == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-5)
    assert paired([0.5]) == {"mean": 0.5, "low": None, "high": None}
    assert paired([]) == {"mean": None, "low": None, "high": None}


def test_differences_are_paired_by_seed():
    runs = [a_run("last_layer", 0, 0.5), a_run("last_layer", 1, 0.7), a_run("concat", 1, 0.8), a_run("concat", 2, 0.1)]
    summary = summarise("concat", runs)
    assert summary["accuracy"]["mean"] == pytest.approx(0.45)
    assert summary["accuracy"]["std"] == pytest.approx(math.sqrt(0.245))  # of 0.8 and 0.1, with n - 1
    assert summary["accuracy_difference"]["mean"] == pytest.approx(0.1)  # seed 1 alone is in both
    assert "accuracy_difference" not in summarise("last_layer", runs)
    assert summarise("last_layer", runs[:1])["accuracy"] == {"mean": 0.5, "std": None}


def test_undefined_ranks_are_left_out_of_the_mean():
    def with_rank(seed: int, rank: float | None) -> dict[str, object]:
        agreement = {"zero-term": {"alpha": {"spearman": rank, "deletion_at_1": 0.5}}}
        return a_run("laya", seed, 0.5, alpha_mean=[1.0], alpha_mutual_information=0.1, faithfulness=agreement)

    summary = summarise("laya", [with_rank(0, None), with_rank(1, 0.4), with_rank(2, 0.6)])
    assert summary["faithfulness"]["zero-term"]["alpha"]["spearman"]["mean"] == pytest.approx(0.5)
    assert summarise("laya", [with_rank(0, None)])["faithfulness"]["zero-term"]["alpha"]["spearman"]["mean"] is None


PLAN = """
seeds = 2
common = { epochs = 2 }
[rows.last_layer]
head = "last_layer"
head_options = {}
[rows.laya]
"""
RECIPE = """
title = "Toy"
backbone_options = { input_shape = [1, 8, 8], units = [6, 5] }
head_options = { dim = 4 }
batch_size = 8
"""


@pytest.fixture
def toy(tmp_path, monkeypatch, noise):
    """A checkpoint folder with a plan, for an image folder of three classes."""
    only_checkpoints(monkeypatch, tmp_path / "checkpoints")
    folder = tmp_path / "checkpoints" / "toy"
    checkpoints.save(folder, make_model(), CLASSES, PREPROCESSING, title="Toy", training={})
    data = tmp_path / "data"
    for part in ("train", "test"):
        for index, name in enumerate(CLASSES):
            (data / part / name).mkdir(parents=True)
            for number in range(12):
                picture = noise("L", (8, 8), seed=100 * index + number).point(lambda v, i=index: v // 3 + 60 * i)
                picture.save(data / part / name / f"{number}.png")
    (folder / "recipe.toml").write_text(f'data = "{data}"\n' + RECIPE)
    (folder / "evidence.toml").write_text(PLAN)
    return folder


def test_every_run_is_measured_once_and_a_killed_table_goes_on(toy, monkeypatch):
    trained = []
    measured = evidence._measured

    def counting(config, *args):
        trained.append((config.head, config.seed, config.epochs))
        if len(trained) == 3:
            raise KeyboardInterrupt
        return measured(config, *args)

    monkeypatch.setattr(evidence, "_measured", counting)
    with pytest.raises(KeyboardInterrupt):
        evidence.run("toy")
    kept = checkpoints.read_evidence(toy)
    assert [(run["row"], run["seed"]) for run in kept["runs"]] == [("last_layer", 0), ("last_layer", 1)]
    table = evidence.run("toy")
    assert trained[2:] == [("laya", 0, 2), ("laya", 0, 2), ("laya", 1, 2)]
    assert list(table["rows"]) == ["last_layer", "laya"]
    assert [(run["row"], run["seed"]) for run in table["runs"]] == [
        *(("last_layer", 0), ("last_layer", 1)),
        *(("laya", 0), ("laya", 1)),
    ]
    assert table["n"] == 36
    assert json.loads((toy / "evidence.json").read_text()) == table
    assert evidence.run("toy") == table  # nothing is left to do
    assert len(trained) == 5
    assert not list(toy.glob("evidence-*.safetensors"))


def test_one_run_can_be_repeated_and_gives_the_same(toy):
    first = evidence.run("toy", row="laya", seed=1)
    again = evidence.run("toy", row="laya", seed=1)
    for table in (first, again):
        (run,) = table["runs"]
        del run["seconds"]
    assert first["runs"] == again["runs"]
    run = first["runs"][0]
    assert sum(run["alpha_mean"]) == pytest.approx(1, abs=1e-6)
    assert set(run["faithfulness"]) == {"zero-term", "renormalise", "zero-state"}
    assert set(run["faithfulness"]["zero-term"]) >= {"alpha", "contribution", "random", "last_layer", "uniform"}
    assert set(run["alpha_of_class"]) == set(CLASSES)
    mean = np.mean([run["alpha_of_class"][name] for name in CLASSES], axis=0)  # 12 pictures of each
    assert mean.tolist() == pytest.approx(run["alpha_mean"], abs=1e-6)


def test_a_changed_recipe_is_measured_anew(toy):
    first = evidence.run("toy", row="last_layer", seed=0)["runs"]
    (toy / "evidence.toml").write_text(PLAN.replace("epochs = 2", "epochs = 3"))
    table = evidence.run("toy", row="last_layer", seed=1)
    assert [run["seed"] for run in table["runs"]] == [1]
    assert table["runs"][0]["recipe"] != first[0]["recipe"]


def test_mistakes_are_named(toy):
    with pytest.raises(LayaError, match=r"no row called 'laja'. Did you mean 'laya'\?"):
        evidence.run("toy", row="laja")
    with pytest.raises(LayaError, match="The seeds of 'toy' are 0 to 1, not 2"):
        evidence.run("toy", seed=2)


# --- claims ----------------------------------------------------------------------------------------------------------


def a_table(data: str, accuracies: dict[str, float], low: float = 0.01, **more: object) -> dict[str, object]:
    rows = {
        row: {
            "seeds": 5,
            "accuracy": {"mean": accuracy},
            "accuracy_difference": {"mean": 0.02, "low": low, "high": 0.03},
            "alpha_mutual_information": {"mean": 0.4},
            "alpha_mean": {"mean": [0.05, 0.05, 0.9]},
            "faithfulness": {
                removal: {
                    method: {"spearman": {"mean": rank}, "deletion_at_1": {"mean": rank / 2}}
                    for method, rank in (
                        *(("alpha", 0.86), ("contribution", 0.9)),
                        *(("integrated_gradients", 0.89), ("grad_cam", 0.88)),
                    )
                }
                for removal in ("zero-term", "zero-state")
            },
            **more,
        }
        for row, accuracy in accuracies.items()
    }
    return {"data": data, "rows": rows}


FIRST = {"last_layer": 0.7, "concat": 0.72, "scalar_mix": 0.71, "laya_published": 0.73, "laya": 0.74}


def test_claims_follow_the_figures():
    first, faithful = claims.claims(a_table("fashion-mnist", FIRST))
    assert first.found
    order = "LAYA as shipped 74.0%, LAYA as published 73.0%, Concat 72.0%, ScalarMix 71.0%, LastLayer 70.0%"
    assert order in first.here
    assert "+2.0 points [+1.0, +3.0], clear of 0" in first.here
    assert faithful.found
    worst, _ = claims.claims(a_table("fashion-mnist", FIRST | {"concat": 0.8}, low=-0.01))
    assert not worst.found
    assert "not clear of 0" in worst.here


def test_the_claims_about_cifar_and_artworks():
    assert [claim.found for claim in claims.claims(a_table("cifar10", FIRST))] == [True, True]
    art = claims.claims(a_table("best-artworks", FIRST))
    # Concat is not first, LAYA is above LastLayer, alpha's deletion is below IG's, not on blocks 7 to 12, MI 0.4.
    assert [claim.found for claim in art] == [False, True, False, False, True]
    assert "1 (5%), 2 (5%), 3 (90%)" in art[3].here


def test_no_claims_while_a_head_is_missing():
    assert claims.claims(a_table("cifar10", {row: 0.5 for row in FIRST if row != "concat"})) == []
    assert claims.claims({"data": "other", "rows": {}}) == []
    single = a_table("cifar10", FIRST)
    single["rows"]["laya"]["seeds"] = 1  # one seed has no interval
    assert claims.claims(single) == []
