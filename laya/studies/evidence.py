"""All heads on one task under one recipe, over several seeds: the table that says what LAYA costs and what it gives.

``checkpoints/<name>/evidence.toml`` lists the rows; everything that a row leaves out comes from ``recipe.toml`` beside
it. The result, ``evidence.json``, is written after every run, so that an interrupted table goes on where it stopped.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score

from laya import checkpoints
from laya.attribution import Settings
from laya.checkpoints import EVIDENCE
from laya.data import KNOWN, ImageSet
from laya.data.checks import check
from laya.data.sources import parts
from laya.device import machine
from laya.errors import LayaError, unknown
from laya.explanation.faithfulness import controls, deletion_at_1, spearman
from laya.files import write_json
from laya.heads import REMOVALS
from laya.intervals import Floats, paired
from laya.model import LayaClassifier, Trace
from laya.progress import OnProgress, silent
from laya.studies.evaluation import macro_f1, measure, mutual_information, traces
from laya.training import TrainingConfig, train
from laya.training.config import read_settings
from laya.training.setup import preprocessing_for

PLAN = "evidence.toml"
REFERENCE = "last_layer"  # the row that all others are compared with
FIGURES = ("accuracy", "macro_f1")


def run(
    name: str, *, row: str | None = None, seed: int | None = None, on_progress: OnProgress = silent
) -> dict[str, Any]:
    """Train and measure every row with every seed that is not measured yet, and write the table.

    Parameters
    ----------
    name : a checkpoint whose folder holds evidence.toml.
    row, seed : one row alone, one seed alone; measured again even if it was measured before.

    Returns
    -------
    The object in evidence.json: what was asked, ``runs`` with the figures of each, and ``rows`` with their means.

    Raises
    ------
    LayaError
        There is no such checkpoint, row or seed, or the data is not there.
    """
    folder = checkpoints.find(name)
    configs = plan(folder)
    rows, seeds = (list(dict.fromkeys(part)) for part in zip(*configs, strict=True))
    if row is not None and row not in rows:
        raise unknown("row", row, rows)
    if seed is not None and seed not in seeds:
        raise LayaError(f"The seeds of {folder.name!r} are 0 to {len(seeds) - 1}, not {seed}.")
    stored = {(each["row"], each["seed"]): each for each in checkpoints.read_evidence(folder).get("runs", [])}
    runs = {key: done for key, done in stored.items() if key in configs and done["recipe"] == digest(configs[key])}
    asked = [key for key in configs if row in (None, key[0]) and seed in (None, key[1])]
    todo = [key for key in asked if key not in runs or row is not None or seed is not None]
    data = next(iter(configs.values())).data
    pictures = parts(data, skip=None if data in KNOWN else check(data, on_progress=on_progress).skipped)
    for number, key in enumerate(todo):
        label = f"{key[0]}, seed {key[1]}"

        def tell(what: str, done: int, total: int, *, number: int = number, label: str = label) -> None:
            on_progress(f"{label}: {what}", round(1000 * (number + done / total)), 1000 * len(todo))

        figures = _measured(configs[key], pictures, folder / f"evidence-{digest(configs[key])[:12]}.safetensors", tell)
        runs[key] = {"row": key[0], "seed": key[1], "recipe": digest(configs[key]), **figures}
        ordered = [runs[each] for each in configs if each in runs]
        table = {
            "model": folder.name,
            "data": data,
            "command": f"python -m laya evidence {folder.name}",
            "machine": machine(),
            "common": read_settings(folder / PLAN).get("common", {}),
            "n": len(pictures[2]),
            "classes": list(pictures[0].classes),
            "rows": {each: summarise(each, ordered) for each in rows if any(each == done["row"] for done in ordered)},
            "runs": ordered,
        }
        write_json(folder / EVIDENCE, table)
    return checkpoints.read_evidence(folder)


def plan(folder: Path) -> dict[tuple[str, int], TrainingConfig]:
    """Every run of a table, by row and seed, from evidence.toml and recipe.toml.

    Raises
    ------
    LayaError
        One of them is missing or cannot be used.
    """
    settings = read_settings(folder / PLAN)
    base = read_settings(folder / "recipe.toml") | settings.get("common", {})
    base.pop("title", None)
    rows, seeds = settings.get("rows"), settings.get("seeds")
    if not isinstance(rows, dict) or not rows or type(seeds) is not int or seeds < 1:
        raise LayaError(f"The {PLAN} of {folder.name!r} needs a number of seeds and at least one row.")
    return {
        (key, number): TrainingConfig.from_dict(base | row | {"seed": number})
        for key, row in rows.items()
        for number in range(seeds)
    }


def digest(config: TrainingConfig) -> str:
    """SHA-256 of a recipe: a stored run belongs to the recipe that has the same.

    What is left at its default does not count, so that a new setting leaves old runs as they are.
    """
    plain = asdict(TrainingConfig(config.data))
    changed = {name: value for name, value in asdict(config).items() if value != plain[name]}
    return hashlib.sha256(json.dumps(changed | {"data": config.data}, sort_keys=True).encode()).hexdigest()


def _measured(
    config: TrainingConfig, parts: tuple[ImageSet, ImageSet | None, ImageSet], state: Path, on_progress: OnProgress
) -> dict[str, Any]:
    """Train by one recipe and measure on the test images."""
    data, validation, test = parts
    preprocessing = preprocessing_for(config)
    result = train(
        config, data, preprocessing, state, validation=validation, resume=state.exists(), on_progress=on_progress
    )
    test = test.matched_to(data.classes)
    seen = traces(result.model, test, preprocessing, cached=config.frozen)
    figures = measured_run(result.model, seen, test.labels, data.classes)
    state.unlink(missing_ok=True)
    return {
        "parameters": sum(p.numel() for p in result.model.head.parameters()),
        "seconds": round(sum(epoch.seconds for epoch in result.history), 1),
        "epochs": len(result.history),
        "best_epoch": result.best.epoch,
        "validation_accuracy": result.best.validation_accuracy,
        "layers": list(result.model.layers),
        **figures,
    }


def measured_run(
    model: LayaClassifier, seen: Iterator[tuple[np.ndarray, Trace]], labels: np.ndarray, classes: tuple[str, ...]
) -> dict[str, Any]:
    """The figures of one run over its test images; those about layers for heads with layer weights alone."""
    removals = [removal for removal in REMOVALS if model.head.attends or removal != "renormalise"]
    measured = measure(model, seen, Settings(), removals)
    truth = labels[measured.kept]
    figures: dict[str, Any] = {
        "accuracy": float(accuracy_score(truth, measured.predicted)),
        "macro_f1": macro_f1(truth, measured.predicted),
    }
    if not model.head.attends:
        return figures
    alpha = measured.scores["alpha"]
    scores = measured.scores | controls(len(alpha), alpha.shape[1], np.random.default_rng(0))
    return figures | {
        "alpha_mean": alpha.mean(0).tolist(),
        "alpha_mutual_information": mutual_information(alpha),
        "alpha_of_class": {
            name: alpha[truth == index].mean(0).tolist() for index, name in enumerate(classes) if index in truth
        },
        "faithfulness": {
            removal: {method: _agreement(values, effect) for method, values in scores.items()}
            for removal, effect in measured.effects.items()
        },
    }


def _agreement(scores: Floats, effects: Floats) -> dict[str, float | None]:
    ranks = spearman(scores, effects)
    defined = ranks[~np.isnan(ranks)]
    return {
        "spearman": float(defined.mean()) if len(defined) else None,
        "deletion_at_1": float(deletion_at_1(scores, effects).mean()),
    }


def summarise(row: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation over a row's seeds, and the paired difference to the row ``last_layer``.

    Pairs share the seed, and with it the held-back images and the order of the training images. The interval is
    Student's t, 95 %; None where there are fewer than two pairs.
    """
    own = {run["seed"]: run for run in runs if run["row"] == row}
    other = {run["seed"]: run for run in runs if run["row"] == REFERENCE}
    pairs = sorted(own.keys() & other.keys())
    first = next(iter(own.values()))
    summary: dict[str, Any] = {"seeds": len(own), "parameters": first["parameters"], "layers": first["layers"]}
    summary["seconds"] = _spread([run["seconds"] for run in own.values()])
    for figure in FIGURES:
        summary[figure] = _spread([run[figure] for run in own.values()])
        if row != REFERENCE:
            summary[f"{figure}_difference"] = paired([own[seed][figure] - other[seed][figure] for seed in pairs])
    if "alpha_mean" in first:
        means = np.array([run["alpha_mean"] for run in own.values()])
        summary["alpha_mean"] = {"mean": means.mean(0).tolist(), "of_seeds": means.tolist()}
        summary["alpha_mutual_information"] = _spread([run["alpha_mutual_information"] for run in own.values()])
        summary["faithfulness"] = {
            removal: {
                method: {
                    measure_: _spread([run["faithfulness"][removal][method][measure_] for run in own.values()])
                    for measure_ in ("spearman", "deletion_at_1")
                }
                for method in methods
            }
            for removal, methods in first["faithfulness"].items()
        }
    return summary


def _spread(values: list[float | None]) -> dict[str, float | None]:
    """Mean and sample standard deviation over seeds; None where they are not defined."""
    known = [value for value in values if value is not None]
    return {
        "mean": float(np.mean(known)) if known else None,
        "std": float(np.std(known, ddof=1)) if len(known) > 1 else None,
    }
