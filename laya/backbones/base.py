"""What every backbone answers."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn

from laya.inputs.preprocessing import Preprocessing


class Backbone(nn.Module, ABC):
    """A network that hands out *all* its layers' activations, as values and without hooks.

    Attributes
    ----------
    layers : tuple of str
        The layers' names for people, shallow to deep, such as ``"hidden layer 2, 256 units"``. Length L.
    widths : tuple of int
        The width d_i of each pooled hidden state. Length L.
    options : dict
        The constructor's arguments as plain JSON values; ``type(self)(**self.options)`` builds the same architecture.
    """

    name: ClassVar[str]
    layers: tuple[str, ...]
    widths: tuple[int, ...]
    options: dict[str, Any]

    @abstractmethod
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images (B, C, H, W) to L raw activations: feature maps (B, C_i, H_i, W_i), tokens or vectors (B, d_i)."""

    @property
    @abstractmethod
    def preprocessing(self) -> Preprocessing:
        """How pictures are best prepared for it, where nothing else is known about them."""

    @property
    @abstractmethod
    def layer_modules(self) -> list[nn.Module]:
        """The L modules whose outputs the activations are, for methods that hook modules."""

    def grid(self, size: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of tokens for pictures of this height and width; (0, 0) for a network without tokens."""
        return (0 * size[0], 0)

    @property
    def weights_module(self) -> nn.Module:
        """The module whose tensors a file of this backbone's weights names."""
        return self

    @property
    def unread(self) -> frozenset[str]:
        """Names that a file of the whole network's weights has as well, though no layer here depends on them."""
        return frozenset()

    def converted(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Weights of this network from elsewhere, in the names and shapes of :attr:`weights_module` where it can."""
        return tensors

    def initialise_from(self, x: Tensor) -> None:
        """Initialise what depends on the data from training images (N, C, H, W), before the training; often nothing."""

    def accepts(self, channels: int, size: tuple[int, int]) -> bool:
        """Whether it can read pictures of so many channels and of this height and width."""
        return channels > 0 and min(size) > 0

    def feature_map(self, activation: Tensor, size: tuple[int, int]) -> Tensor | None:  # noqa: ARG002
        """One raw activation by the places of the picture, (B, C, H_i, W_i), or None where nothing has a place.

        Everything that the layer passes on from a place is in it, whether :meth:`pool` reads it or not.

        Parameters
        ----------
        activation : one raw activation, or a gradient with respect to it.
        size : height and width of the pictures that went in, in pixels.
        """
        return activation if activation.dim() == 4 else None

    def places(self, activation: Tensor, size: tuple[int, int]) -> Tensor | None:
        """What every place gives to the hidden state: (B, d, H_i, W_i), or None where no place gives anything.

        The mean over the places is the last d units of :meth:`pool`; those before them have no place (a class token).
        For the parameters see :meth:`feature_map`.
        """
        return self.feature_map(activation, size)

    def pool(self, activation: Tensor) -> Tensor:
        """One raw activation to its hidden state h_i (B, d_i): a vector as it is, a feature map by its spatial mean."""
        return activation if activation.dim() == 2 else activation.mean(dim=(2, 3))
