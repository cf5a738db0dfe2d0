"""From training settings to a finished checkpoint: train, measure on the test set, write the folder and its card."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from laya import checkpoints
from laya.checkpoints.cards import model_card
from laya.data import KNOWN
from laya.data.checks import check
from laya.data.sources import parts
from laya.device import machine
from laya.errors import LayaError
from laya.files import write, write_json
from laya.progress import OnProgress, silent
from laya.studies import profiles
from laya.studies.evaluation import evaluate
from laya.training import TrainingConfig, TrainingResult, train
from laya.training.setup import preprocessing_for

STATE = "training-state.safetensors"  # of the first seed; further ones have a number


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
        write_json(out / checkpoints.DATA, report.to_dict() | {"complaints": report.complaints()})
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
    write_json(out / checkpoints.METRICS, metrics)
    depth = profiles.build(checkpoint, test, kept=False, cached=config.frozen, on_progress=on_progress)
    depth |= {"data": config.data, "split": metrics["split"]}
    write_json(out / checkpoints.PROFILES, depth, indent=None)
    card = model_card(out.name, title, checkpoints.read_config(out), metrics, command=command, machine=machine())
    write(out / checkpoints.CARD, card.encode())
    for file in out.glob(f"{state.stem}*"):
        file.unlink()
