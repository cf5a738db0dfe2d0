"""Evaluation over a data set against a plain loop over single images."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import stats
from sklearn.metrics import f1_score

from laya import checkpoints
from laya.attribution import Settings
from laya.checkpoints import load
from laya.data import ImageSet, open_dataset
from laya.errors import LayaError
from laya.explanation import explain
from laya.files import write_json
from laya.studies.evaluation import evaluate, mutual_information
from laya.studies.verification import verify
from tests.conftest import CLASSES


@pytest.fixture
def data() -> ImageSet:
    rng = np.random.default_rng(2)
    pixels = rng.integers(0, 256, (40, 8, 8), dtype=np.uint8)
    labels = rng.integers(0, 3, 40)
    return ImageSet("noise", CLASSES, labels, lambda i: pixels[i], [f"image {i}" for i in range(40)])


@pytest.mark.parametrize("removal", ["zero-term", "renormalise", "zero-state"])
def test_every_figure_is_that_of_a_loop_over_images(checkpoint, data, monkeypatch, removal):
    monkeypatch.setattr("laya.studies.evaluation.BATCH", 16)  # 16 + 16 + 8
    result = evaluate(checkpoint, data, settings=Settings(removal=removal))
    single = [explain(checkpoint, data.load(i), settings=Settings(removal=removal)) for i in range(40)]
    predicted = [CLASSES.index(e.predictions[0][0]) for e in single]
    assert result["n"] == 40
    assert result["accuracy"] == pytest.approx(np.mean(np.array(predicted) == data.labels))
    assert result["macro_f1"] == pytest.approx(f1_score(data.labels, predicted, average="macro"))
    for method in ("alpha", "contribution", "integrated_gradients", "grad_cam"):
        ranks = [e.faithfulness[method].spearman for e in single if e.faithfulness[method].spearman is not None]
        row = result["faithfulness"][method]
        assert row["spearman"]["n"] == len(ranks)
        assert row["spearman"]["mean"] == pytest.approx(np.mean(ranks), abs=1e-6)
        assert row["spearman"]["low"] <= row["spearman"]["mean"] <= row["spearman"]["high"]
        deletions = [e.faithfulness[method].deletion_at_1 for e in single]
        assert row["deletion_at_1"]["mean"] == pytest.approx(np.mean(deletions), abs=1e-6)
        assert row["deletion_at_1"].keys() == {"mean", "low", "high"}
    alpha = np.array([e.attributions["alpha"] for e in single])
    assert result["alpha_mean"] == pytest.approx(alpha.mean(0), abs=1e-6)
    expected = stats.entropy(alpha.mean(0)) - np.mean([stats.entropy(row) for row in alpha])
    assert result["alpha_mutual_information"] == pytest.approx(expected, abs=1e-6)
    assert result["layers"] == list(checkpoint.model.layers)
    last = [e.effect[-1] for e in single]
    assert result["faithfulness"]["last_layer"]["deletion_at_1"]["mean"] == pytest.approx(np.mean(last), abs=1e-6)
    assert result["faithfulness"]["uniform"]["spearman"] == {"mean": None, "low": None, "high": None, "n": 0}
    json.dumps(result, allow_nan=False)


def test_the_contract_has_these_fields_and_no_others(checkpoint, data):
    result = evaluate(checkpoint, data, limit=5)
    assert list(result) == [
        "model",
        "n",
        "accuracy",
        "macro_f1",
        "faithfulness",
        "alpha_mean",
        "alpha_mutual_information",
        "layers",
        "note",
        "missing_classes",
    ]
    assert result["note"].startswith("With 3 layers and no ties, the faithfulness on one image is -1, -0.5, 0.5 or 1, ")
    methods = ["alpha", "contribution", "integrated_gradients", "grad_cam", "uniform", "random", "last_layer"]
    assert list(result["faithfulness"]) == methods
    assert result["n"] == 5


def test_a_limit_draws_at_random_and_repeats(checkpoint, data):
    assert evaluate(checkpoint, data, limit=10) == evaluate(checkpoint, data, limit=10)
    first = evaluate(checkpoint, data, limit=10)["alpha_mean"]
    assert first != evaluate(checkpoint, data, limit=10, seed=1)["alpha_mean"]
    assert first != evaluate(checkpoint, data.subset(np.arange(10)))["alpha_mean"]


def test_macro_f1_is_over_the_classes_that_occur(checkpoint, data):
    only = data.subset(np.flatnonzero(data.labels != 2))
    result = evaluate(checkpoint, only)
    assert result["missing_classes"] == [CLASSES[2]]
    assert evaluate(checkpoint, data)["missing_classes"] == []
    predicted = [CLASSES.index(explain(checkpoint, only.load(i)).predictions[0][0]) for i in range(len(only))]
    assert result["macro_f1"] == pytest.approx(f1_score(only.labels, predicted, labels=[0, 1], average="macro"))


def test_a_class_without_a_folder_counts_as_one_without_pictures(checkpoint, tmp_path):
    folder = tmp_path / "data"
    rng = np.random.default_rng(0)
    for name in CLASSES[1:]:
        (folder / name).mkdir(parents=True)
        for number in range(4):
            Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(folder / name / f"{number}.png")
    without = evaluate(checkpoint, open_dataset(str(folder)))
    assert (without["n"], without["missing_classes"]) == (8, [CLASSES[0]])
    (folder / CLASSES[0]).mkdir(parents=True)
    assert evaluate(checkpoint, open_dataset(str(folder))) == without
    (folder / "violet").mkdir(parents=True)
    with pytest.raises(LayaError, match="does not know the class 'violet'; it knows red, green, blue"):
        evaluate(checkpoint, open_dataset(str(folder)))


def test_a_head_without_attention_has_no_alpha(tmp_path, data):
    from tests.conftest import PREPROCESSING, make_model

    checkpoints.save(tmp_path / "c", make_model("concat"), CLASSES, PREPROCESSING, title="C", training={})
    result = evaluate(load(str(tmp_path / "c")), data)
    assert result["alpha_mean"] is None
    assert "alpha" not in result["faithfulness"]


def test_mutual_information_by_hand():
    assert mutual_information(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx(math.log(2))
    assert mutual_information(np.array([[0.3, 0.7], [0.3, 0.7]])) == pytest.approx(0, abs=1e-12)
    assert mutual_information(np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])) == pytest.approx(
        stats.entropy([2 / 3, 1 / 3]) - 2 / 3 * math.log(2)
    )


def test_unreadable_files_are_skipped_and_none_left_is_an_error(checkpoint, tmp_path):
    root = tmp_path / "data"
    for name in CLASSES:
        (root / name).mkdir(parents=True)
        Image.new("L", (8, 8)).save(root / name / "good.png")
        (root / name / "bad.png").write_bytes(b"bad")
    skipped: list[str] = []
    assert evaluate(checkpoint, open_dataset(str(root)), on_skip=skipped.append)["n"] == 3
    assert len(skipped) == 3
    for good in root.glob("*/good.png"):
        good.write_bytes(b"bad")
    with pytest.raises(LayaError, match="None of the 6 pictures can be read"):
        evaluate(checkpoint, open_dataset(str(root)))


def stated(saved: Path, data: ImageSet) -> dict[str, object]:
    checkpoint = load(str(saved))
    return evaluate(checkpoint, data) | {"data": "noise", "split": "test", "weights_sha256": checkpoint.weights}


def passed(saved: Path) -> list[bool | None]:
    return [check.passed for check in verify(str(saved))]


def test_verify_measures_again(saved: Path, data, monkeypatch):
    metrics = stated(saved, data)
    monkeypatch.setattr("laya.studies.verification.open_dataset", lambda name: data)
    write_json(saved / "metrics.json", metrics)
    assert passed(saved) == [True] * 5
    write_json(saved / "metrics.json", metrics | {"accuracy": metrics["accuracy"] + 0.1})
    assert passed(saved) == [True, False, True, True, True]
    other = json.loads(json.dumps(metrics["faithfulness"]))
    other["contribution"]["spearman"]["mean"] -= 0.1
    write_json(saved / "metrics.json", metrics | {"faithfulness": other})
    assert passed(saved) == [True, True, True, True, False]
    monkeypatch.setattr(
        "laya.studies.verification.open_dataset", lambda name: dataclasses.replace(data, classes=("x", "y", "z"))
    )
    assert passed(saved) == [True, False]


def test_verify_says_what_it_cannot_try(saved, data):
    metrics = stated(saved, data)
    write_json(saved / "metrics.json", metrics | {"data": "nowhere"})
    assert passed(saved) == [True, None]
    assert "neither a folder nor a parquet or CSV file nor a known data set" in verify(str(saved))[1].text
    for missing in ("split", "data", "faithfulness"):
        write_json(saved / "metrics.json", {key: metrics[key] for key in metrics if key != missing})
        assert passed(saved) == [True, None]
    (saved / "metrics.json").unlink()
    assert passed(saved) == [True, None]
    (saved / "model.safetensors").write_bytes(b"")
    (check,) = verify(str(saved))
    assert check.passed is False
    assert "empty file" in check.text


def test_values_that_are_no_numbers_are_an_error_and_no_result(checkpoint, data):
    with torch.no_grad():
        checkpoint.model.head.classifier.bias.fill_(torch.inf)
    with pytest.raises(LayaError, match="gives values that are not numbers"):
        evaluate(checkpoint, data)
    with pytest.raises(LayaError, match="gives values that are not numbers"):
        explain(checkpoint, data.load(0))


def test_cached_hidden_states_give_the_same_figures(checkpoint, data, tmp_path, monkeypatch):
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path))
    plain, cached = evaluate(checkpoint, data), evaluate(checkpoint, data, cached=True)
    assert cached["accuracy"] == plain["accuracy"]
    assert cached["alpha_mean"] == pytest.approx(plain["alpha_mean"], abs=1e-6)
    for method, row in plain["faithfulness"].items():
        for measure in ("spearman", "deletion_at_1"):
            assert cached["faithfulness"][method][measure]["mean"] == pytest.approx(row[measure]["mean"], abs=1e-4)
