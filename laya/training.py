"""Training a head on a frozen backbone, or both end to end; it can be killed at any moment and resumed to one end."""

import json
import time
from bisect import bisect_right
from collections.abc import Callable
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
from laya.backbones import Backbone, build_backbone
from laya.checkpoints import backbone_file, read_backbone_weights, write
from laya.datasets import ImageSet
from laya.device import pick_device, within_memory
from laya.errors import LayaError, unknown
from laya.heads import HeadOutput, build_head
from laya.hidden import hidden_states, split
from laya.images import Preprocessing
from laya.model import LayaClassifier, evaluating
from laya.progress import OnProgress, silent

AUGMENTATIONS = ("flip", "alternate", "shift", "cutout")
OPTIMISERS = ("adamw", "sgd")
SCHEDULES = ("cosine", "triangle")
LOOKAHEAD = 5  # steps between two steps of the slow weights (arXiv 2404.00498)
LOOK = 2000  # training images that a backbone may look at before it is trained


@dataclass(frozen=True)
class TrainingConfig:
    """A recipe. The command line is built from it and the checkpoint stores it.

    Raises
    ------
    LayaError
        A value out of its range.
    """

    data: str  # a known data set's name, a parquet file, or an image folder
    backbone: str = "mlp"  # a name from laya.backbones.BACKBONES, or timm:NAME
    backbone_options: dict[str, Any] = field(default_factory=dict)  # its constructor's arguments
    pretrained: bool = True  # begin with the weights that timm's hub has for the backbone, unless weights names a file
    weights: str = ""  # a safetensors file of the backbone's weights or of a model's that has the same backbone, or the
    # name of one in checkpoints/backbones
    frozen: bool = False  # leave the backbone as it is and train the head on its hidden states, computed once
    head: str = "laya"  # a name from laya.heads.HEADS
    head_options: dict[str, Any] = field(default_factory=dict)  # its constructor's arguments
    epochs: int = 25  # at most; early stopping may end sooner
    restarts: tuple[int, ...] = ()  # epochs after which the one-cycle schedule begins again, at half the peak before
    batch_size: int = 128  # images a step
    optimiser: str = "adamw"  # from OPTIMISERS; sgd has Nesterov's momentum
    learning_rate: float = 1e-3  # the peak of the one-cycle schedule
    schedule: str = "cosine"  # from SCHEDULES; triangle is linear, at a steady momentum of 0.85 for sgd
    bias_rate: float = 1.0  # batch norms' biases learn so many times as fast; above 1 their scales stay as they are
    lookahead: bool = False  # slow weights follow the fast ones, ever more slowly, and the fast ones return to them
    weight_decay: float = 1e-2  # decoupled for adamw
    label_smoothing: float = 0.0  # in [0, 1)
    auxiliary: float = 0.0  # weight of the mean loss of every layer's own vote W z_i + b, for heads with layer weights
    balance: bool = False  # weigh every class by one over its share of the training images
    augment: tuple[str, ...] = ()  # from AUGMENTATIONS: flip = mirror left-right by chance, alternate = mirror in
    # every other epoch, beginning by chance, shift = up to ``shift`` pixels each way, cutout = grey out a square
    shift: int = 2  # pixels
    cutout: int = 12  # edge of the square, in pixels; its centre lies anywhere in the picture
    validation: float = 0.1  # share of the training images held back, stratified; unused where the data has a val part
    patience: int = 0  # epochs without a better validation accuracy before stopping; 0 never stops early
    seed: int = 0  # of the initial weights, the held-back images, the order, dropout and augmentation
    seeds: int = 1  # runs, with seed, seed + 1, ...; the one with the best validation accuracy is kept
    mixed: bool = True  # end-to-end passes use bfloat16 where that is safe and quicker (torch.autocast)

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or not 0 < self.learning_rate < 1e3 or self.patience < 0:
            raise LayaError("epochs and batch_size must be at least 1, learning_rate above 0 and patience at least 0.")
        if not (0 <= self.label_smoothing < 1 and 0 < self.validation < 1 and 0 <= self.weight_decay < 1e3):
            raise LayaError("label_smoothing must lie in [0, 1), validation in (0, 1), weight_decay at or above 0.")
        if list(self.restarts) != sorted({each for each in self.restarts if 0 < each < self.epochs}):
            raise LayaError("restarts must be rising numbers of epochs, each above 0 and below epochs.")
        if not 0 <= self.auxiliary < 1e3:
            raise LayaError("auxiliary must be a number at or above 0.")
        if not (0 <= self.shift <= 64 and 0 <= self.cutout <= 256):
            raise LayaError("shift must be a whole number from 0 to 64 and cutout one from 0 to 256.")
        if self.optimiser not in OPTIMISERS:
            raise unknown("optimiser", self.optimiser, OPTIMISERS)
        if self.schedule not in SCHEDULES:
            raise unknown("schedule", self.schedule, SCHEDULES)
        if not 1 <= self.bias_rate < 1e3:
            raise LayaError("bias_rate must be a number from 1 to below 1000.")
        if self.frozen and set(self.augment) - {"flip"}:
            raise LayaError("With a frozen backbone the only augmentation is flip, whose hidden states are kept, too.")
        if not 1 <= self.seeds <= 100:
            raise LayaError("seeds must be a whole number from 1 to 100.")
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
            if not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
                raise LayaError(f"The training setting {name!r} cannot be {value!r}.")
        if "data" not in values:
            raise LayaError("The training settings name no data; add data = 'fashion-mnist' or the path of a folder.")
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fields)


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


