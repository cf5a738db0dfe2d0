"""Training a head on a frozen backbone, or both end to end; it can be killed at any moment and resumed to one end."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

from laya.data import ImageSet
from laya.device import pick_device, within_memory
from laya.errors import LayaError
from laya.heads import build_head
from laya.inputs.preprocessing import Preprocessing, normalise
from laya.model import LayaClassifier, evaluating
from laya.progress import OnProgress, silent
from laya.training.config import TrainingConfig
from laya.training.history import Epoch, best_epoch, is_over, standing
from laya.training.loss import class_weights, loss_of
from laya.training.optimisation import LOOKAHEAD, look_ahead, make_schedule, precision
from laya.training.reading import Read, _pixels, read_hidden, read_pixels
from laya.training.setup import make_backbone
from laya.training.state import TrainingState

LOOK = 2000  # training images that a backbone may look at before it is trained


@dataclass(frozen=True)
class TrainingResult:
    """The model with the best validation accuracy, and how it came to be."""

    model: LayaClassifier
    history: tuple[Epoch, ...]
    best: Epoch
    held: np.ndarray  # indices of the images that were held back


@within_memory()
def train(
    config: TrainingConfig,
    data: ImageSet,
    preprocessing: Preprocessing,
    state_file: Path,
    *,
    validation: ImageSet | None = None,
    resume: bool = False,
    on_progress: OnProgress = silent,
) -> TrainingResult:
    """Train on ``data``; ``validation``, or else a stratified share of ``data`` held back, chooses the epoch.

    The state after every epoch is in ``state_file`` (safetensors, replaced atomically). Every random draw of an epoch
    follows from the seed and the epoch's number, so a resumed run ends as an unbroken one would. At the end the head is
    centred (:meth:`laya.heads.base.Head.centre`).

    Raises
    ------
    LayaError
        The state file belongs to another recipe, a class has too few images to hold some back, or the backbone's
        weights cannot be had.
    """
    model = _build(config, len(data.classes), preprocessing)
    everything = data if validation is None else data.followed_by(validation)
    labels = torch.from_numpy(everything.labels)
    fit, held = _partition(config, data, validation)
    read = _reader(config, model, everything, preprocessing, fit, on_progress)
    weights = class_weights(labels[fit], len(data.classes)) if config.balance else None
    steps = -(-len(fit) // config.batch_size)
    state = TrainingState.begin(config, model.head if config.frozen else model, steps)
    if resume and state_file.exists():
        state.restore(state_file, config, steps)
    for number in range(len(state.history) + 1, config.epochs + 1):
        if is_over(state.history, config.patience):
            break
        begin = time.perf_counter()
        if number - 1 in config.restarts:
            state.schedule = make_schedule(config, state.optimiser, number - 1, steps)
        loss = _fit_epoch(config, model, state, read, fit, labels, weights, on_progress)
        if config.lookahead and number == config.epochs:
            state.trained.load_state_dict(state.slow)
        accuracy = _accuracy(model, read, labels, held, config.batch_size)
        state.add(Epoch(number, loss, accuracy, time.perf_counter() - begin))
        state.store(state_file, config)
    state.trained.load_state_dict(state.best)
    model.head.centre()
    return TrainingResult(model.eval(), tuple(state.history), best_epoch(state.history), held.numpy())


def _build(config: TrainingConfig, classes: int, preprocessing: Preprocessing) -> LayaClassifier:
    """The model of a recipe before its first step, if the recipe fits together."""
    with torch.random.fork_rng(enabled=True):
        torch.manual_seed(config.seed)
        backbone = make_backbone(config)
        head = build_head(config.head, backbone.widths, classes, config.head_options)
        model = LayaClassifier(backbone, head).to(pick_device())
    if config.auxiliary and not head.attends:
        raise LayaError(f"The head {config.head!r} has no layer votes to train, so auxiliary must be 0.")
    if head.scaled and not config.frozen:
        raise LayaError("A head with scaled = true needs a frozen backbone, whose states do not change in training.")
    if not backbone.accepts(preprocessing.channels, preprocessing.size):
        raise LayaError(f"The backbone {config.backbone!r} with these options cannot read the prepared pictures.")
    return model


def _reader(
    config: TrainingConfig,
    model: LayaClassifier,
    data: ImageSet,
    preprocessing: Preprocessing,
    fit: Tensor,
    on_progress: OnProgress,
) -> Read:
    """How batches are read: hidden states of a frozen backbone, or pixels, which a new backbone first looks at."""
    if config.frozen:
        model.backbone.requires_grad_(False)
        return read_hidden(config, model, data, preprocessing, fit, on_progress)
    pixels = _pixels(data, preprocessing)
    with torch.random.fork_rng(enabled=True):
        torch.manual_seed(config.seed)
        some = fit[torch.randperm(len(fit))[:LOOK]]
        model.backbone.initialise_from(normalise(pixels[some], preprocessing).to(_device(model)))
    return read_pixels(config, model, pixels, preprocessing)


def _fit_epoch(
    config: TrainingConfig,
    model: LayaClassifier,
    state: TrainingState,
    read: Read,
    fit: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    on_progress: OnProgress,
) -> float:
    """One epoch over the images ``fit``; gives the mean loss.

    Raises
    ------
    LayaError
        The loss is no longer a number.
    """
    device, number = _device(model), len(state.history) + 1
    weights = None if weights is None else weights.to(device)
    steps = -(-len(fit) // config.batch_size)
    with torch.random.fork_rng(enabled=True):
        torch.manual_seed(config.seed * 1_000_003 + number)
        loss = torch.zeros((), device=device)
        state.trained.train()
        for done, chunk in enumerate(torch.split(fit[torch.randperm(len(fit))], config.batch_size), start=1):
            with precision(config, model, device):
                step = loss_of(config, model, read(chunk, number), labels[chunk].to(device), weights)
            state.optimiser.zero_grad()
            step.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            state.optimiser.step()
            state.schedule.step()
            passed = steps * (number - 1) + done
            if config.lookahead and passed % LOOKAHEAD == 0:
                look_ahead(state.trained, state.slow, passed / (steps * config.epochs))
            loss += step.detach() * len(chunk)
            on_progress(standing(number, config.epochs, state.history), passed, steps * config.epochs)
    if not loss.isfinite():
        raise LayaError("The loss is no longer a number; train with a smaller learning_rate.")
    return float(loss) / len(fit)


def _partition(config: TrainingConfig, data: ImageSet, validation: ImageSet | None) -> tuple[Tensor, Tensor]:
    """Indices to fit on, and indices held back to choose the epoch."""
    count = len(data)
    if validation is not None:
        return torch.arange(count), torch.arange(count, count + len(validation))
    try:
        fit, held = train_test_split(
            torch.arange(count), test_size=config.validation, random_state=config.seed, stratify=data.labels
        )
    except ValueError as error:
        raise LayaError(f"{count} images are too few to hold some of each class back for validation.") from error
    return fit, held


def _accuracy(model: LayaClassifier, read: Read, labels: Tensor, subset: Tensor, size: int) -> float:
    right = 0
    with evaluating(model), torch.no_grad():
        for chunk in torch.split(subset, size):
            right += int((read(chunk, None).logits.argmax(-1).cpu() == labels[chunk]).sum())
    return right / len(subset)


def _device(model: LayaClassifier) -> torch.device:
    return next(model.parameters()).device
