"""A batch of images to the head's output: from pixels, or from hidden states that were computed once."""

from collections.abc import Callable

import torch
from torch import Tensor

from laya.data import ImageSet
from laya.errors import LayaError
from laya.heads import HeadOutput
from laya.inputs.preprocessing import Preprocessing, normalise, prepare, to_pixels
from laya.model import LayaClassifier
from laya.progress import OnProgress
from laya.training.augmentation import augment
from laya.training.config import TrainingConfig
from laya.training.hidden_states import hidden_states, split

# A batch's head output from the images' indices (b,); with an epoch's number the images are varied as in that epoch.
Read = Callable[[Tensor, int | None], HeadOutput]


def read_pixels(config: TrainingConfig, model: LayaClassifier, pixels: Tensor, preprocessing: Preprocessing) -> Read:
    """Read through the whole network, from pixels (N, H, W, C), uint8, that are varied while training."""
    device = next(model.parameters()).device

    first = torch.rand(len(pixels), generator=torch.Generator().manual_seed(config.seed)) < 0.5

    def read(indices: Tensor, epoch: int | None) -> HeadOutput:
        x = normalise(pixels[indices], preprocessing)
        if epoch is not None:
            x = augment(x, config.augment, first[indices] ^ bool(epoch % 2), shift=config.shift, cutout=config.cutout)
        return model.read(model.hidden_states(x.to(device)))

    return read


def read_hidden(
    config: TrainingConfig,
    model: LayaClassifier,
    data: ImageSet,
    preprocessing: Preprocessing,
    fit: Tensor,
    on_progress: OnProgress,
) -> Read:
    """Read from the cache; the head first looks at all images that it will be fitted on."""
    device = next(model.parameters()).device
    views = [
        hidden_states(model.backbone, data, preprocessing, mirrored=mirrored, on_progress=on_progress)
        for mirrored in ([False, True] if "flip" in config.augment else [False])
    ]

    model.head.fit_scale([h.to(device) for h in split(views[0][fit.numpy()], model.backbone.widths)])

    def read(indices: Tensor, epoch: int | None) -> HeadOutput:
        rows = views[0][indices.numpy()]
        if epoch is not None and len(views) > 1:
            mirrored = torch.rand(len(indices)) < 0.5
            rows[mirrored.numpy()] = views[1][indices[mirrored].numpy()]
        return model.read([h.to(device) for h in split(rows, model.backbone.widths)])

    return read


def _pixels(data: ImageSet, preprocessing: Preprocessing) -> Tensor:
    """All pictures as the model sees them, (N, H, W, C) uint8."""
    prepared = []
    for index in range(len(data)):
        try:
            prepared.append(prepare(data.load(index), preprocessing).image)
        except LayaError as error:
            raise LayaError(f"{data.sources[index]}: {error}") from error
    return to_pixels(prepared, preprocessing)
