"""Training a backbone with a head, end to end; it can be killed at any moment and resumed to the same end."""

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from laya import images
from laya.backbones import build_backbone
from laya.checkpoints import write
from laya.datasets import ImageSet
from laya.device import pick_device
from laya.errors import LayaError, unknown
from laya.heads import build_head
from laya.images import Preprocessing
from laya.model import LayaClassifier, evaluating
from laya.progress import OnProgress, silent

AUGMENTATIONS = ("flip", "shift")


@dataclass(frozen=True)
class TrainingConfig:
    """A recipe. The command line is built from it and the checkpoint stores it.

    Raises
    ------
    LayaError
        A value out of its range.
    """

    data: str  # a known data set's name, or an image folder
    backbone: str = "mlp"  # a name from laya.backbones.BACKBONES
    backbone_options: dict[str, Any] = field(default_factory=dict)  # its constructor's arguments
    head: str = "laya"  # a name from laya.heads.HEADS
    head_options: dict[str, Any] = field(default_factory=dict)  # its constructor's arguments
    epochs: int = 25  # at most; early stopping may end sooner
    batch_size: int = 128  # images a step
    learning_rate: float = 1e-3  # the peak of the one-cycle schedule
    weight_decay: float = 1e-2  # decoupled (AdamW)
    label_smoothing: float = 0.0  # in [0, 1)
    augment: tuple[str, ...] = ()  # from AUGMENTATIONS: flip = mirror left-right, shift = up to 2 pixels each way
    validation: float = 0.1  # share of the training images held back, stratified by class
    patience: int = 0  # epochs without a better validation accuracy before stopping; 0 never stops early
    seed: int = 0  # of the initial weights, the held-back images, the order, dropout and augmentation

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or not 0 < self.learning_rate < 1e3 or self.patience < 0:
            raise LayaError("epochs and batch_size must be at least 1, learning_rate above 0 and patience at least 0.")
        if not (0 <= self.label_smoothing < 1 and 0 < self.validation < 1 and 0 <= self.weight_decay < 1e3):
            raise LayaError("label_smoothing must lie in [0, 1), validation in (0, 1), weight_decay at or above 0.")
        if not 0 <= self.seed < 2**32:
            raise LayaError("seed must be a whole number from 0 to 4294967295.")
        for name in self.augment:
            if name not in AUGMENTATIONS:
                raise unknown("augmentation", str(name), AUGMENTATIONS)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainingConfig":
        """From parsed TOML or JSON.

        Raises
        ------
        LayaError
            A field that does not exist or a value of the wrong type; the message names it.
        """
        kinds = get_type_hints(cls)
        for name, value in values.items():
            if name not in kinds:
                raise unknown("training setting", name, kinds)
            kind = get_origin(kinds[name]) or kinds[name]
            fits = {float: (int, float), tuple: (list, tuple)}.get(kind, kind)
            if not isinstance(value, fits) or isinstance(value, bool):
                raise LayaError(f"The training setting {name!r} cannot be {value!r}.")
        if "data" not in values:
            raise LayaError("The training settings name no data; add data = 'fashion-mnist' or the path of a folder.")
        return cls(**{**values, "augment": tuple(values.get("augment", ()))})


@dataclass(frozen=True)
class Epoch:
    """One line of the training history."""

    epoch: int  # counted from 1
    loss: float  # mean training loss
    validation_accuracy: float
    seconds: float  # wall clock


@dataclass(frozen=True)
class TrainingResult:
    """The model with the best validation accuracy, and how it came to be."""

    model: LayaClassifier
    history: tuple[Epoch, ...]
    best: Epoch
    held: np.ndarray  # indices of the images that were held back


def train(
    config: TrainingConfig,
    data: ImageSet,
    preprocessing: Preprocessing,
    state_file: Path,
    *,
    resume: bool = False,
    on_progress: OnProgress = silent,
) -> TrainingResult:
    """Train on ``data``, of which a stratified share is held back to choose the epoch.

    The state after every epoch is in ``state_file`` (safetensors, replaced atomically). Every random draw of an epoch
    follows from the seed and the epoch's number, so a resumed run ends as an unbroken one would.

    Raises
    ------
    LayaError
        The state file belongs to another recipe, or a class has too few images to hold some back.
    """
    device = pick_device()
    with torch.random.fork_rng(enabled=True):
        torch.manual_seed(config.seed)
        backbone = build_backbone(config.backbone, config.backbone_options)
        model = LayaClassifier(
            backbone, build_head(config.head, backbone.widths, len(data.classes), config.head_options)
        ).to(device)
    if not backbone.accepts(preprocessing.channels, preprocessing.size):
        raise LayaError(f"The backbone {config.backbone!r} with these options cannot read the prepared pictures.")
    pixels, labels = _pixels(data, preprocessing)
    try:
        fit, held = train_test_split(
            torch.arange(len(labels)), test_size=config.validation, random_state=config.seed, stratify=labels
        )
    except ValueError as error:
        raise LayaError(f"{len(labels)} images are too few to hold some of each class back for validation.") from error

    steps = -(-len(fit) // config.batch_size)
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.learning_rate, total_steps=steps * config.epochs)
    history: list[Epoch] = []
    best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    if resume and state_file.exists():
        try:
            history, best = _restore(state_file, config, model, optimiser, schedule)
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise LayaError("The saved state of the training is damaged; train without --resume.") from error

    for number in range(len(history) + 1, config.epochs + 1):
        if _stopped(history, config.patience):
            break
        begin = time.perf_counter()
        with torch.random.fork_rng(enabled=True):
            torch.manual_seed(config.seed * 1_000_003 + number)
            loss = torch.zeros((), device=device)
            model.train()
            for done, chunk in enumerate(torch.split(fit[torch.randperm(len(fit))], config.batch_size), start=1):
                x = augment(images.normalise(pixels[chunk], preprocessing), config.augment).to(device)
                step = nn.functional.cross_entropy(
                    model(x), labels[chunk].to(device), label_smoothing=config.label_smoothing
                )
                optimiser.zero_grad()
                step.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                optimiser.step()
                schedule.step()
                loss += step.detach() * len(chunk)
                on_progress(
                    _standing(number, config.epochs, history), steps * (number - 1) + done, steps * config.epochs
                )
        accuracy = _accuracy(model, pixels, labels, held, preprocessing, config.batch_size)
        if not loss.isfinite():
            raise LayaError("The loss is no longer a number; train with a smaller learning_rate.")
        history.append(Epoch(number, float(loss) / len(fit), accuracy, time.perf_counter() - begin))
        if _best(history) == history[-1]:
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        _store(state_file, config, model, optimiser, schedule, history, best)

    model.load_state_dict(best)
    return TrainingResult(model.eval(), tuple(history), _best(history), held.numpy())