# A batch's head output from the images' indices (b,); with an epoch's number the images are varied as in that epoch.
_Read = Callable[[Tensor, int | None], HeadOutput]


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
    centred (:meth:`laya.heads.Head.centre`).

    Raises
    ------
    LayaError
        The state file belongs to another recipe, a class has too few images to hold some back, or the backbone's
        weights cannot be had.
    """
    device = pick_device()
    with torch.random.fork_rng(enabled=True):
        torch.manual_seed(config.seed)
        backbone = make_backbone(config)
        head = build_head(config.head, backbone.widths, len(data.classes), config.head_options)
        model = LayaClassifier(backbone, head).to(device)
    if config.auxiliary and not head.attends:
        raise LayaError(f"The head {config.head!r} has no layer votes to train, so auxiliary must be 0.")
    if head.scaled and not config.frozen:
        raise LayaError("A head with scaled = true needs a frozen backbone, whose states do not change in training.")
    if not backbone.accepts(preprocessing.channels, preprocessing.size):
        raise LayaError(f"The backbone {config.backbone!r} with these options cannot read the prepared pictures.")
    everything = data if validation is None else data.followed_by(validation)
    labels = torch.from_numpy(everything.labels)
    fit, held = _partition(config, data, validation)
    read: _Read
    if config.frozen:
        backbone.requires_grad_(False)
        read = _read_hidden(config, model, everything, preprocessing, fit, on_progress)
    else:
        pixels = _pixels(everything, preprocessing)
        with torch.random.fork_rng(enabled=True):
            torch.manual_seed(config.seed)
            some = fit[torch.randperm(len(fit))[:LOOK]]
            backbone.look_at(images.normalise(pixels[some], preprocessing).to(device))
        read = _read_pixels(config, model, pixels, preprocessing)

    weights = class_weights(labels[fit], len(data.classes)).to(device) if config.balance else None
    trained: nn.Module = head if config.frozen else model
    steps = -(-len(fit) // config.batch_size)
    optimiser = _optimiser(config, trained)
    schedule = _schedule(config, optimiser, 0, steps)
    history: list[Epoch] = []
    best = _copy(trained)
    slow = _copy(trained) if config.lookahead else {}
    if resume and state_file.exists():
        try:
            history, best, slow, schedule = _restore(state_file, config, trained, optimiser, steps)
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise LayaError("The saved state of the training is damaged; train without --resume.") from error

    for number in range(len(history) + 1, config.epochs + 1):
        if _stopped(history, config.patience):
            break
        begin = time.perf_counter()
        if number - 1 in config.restarts:
            schedule = _schedule(config, optimiser, number - 1, steps)
        with torch.random.fork_rng(enabled=True):
            torch.manual_seed(config.seed * 1_000_003 + number)
            loss = torch.zeros((), device=device)
            trained.train()
            for done, chunk in enumerate(torch.split(fit[torch.randperm(len(fit))], config.batch_size), start=1):
                with precision(config, model, device):
                    step = _loss(config, model, read(chunk, number), labels[chunk].to(device), weights)
                optimiser.zero_grad()
                step.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                optimiser.step()
                schedule.step()
                passed = steps * (number - 1) + done
                if config.lookahead and passed % LOOKAHEAD == 0:
                    _look_ahead(trained, slow, passed / (steps * config.epochs))
                loss += step.detach() * len(chunk)
                on_progress(_standing(number, config.epochs, history), passed, steps * config.epochs)
        if config.lookahead and number == config.epochs:
            trained.load_state_dict(slow)
        accuracy = _accuracy(model, read, labels, held, config.batch_size)
        if not loss.isfinite():
            raise LayaError("The loss is no longer a number; train with a smaller learning_rate.")
        history.append(Epoch(number, float(loss) / len(fit), accuracy, time.perf_counter() - begin))
        if _best(history) == history[-1]:
            best = _copy(trained)
        _store(state_file, config, trained, optimiser, schedule, history, best, slow)

    trained.load_state_dict(best)
    head.centre()
    return TrainingResult(model.eval(), tuple(history), _best(history), held.numpy())


def make_backbone(config: TrainingConfig) -> Backbone:
    """The backbone of a recipe with the weights it begins with.

    Raises
    ------
    LayaError
        The options do not fit, or the weights cannot be had or do not fit.
    """
    options = dict(config.backbone_options)
    if config.backbone.startswith(("timm", "torchvision")) and config.pretrained and not config.weights:
        options["pretrained"] = True
    backbone = build_backbone(config.backbone, options)
    if config.weights:
        tensors, _ = read_backbone_weights(backbone_file(config.weights), backbone.weights_module.state_dict())
        backbone.weights_module.load_state_dict(tensors)
    return backbone


def precision(config: TrainingConfig, model: nn.Module, device: torch.device) -> torch.autocast:
    """The precision of the passes in training: bfloat16, which needs no scaling of the loss, where it is quicker.

    That is on a GPU that has it, and for a network with convolutions on a processor that has it: without the
    instructions it is slower than single precision, and small matrices do not make up for the conversions.
    """
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # torch has it since 2.11
        able = any(known.get(each) for each in ("avx512_bf16", "amx_bf16"))
        able = able and any(isinstance(module, nn.Conv2d) for module in model.modules())
    return torch.autocast(device.type, torch.bfloat16, enabled=able and config.mixed and not config.frozen)


def class_weights(labels: Tensor, classes: int) -> Tensor:
    """Weights (K,) that let every class count as much as any other: ``N / (K n_c)``; 0 for a class without images.

    Parameters
    ----------
    labels : (N,).
    classes : K.
    """
    counts = torch.bincount(labels, minlength=classes).float()
    return torch.where(counts > 0, len(labels) / (int((counts > 0).sum()) * counts.clamp_min(1)), 0.0)


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


def _optimiser(config: TrainingConfig, trained: nn.Module) -> torch.optim.Optimizer:
    rate, decay, times = config.learning_rate, config.weight_decay, config.bias_rate
    norms = [module for module in trained.modules() if times > 1 and isinstance(module, nn.BatchNorm2d)]
    still, quick = {id(norm.weight) for norm in norms}, {id(norm.bias) for norm in norms}
    learning = [p for p in trained.parameters() if p.requires_grad and id(p) not in still]
    groups: list[dict[str, Any]] = [{"params": [p for p in learning if id(p) not in quick]}]
    if quick:
        biases = [p for p in learning if id(p) in quick]
        groups.append({"params": biases, "lr": rate * times, "weight_decay": decay / times})  # shrinks like the rest
    if config.optimiser == "sgd":
        momentum = {"cosine": 0.9, "triangle": 0.85}[config.schedule]  # cosine moves it between 0.95 and 0.85
        return torch.optim.SGD(groups, rate, momentum=momentum, nesterov=True, weight_decay=decay)
    return torch.optim.AdamW(groups, rate, weight_decay=decay)


def _schedule(
    config: TrainingConfig, optimiser: torch.optim.Optimizer, done: int, steps: int
) -> torch.optim.lr_scheduler.OneCycleLR:
    """The schedule of the cycle that follows after ``done`` epochs of ``steps`` steps, at its beginning."""
    starts = [0, *config.restarts, config.epochs]
    cycle = bisect_right(starts, done) - 1
    length = starts[cycle + 1] - starts[cycle]
    peaks = [config.learning_rate / 2**cycle * rate for rate in (1, config.bias_rate)][: len(optimiser.param_groups)]
    triangle = {"anneal_strategy": "linear", "cycle_momentum": False, "pct_start": 0.25, "div_factor": 5}
    shape: dict[str, Any] = triangle if config.schedule == "triangle" else {}
    return torch.optim.lr_scheduler.OneCycleLR(optimiser, peaks, total_steps=steps * length, **shape)


def _copy(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def _look_ahead(trained: nn.Module, slow: dict[str, Tensor], share: float) -> None:
    """Move the slow weights towards the fast ones, the less the larger the ``share`` of the training that is done.

    References
    ----------
    M. Zhang et al., "Lookahead Optimizer", NeurIPS 2019; with the schedule of K. Jordan, arXiv 2404.00498.
    """
    kept = 0.95**LOOKAHEAD * share**3
    for name, tensor in trained.state_dict().items():
        if tensor.is_floating_point():
            slow[name].lerp_(tensor, 1 - kept)
            tensor.copy_(slow[name])
        else:
            slow[name].copy_(tensor)  # a count of batches


def _loss(
    config: TrainingConfig, model: LayaClassifier, output: HeadOutput, labels: Tensor, weights: Tensor | None = None
) -> Tensor:
    """Cross-entropy of the logits, and of every layer's own vote if the recipe says so, with ``weights`` of classes."""
    smoothing = config.label_smoothing
    loss = nn.functional.cross_entropy(output.logits, labels, weights, label_smoothing=smoothing)
    if config.auxiliary:
        votes = model.head.votes(output) + model.head.bias  # (B, L, K)
        each = labels.unsqueeze(1).expand(votes.shape[:2])
        own = nn.functional.cross_entropy(votes.flatten(0, 1), each.flatten(), weights, label_smoothing=smoothing)
        loss = loss + config.auxiliary * own
    return loss


