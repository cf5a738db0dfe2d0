"""From training settings to a finished checkpoint: train, measure on the test set, write the folder and its card."""

import platform
import tomllib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from laya import checkpoints, profiles
from laya.backbones import build_backbone
from laya.cards import model_card
from laya.checks import check
from laya.datasets import KNOWN, ImageSet, open_dataset, splits
from laya.device import describe, pick_device
from laya.errors import LayaError
from laya.evaluation import evaluate
from laya.images import Preprocessing
from laya.progress import OnProgress, silent
from laya.training import TrainingConfig, TrainingResult, train

STATE = "training-state.safetensors"  # of the first seed; further ones have a number


def read(file: Path) -> dict[str, Any]:
    """Training settings from a TOML file: the fields of :class:`TrainingConfig`, and ``title``.

    Raises
    ------
    LayaError
        The file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LayaError(f"The settings file {file.name!r} cannot be read.") from error
    except (ValueError, RecursionError) as error:
        raise LayaError(f"The settings file {file.name!r} is not valid TOML: {error}.") from error


def run(
    settings: dict[str, Any],
    out: Path,
    *,
    command: str,
    resume: bool = False,
    on_progress: OnProgress = silent,
    on_complaint: Callable[[str], None] = lambda _: None,
) -> None:
    """Train by ``settings`` and write the checkpoint folder ``out``.

    While it trains, the state lies in ``out`` and a killed run goes on with ``resume``; it is removed at the end.

    Parameters
    ----------
    settings : the fields of :class:`TrainingConfig`; ``title`` names the checkpoint for people.
    command : the command line that does this, for the model card.
    on_complaint : told what is wrong with the data; the whole report goes to ``data.json``.

    Raises
    ------
    LayaError
        The settings or the data cannot be used, or ``out`` already holds a finished checkpoint and ``resume`` is on.
    """
    settings = dict(settings)
    title = str(settings.pop("title", out.name))
    config = TrainingConfig.from_dict(settings)
    state = out / STATE
    if resume and not state.exists():
        done = (out / checkpoints.METRICS).exists()
        raise LayaError(
            f"{out.name!r} is finished; there is nothing to resume."
            if done
            else f"There is no interrupted training in {out.name!r}; leave --resume out."
        )
    if config.data not in KNOWN:
        report = check(config.data, on_progress=on_progress)
        checkpoints.write_json(out / checkpoints.DATA, report.to_dict() | {"complaints": report.complaints()})
        for complaint in report.complaints():
            on_complaint(complaint)
    data, validation, test = parts(config.data)
    preprocessing = preprocessing_for(config)
    runs: list[tuple[TrainingConfig, TrainingResult]] = []
    for number in range(config.seeds):
        one = replace(config, seed=config.seed + number, seeds=1)
        file = state.with_stem(f"{state.stem}-{number}") if number else state
        go_on = resume and file.exists()
        result = train(one, data, preprocessing, file, validation=validation, resume=go_on, on_progress=on_progress)
        runs.append((one, result))
    config, result = max(runs, key=lambda run: run[1].best.validation_accuracy)  # the first of the best
    weights = checkpoints.backbone_file(config.weights) if config.weights else None
    shared = weights if config.frozen and weights and checkpoints.is_shared(weights) else None
    checkpoints.save(
        out, result.model, data.classes, preprocessing, title=title, training=asdict(config), shared=shared
    )
    checkpoint = checkpoints.load(str(out))
    if test.split is None:  # the same pictures as for training, but for those that were held back
        test = data.subset(result.held)
    metrics = evaluate(checkpoint, test, cached=config.frozen, on_progress=on_progress)
    history: dict[str, Any] = {
        "epochs": len(result.history),
        "best_epoch": result.best.epoch,
        "held_back": len(result.held),
        "validation_accuracy": result.best.validation_accuracy,
        "seconds": sum(epoch.seconds for epoch in result.history),
    }
    if len(runs) > 1:
        history["seeds"] = {str(each.seed): done.best.validation_accuracy for each, done in runs}
    metrics |= {
        "data": config.data,
        "split": test.split or "validation",
        "weights_sha256": checkpoint.weights,
        "training": history,
    }
    checkpoints.write_json(out / checkpoints.METRICS, metrics)
    depth = profiles.build(checkpoint, test, kept=False, cached=config.frozen, on_progress=on_progress)
    depth |= {"data": config.data, "split": metrics["split"]}
    checkpoints.write_json(out / checkpoints.PROFILES, depth, indent=None)
    card = model_card(out.name, title, checkpoints.read_config(out), metrics, command=command, machine=machine())
    checkpoints.write(out / checkpoints.CARD, card.encode())
    for file in out.glob(f"{state.stem}*"):
        file.unlink()


def parts(path: str) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    """What to train on, what to choose the epoch by (None where the data has no such part), and what to test on.

    Raises
    ------
    LayaError
        The data cannot be opened, or its parts have different classes.
    """
    data, test = open_dataset(path, "train"), open_dataset(path, "test")
    test.matched_to(data.classes)  # raises now, not after the training
    return data, open_dataset(path, "val") if "val" in splits(path) else None, test


def preprocessing_for(config: TrainingConfig) -> Preprocessing:
    """How pictures are prepared: a known data set's own way where a new backbone can read that, or the backbone's.

    Raises
    ------
    LayaError
        The backbone's name or options cannot be used.
    """
    with torch.device("meta"):  # the architecture alone, without weights
        backbone = build_backbone(config.backbone, config.backbone_options)
    trained = config.backbone.startswith(("timm", "torchvision")) and (config.pretrained or config.weights)
    if config.data in KNOWN and not trained:  # weights that were trained want pictures as they were trained on
        known = KNOWN[config.data].preprocessing
        if backbone.accepts(known.channels, known.size):
            return known
    return backbone.preprocessing


def machine() -> str:
    """This machine in words, for the record of a run."""
    device = describe(pick_device())
    count = torch.get_num_threads()
    threads = f", {count} thread{'s' * (count > 1)}" if device == "CPU" else ""
    return f"{device}{threads} ({platform.machine()}), Python {platform.python_version()}, torch {torch.__version__}"
