"""The multilayer perceptron of the paper's Fashion-MNIST experiment."""

from collections.abc import Sequence
from math import prod

from torch import Tensor, nn

from laya.backbones.base import Backbone
from laya.errors import LayaError, check_width
from laya.inputs.preprocessing import Preprocessing


class MLP(Backbone):
    """Fully connected layers, each Linear, LayerNorm, GELU (and dropout while training).

    Parameters
    ----------
    input_shape : (C, H, W) of the images.
    units : number of units of each hidden layer, shallow to deep.
    dropout : probability of dropping a unit of a hidden layer while training, in [0, 1).

    Raises
    ------
    LayaError
        No layer, a size below 1, or a dropout outside [0, 1).

    References
    ----------
    G. Vessio, arXiv 2511.12723: a 784-512-256-128 perceptron on Fashion-MNIST.
    """

    name = "mlp"

    def __init__(
        self,
        input_shape: Sequence[int] = (1, 28, 28),
        units: Sequence[int] = (512, 256, 128),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not 1 <= len(units) <= 256 or len(input_shape) != 3 or not 0 <= dropout < 1:
            raise LayaError(
                "An MLP needs 1 to 256 hidden layers, an input shape of channels, height and width, and a dropout "
                "in [0, 1)."
            )
        for size in (*units, *input_shape):
            check_width(size, "an MLP's size")
        self.options = {"input_shape": list(input_shape), "units": list(units), "dropout": dropout}
        self.layers = tuple(f"hidden layer {i}, {width} units" for i, width in enumerate(units, start=1))
        self.widths = tuple(units)
        self.input_shape = tuple(input_shape)
        inputs = (prod(input_shape), *units[:-1])
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(fan_in, width), nn.LayerNorm(width), nn.GELU(), nn.Dropout(dropout))
            for fan_in, width in zip(inputs, units, strict=True)
        )

    @property
    def preprocessing(self) -> Preprocessing:
        """Pictures of the input shape, pixels from 0 to 1."""
        channels, height, width = self.input_shape
        return Preprocessing((height, width), channels, (0.0,) * channels, (1.0,) * channels)

    @property
    def layer_modules(self) -> list[nn.Module]:
        """The blocks."""
        return list(self.blocks)

    def accepts(self, channels: int, size: tuple[int, int]) -> bool:
        """A perceptron reads pictures of one size alone."""
        return (channels, *size) == self.input_shape

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images (B, C, H, W) to L hidden vectors, the i-th of shape (B, units[i])."""
        hidden = x.flatten(1)
        activations = []
        for block in self.blocks:
            hidden = block(hidden)
            activations.append(hidden)
        return tuple(activations)