def _read_pixels(config: TrainingConfig, model: LayaClassifier, pixels: Tensor, preprocessing: Preprocessing) -> _Read:
    device = next(model.parameters()).device

    first = torch.rand(len(pixels), generator=torch.Generator().manual_seed(config.seed)) < 0.5

    def read(indices: Tensor, epoch: int | None) -> HeadOutput:
        x = images.normalise(pixels[indices], preprocessing)
        if epoch is not None:
            x = augment(x, config.augment, first[indices] ^ bool(epoch % 2), shift=config.shift, cutout=config.cutout)
        return model.read(model.hidden_states(x.to(device)))

    return read


def _read_hidden(
    config: TrainingConfig,
    model: LayaClassifier,
    data: ImageSet,
    preprocessing: Preprocessing,
    fit: Tensor,
    on_progress: OnProgress,
) -> _Read:
    """Read from the cache; the head first looks at all images that it will be fitted on."""
    device = next(model.parameters()).device
    views = [
        hidden_states(model.backbone, data, preprocessing, mirrored=mirrored, on_progress=on_progress)
        for mirrored in ([False, True] if "flip" in config.augment else [False])
    ]

    model.head.look_at([h.to(device) for h in split(views[0][fit.numpy()], model.backbone.widths)])

    def read(indices: Tensor, epoch: int | None) -> HeadOutput:
        rows = views[0][indices.numpy()]
        if epoch is not None and len(views) > 1:
            mirrored = torch.rand(len(indices)) < 0.5
            rows[mirrored.numpy()] = views[1][indices[mirrored].numpy()]
        return model.read([h.to(device) for h in split(rows, model.backbone.widths)])

    return read