def augment(x: Tensor, names: tuple[str, ...]) -> Tensor:
    """Vary images (B, C, H, W), each by its own draw from torch's global generator; the shape stays."""
    count, _, height, width = x.shape
    if "flip" in names:
        x = torch.where(torch.rand(count, 1, 1, 1) < 0.5, x.flip(-1), x)
    if "shift" in names:
        padded = nn.functional.pad(x, (2, 2, 2, 2))
        rows = torch.randint(5, (count, 1)) + torch.arange(height)
        columns = torch.randint(5, (count, 1)) + torch.arange(width)
        image = torch.arange(count)[:, None, None]
        x = padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    return x


def _pixels(data: ImageSet, preprocessing: Preprocessing) -> tuple[Tensor, Tensor]:
    """All pictures as the model sees them, (N, H, W, C) uint8, with their labels (N,)."""
    prepared = []
    for index in range(len(data)):
        try:
            prepared.append(images.prepare(data.load(index), preprocessing).image)
        except LayaError as error:
            raise LayaError(f"{data.sources[index]}: {error}") from error
    return images.to_pixels(prepared, preprocessing), torch.from_numpy(data.labels)


def _accuracy(
    model: LayaClassifier, pixels: Tensor, labels: Tensor, subset: Tensor, preprocessing: Preprocessing, size: int
) -> float:
    device = next(model.parameters()).device
    right = 0
    with evaluating(model), torch.no_grad():
        for chunk in torch.split(subset, size):
            predicted = model(images.normalise(pixels[chunk], preprocessing).to(device)).argmax(-1)
            right += int((predicted.cpu() == labels[chunk]).sum())
    return right / len(subset)


def _best(history: list[Epoch]) -> Epoch:
    """The first epoch with the highest validation accuracy."""
    return max(history, key=lambda epoch: epoch.validation_accuracy)


def _stopped(history: list[Epoch], patience: int) -> bool:
    return bool(history) and patience > 0 and len(history) - _best(history).epoch >= patience


def _standing(number: int, epochs: int, history: list[Epoch]) -> str:
    reached = f", best validation accuracy {_best(history).validation_accuracy:.4f}" if history else ""
    return f"epoch {number} of {epochs}{reached}"


# --- the state between epochs: safetensors only, nothing is ever unpickled -------------------------------------------


def _store(
    file: Path,
    config: TrainingConfig,
    model: LayaClassifier,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    history: list[Epoch],
    best: dict[str, Tensor],
) -> None:
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    state = optimiser.state_dict()
    tensors |= {
        f"optimiser.{i}.{name}": value for i, values in state["state"].items() for name, value in values.items()
    }
    words = {
        "config": json.dumps(asdict(config), sort_keys=True),
        "history": json.dumps([asdict(epoch) for epoch in history]),
        "groups": json.dumps(state["param_groups"]),
        "schedule": json.dumps(schedule.state_dict()),
    }
    write(file, serialise({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata=words))


def _restore(
    file: Path,
    config: TrainingConfig,
    model: LayaClassifier,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
) -> tuple[list[Epoch], dict[str, Tensor]]:
    with safe_open(file, "pt") as stored:
        words = stored.metadata()
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  # not a mapping
    if words["config"] != json.dumps(asdict(config), sort_keys=True):
        raise LayaError("The interrupted training had other settings; train without --resume, or into another folder.")

    def part(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

    model.load_state_dict(part("model."))
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in part("optimiser.").items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": json.loads(words["groups"])})
    schedule.load_state_dict(json.loads(words["schedule"]))
    device = next(model.parameters()).device
    best = {name: tensor.to(device) for name, tensor in part("best.").items()}
    return [Epoch(**epoch) for epoch in json.loads(words["history"])], best
