"""From training settings to a finished checkpoint: train, measure on the test set, write the folder and its card."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from laya import checkpoints
from laya.checkpoints.cards import model_card
from laya.data import KNOWN, ImageSet
from laya.data.checks import check
from laya.data.sources import parts
from laya.device import machine
from laya.errors import LayaError
from laya.files import write, write_json
from laya.inputs.preprocessing import Preprocessing
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
    strict: bool = False,
    on_progress: OnProgress = silent,
    on_complaint: Callable[[str], None] = lambda _: None,
) -> None:
    """Train by ``settings`` and write the checkpoint folder ``out``.

    While it trains, the state lies in ``out`` and a killed run goes on with ``resume``; it is removed at the end.

    Parameters
    ----------
    settings : the fields of :class:`TrainingConfig`; ``title`` names the checkpoint for people.
    command : the command line that does this, for the model card.
    strict : refuse pictures that cannot be read, instead of leaving them out.
    on_complaint : told what is wrong with the data; the whole report goes to ``data.json``.

    Raises
    ------
    LayaError
        The settings or the data cannot be used, or ``out`` already holds a finished checkpoint and ``resume`` is on.
    """
    settings = dict(settings)
    title = str(settings.pop("title", out.name))
    config = TrainingConfig.from_dict(settings)
    if resume:
        _check_interrupted(out)
    skip: dict[str, tuple[int, ...]] = {}
    if config.data not in KNOWN:
        report = check(config.data, on_progress=on_progress)
        write_json(out / checkpoints.DATA, report.to_dict() | {"complaints": report.complaints()})
        for complaint in report.complaints():
            on_complaint(complaint)
        if strict:
            report.refuse_unreadable()
        skip = report.skipped
    data, validation, test = parts(config.data, skip=skip)
    preprocessing = preprocessing_for(config)
    runs: list[tuple[TrainingConfig, TrainingResult]] = []
    for number in range(config.seeds):
        one = replace(config, seed=config.seed + number, seeds=1)
        file = _state_file(out, number)
        go_on = resume and file.exists()
        result = train(one, data, preprocessing, file, validation=validation, resume=go_on, on_progress=on_progress)
        runs.append((one, result))
    config, result = max(runs, key=lambda run: run[1].best.validation_accuracy)  # the first of the best
    _save(out, config, result, data.classes, preprocessing, title)
    if test.split is None:  # the same pictures as for training, but for those that were held back
        test = data.subset(result.held)
    _measure(out, config, test, _history(result, runs), on_progress)
    metrics = checkpoints.read_metrics(out)
    search = (out / checkpoints.SEARCH).read_text() if (out / checkpoints.SEARCH).is_file() else ""
    card = model_card(
        out.name, title, checkpoints.read_config(out), metrics, command=command, machine=machine(), search=search
    )
    write(out / checkpoints.CARD, card.encode())
    for number in range(len(runs)):
        _state_file(out, number).unlink()


def _state_file(out: Path, number: int) -> Path:
    """Where the state of the run with the n-th seed lies."""
    return out / STATE if number == 0 else (out / STATE).with_stem(f"{Path(STATE).stem}-{number}")


def _check_interrupted(out: Path) -> None:
    if _state_file(out, 0).exists():
        return
    if (out / checkpoints.METRICS).exists():
        raise LayaError(f"{out.name!r} is finished; there is nothing to resume.")
    raise LayaError(f"There is no interrupted training in {out.name!r}; leave --resume out.")


def _save(
    out: Path,
    config: TrainingConfig,
    result: TrainingResult,
    classes: tuple[str, ...],
    preprocessing: Preprocessing,
    title: str,
) -> None:
    """The checkpoint itself; a frozen backbone whose weights can be shared is named, not copied."""
    weights = checkpoints.backbone_file(config.weights) if config.weights else None
    shared = weights if config.frozen and weights and checkpoints.is_shared(weights) else None
    checkpoints.save(out, result.model, classes, preprocessing, title=title, training=asdict(config), shared=shared)


def _history(result: TrainingResult, runs: list[tuple[TrainingConfig, TrainingResult]]) -> dict[str, Any]:
    """What metrics.json says of the training."""
    history: dict[str, Any] = {
        "epochs": len(result.history),
        "best_epoch": result.best.epoch,
        "held_back": len(result.held),
        "validation_accuracy": result.best.validation_accuracy,
        "seconds": sum(epoch.seconds for epoch in result.history),
    }
    if len(runs) > 1:
        history["seeds"] = {str(each.seed): done.best.validation_accuracy for each, done in runs}
    return history


def _measure(
    out: Path, config: TrainingConfig, test: ImageSet, history: dict[str, Any], on_progress: OnProgress
) -> None:
    """Write metrics.json and profiles.json of a saved checkpoint."""
    checkpoint = checkpoints.load(str(out))
    origin = {"data": config.data, "split": test.split or "validation"}
    metrics = evaluate(checkpoint, test, cached=config.frozen, on_progress=on_progress)
    metrics |= {**origin, "weights_sha256": checkpoint.weights, "training": history}
    write_json(out / checkpoints.METRICS, metrics)
    depth = profiles.build(checkpoint, test, kept=False, cached=config.frozen, on_progress=on_progress)
    write_json(out / checkpoints.PROFILES, depth | origin, indent=None)