def augment(
    x: Tensor, names: tuple[str, ...], turned: Tensor | None = None, *, shift: int = 2, cutout: int = 12
) -> Tensor:
    """Vary images (B, C, H, W), each by its own draw from torch's global generator; the shape stays.

    Parameters
    ----------
    names : from AUGMENTATIONS.
    turned : (B,) which of them ``alternate`` mirrors, so that two epochs show both sides (arXiv 2404.00498).
    shift : pixels each way, at most; what comes in at the border is 0.
    cutout : edge in pixels of the square that becomes 0 (arXiv 1708.04552); at the border a part of it lies outside.
    """
    count, _, height, width = x.shape
    if "flip" in names:
        x = torch.where(torch.rand(count, 1, 1, 1) < 0.5, x.flip(-1), x)
    if "alternate" in names and turned is not None:
        x = torch.where(turned[:, None, None, None], x.flip(-1), x)
    if "shift" in names:
        padded = nn.functional.pad(x, (shift,) * 4)
        rows = torch.randint(2 * shift + 1, (count, 1)) + torch.arange(height)
        columns = torch.randint(2 * shift + 1, (count, 1)) + torch.arange(width)
        image = torch.arange(count)[:, None, None]
        x = padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    if "cutout" in names:
        rows, columns = (  # how far into the square each row and column lies
            torch.arange(size) - torch.randint(size, (count, 1)) + cutout // 2 for size in (height, width)
        )
        rows, columns = ((each >= 0) & (each < cutout) for each in (rows, columns))
        x = x.masked_fill((rows[:, :, None] & columns[:, None, :]).unsqueeze(1), 0)
    return x


