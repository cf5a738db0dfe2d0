"""A training recipe: its settings, checked."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from laya.errors import LayaError, unknown
from laya.training.augmentation import AUGMENTATIONS

OPTIMISERS = ("adamw", "sgd")
SCHEDULES = ("cosine", "triangle")


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


def read_settings(file: Path) -> dict[str, Any]:
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
