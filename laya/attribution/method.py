"""What a layer-attribution method is, and the settings that every method reads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from laya.errors import LayaError, unknown
from laya.heads import REMOVALS, Removal, check_tau
from laya.model import LayaClassifier, Trace
from laya.scores import LayerScores

Family = Literal["intrinsic", "post-hoc", "measured"]


@dataclass(frozen=True)
class Settings:
    """What a person can set about an explanation. A result carries the settings that made it.

    Raises
    ------
    LayaError
        A value out of its range.
    """

    tau: float | None = None  # softmax temperature of the layer weights; None is the checkpoint's own
    removal: Removal = "zero-term"  # what "removing a layer" means
    steps: int = 50  # integration steps of Integrated Gradients

    def __post_init__(self) -> None:
        if self.removal not in REMOVALS:
            raise unknown("meaning of removal", self.removal, REMOVALS)
        if self.tau is not None:
            check_tau(self.tau)
        if type(self.steps) is not int or not 1 <= self.steps <= 1000:
            raise LayaError(f"Integrated Gradients takes 1 to 1000 steps, not {self.steps}.")


Compute = Callable[[LayaClassifier, Trace, Tensor, Settings], Tensor]


@dataclass(frozen=True)
class Method:
    """One way to give every layer one number for one target class.

    Attributes
    ----------
    id : the name in JSON, on the command line and in code.
    label : the name for people.
    family : ``intrinsic`` reads the model's own forward pass, ``post-hoc`` asks the gradients afterwards, ``measured``
        takes layers away and looks.
    description : one sentence in plain words, with the unit of the raw value.
    colour : hex colour, the same wherever the method is drawn (Okabe-Ito).
    unit : the unit of the raw values.
    compute : (model, trace of B images, target classes (B,), settings) to scores (B, L).
    needs_weights : the method reads layer weights, which only the attending heads have.
    """

    id: str
    label: str
    family: Family
    description: str
    colour: str
    unit: str
    compute: Compute
    needs_weights: bool = False

    def scores(self, values: tuple[float, ...]) -> LayerScores:
        """One image's values (L,) together with what a chart needs to draw them."""
        return LayerScores(self.id, self.label, self.family, self.description, self.colour, self.unit, values)
