"""A small convolutional network for small pictures, trained from scratch: four layers to read out, one a stage."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from laya.backbones.base import Backbone
from laya.errors import LayaError, check_width
from laya.inputs.preprocessing import Preprocessing

PATCH = 2  # edge of the patches that the stem whitens, in pixels


class Block(nn.Sequential):
    """A part of the network that also runs on both sides of a picture at once: (B, 2C, H, W), the second the mirror's.

    Both sides lie as the picture lies: what belongs to the mirror image is turned back.
    """

    def __init__(self, channels: int, *modules: nn.Module) -> None:
        super().__init__(*modules)
        self.channels = channels

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps (B, C, H, W) or (B, 2C, H, W) to as many of them."""
        if x.shape[1] == self.channels:
            one: Tensor = super().forward(x)  # type: ignore[no-untyped-call]  # torch leaves it untyped
            return one
        plain, mirrored = x.chunk(2, dim=1)
        both = torch.cat([plain, mirrored.flip(-1)]).contiguous(memory_format=torch.channels_last)
        plain, mirrored = super().forward(both).chunk(2)  # type: ignore[no-untyped-call]
        return torch.cat([plain, mirrored.flip(-1)], dim=1)


class CNN(Backbone):
    """A whitening stem and stages of two 3x3 convolutions; every stage halves the picture.

    The stem's filters are fixed: the principal axes of the training pictures' 2x2 patches, scaled to variance 1, each
    with both signs. Convolutions begin as the identity on as many channels as they can.

    Parameters
    ----------
    channels : of the pictures.
    stages : number of channels of each stage, shallow to deep.
    mirror : in evaluation mode, look at the picture's mirror image as well. An activation is then (B, 2 C_i, H_i, W_i)
        and a hidden state the mean of both sides, so that a picture and its mirror image have the same.

    Raises
    ------
    LayaError
        No stage, or a size below 1.

    References
    ----------
    K. Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU", arXiv 2404.00498: the architecture and both
    initialisations. Its last pooling is a maximum and its activation GELU; here they are the mean, so that the split of
    a logit over places is exact, and ReLU, which is faster on a CPU.
    """

    name = "cnn"

    def __init__(self, channels: int = 3, stages: Sequence[int] = (48, 160, 192), mirror: bool = False) -> None:
        super().__init__()
        if not 1 <= len(stages) <= 8:
            raise LayaError("A CNN needs 1 to 8 stages.")
        for size in (channels, *stages):
            check_width(size, "a CNN's size")
        if not isinstance(mirror, bool):
            raise LayaError("A CNN's mirror must be true or false.")
        self.options = {"channels": channels, "stages": list(stages)} | ({"mirror": True} if mirror else {})
        self.channels, self.mirror = channels, mirror
        stem = 2 * channels * PATCH**2
        self.widths = (stem, *stages)
        self.layers = (
            f"stem, {stem} channels",
            *(f"stage {i}, {width} channels" for i, width in enumerate(stages, start=1)),
        )
        whitening = nn.Conv2d(channels, stem, PATCH, bias=False).requires_grad_(False)
        self.blocks = nn.ModuleList([Block(channels, whitening, nn.ReLU())])
        for fan_in, width in zip(self.widths[:-1], stages, strict=True):
            convolutions = [nn.Conv2d(size, width, 3, padding=1, bias=False) for size in (fan_in, width)]
            for convolution in convolutions:
                nn.init.dirac_(convolution.weight[: convolution.in_channels])
            self.blocks.append(
                Block(
                    fan_in,
                    *(convolutions[0], nn.MaxPool2d(2), nn.BatchNorm2d(width), nn.ReLU()),
                    *(convolutions[1], nn.BatchNorm2d(width), nn.ReLU()),
                )
            )
        self.to(memory_format=torch.channels_last)

    @property
    def preprocessing(self) -> Preprocessing:
        """Pictures of 32 x 32 pixels from -1 to 1, or as much larger as the stages need."""
        edge = max(32, 2 ** (len(self.widths) + 1))
        return Preprocessing((edge, edge), self.channels, (0.5,) * self.channels, (0.5,) * self.channels)

    @property
    def layer_modules(self) -> list[nn.Module]:
        """The blocks."""
        return list(self.blocks)

    def accepts(self, channels: int, size: tuple[int, int]) -> bool:
        """Whether the picture has the right channels and is large enough to be halved by every stage."""
        return channels == self.channels and min(size) >= PATCH - 1 + 2 ** (len(self.widths) - 1)

    def initialise_from(self, x: Tensor) -> None:
        """Set the stem's filters from training images (N, C, H, W)."""
        patches = nn.functional.unfold(x.double(), PATCH).transpose(1, 2).flatten(0, 1)
        variances, axes = torch.linalg.eigh(torch.cov(patches.T, correction=0))
        # 5e-4 keeps directions that hardly occur from becoming noise (the value of arXiv 2404.00498).
        filters = (axes / (variances + 5e-4).sqrt()).T.reshape(-1, self.channels, PATCH, PATCH)
        with torch.no_grad():
            self.blocks[0][0].weight.copy_(torch.cat([filters, -filters]))  # type: ignore[index]

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images (B, C, H, W) to 1 + len(stages) feature maps, the i-th with widths[i] channels, or twice as many."""
        hidden = torch.cat([x, x], dim=1) if self._both else x
        hidden = hidden.contiguous(memory_format=torch.channels_last)
        activations = []
        for block in self.blocks:
            hidden = block(hidden)
            activations.append(hidden)
        return tuple(activations)

    def places(self, activation: Tensor, size: tuple[int, int]) -> Tensor | None:  # noqa: ARG002
        """What every place gives to the hidden state: (B, d, H_i, W_i), the mean of both sides where there are two."""
        return torch.stack(activation.chunk(2, dim=1)).mean(0) if self._both else activation

    def pool(self, activation: Tensor) -> Tensor:
        """A feature map to its hidden state h_i (B, d_i): its mean over the places, and over both sides."""
        pooled = activation.mean(dim=(2, 3))
        return torch.stack(pooled.chunk(2, dim=1)).mean(0) if self._both else pooled

    @property
    def _both(self) -> bool:
        return self.mirror and not self.training