def _pixels(data: ImageSet, preprocessing: Preprocessing) -> Tensor:
    """All pictures as the model sees them, (N, H, W, C) uint8."""
    prepared = []
    for index in range(len(data)):
        try:
            prepared.append(images.prepare(data.load(index), preprocessing).image)
        except LayaError as error:
            raise LayaError(f"{data.sources[index]}: {error}") from error
    return images.to_pixels(prepared, preprocessing)


def _accuracy(model: LayaClassifier, read: _Read, labels: Tensor, subset: Tensor, size: int) -> float:
    right = 0
    with evaluating(model), torch.no_grad():
        for chunk in torch.split(subset, size):
            right += int((read(chunk, None).logits.argmax(-1).cpu() == labels[chunk]).sum())
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
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    history: list[Epoch],
    best: dict[str, Tensor],
    slow: dict[str, Tensor],
) -> None:
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    tensors |= {f"slow.{name}": tensor for name, tensor in slow.items()}
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
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    steps: int,
) -> tuple[list[Epoch], dict[str, Tensor], dict[str, Tensor], torch.optim.lr_scheduler.OneCycleLR]:
    with safe_open(file, "pt") as stored:
        words = stored.metadata()
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  # not a mapping
    if TrainingConfig.from_dict(json.loads(words["config"])) != config:  # a setting that came later is at its default
        raise LayaError("The interrupted training had other settings; train without --resume, or into another folder.")

    def part(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

    model.load_state_dict(part("model."))
    history = [Epoch(**epoch) for epoch in json.loads(words["history"])]
    schedule = _schedule(config, optimiser, len(history) - 1, steps)  # the cycle of the last epoch that is done
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in part("optimiser.").items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": json.loads(words["groups"])})
    schedule.load_state_dict(json.loads(words["schedule"]))
    device = next(model.parameters()).device
    best, slow = ({k: tensor.to(device) for k, tensor in part(prefix).items()} for prefix in ("best.", "slow."))
    return history, best, slow, schedule
