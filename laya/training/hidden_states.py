"""Hidden states of a frozen backbone: computed once, kept on disk, read by every head that trains on them."""

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ImageOps

from laya.backbones import Backbone
from laya.data import ImageSet, rows
from laya.device import pick_device, within_memory
from laya.errors import LayaError
from laya.files import cache
from laya.inputs.preprocessing import Preprocessing, prepare, to_tensor
from laya.model import evaluating
from laya.progress import OnProgress, silent

BATCH = 16


def hidden_states(
    backbone: Backbone,
    data: ImageSet,
    preprocessing: Preprocessing,
    *,
    mirrored: bool = False,
    on_progress: OnProgress = silent,
) -> NDArray[np.float32]:
    """The hidden states h_1..h_L of every picture, side by side: (N, d_1 + ... + d_L), read from disk as needed.

    The file's name is a hash of everything that the values depend on: the backbone's options and weights, the
    preparation, the pictures, and the versions of torch and timm. A computation that was interrupted goes on.

    Parameters
    ----------
    backbone : in any mode; it runs in evaluation mode.
    data : N pictures.
    mirrored : of the pictures flipped left to right.

    Raises
    ------
    LayaError
        A picture cannot be read, or the cache cannot be written.
    """
    file = cache() / "hidden" / f"{_key(backbone, data, preprocessing, mirrored)}.npy"
    if not file.exists():
        _compute(file, backbone, data, preprocessing, mirrored, on_progress)
    return rows.read(file)


def split(states: NDArray[np.float32], widths: tuple[int, ...]) -> list[torch.Tensor]:
    """States (B, d_1 + ... + d_L), side by side, to the L hidden states (B, d_i)."""
    return list(torch.split(torch.from_numpy(np.array(states)), list(widths), dim=1))


@within_memory()
def _compute(
    file: Path,
    backbone: Backbone,
    data: ImageSet,
    preprocessing: Preprocessing,
    mirrored: bool,
    on_progress: OnProgress,
) -> None:
    table = rows.Rows(file, (len(data), sum(backbone.widths)))
    device = pick_device()
    backbone = backbone.to(device)
    with evaluating(backbone), torch.no_grad():
        for start in range(table.done, len(data), BATCH):
            pictures = []
            for index in range(start, min(start + BATCH, len(data))):
                try:
                    picture = prepare(data.load(index), preprocessing).image
                except LayaError as error:
                    raise LayaError(f"{data.sources[index]}: {error}") from error
                pictures.append(ImageOps.mirror(picture) if mirrored else picture)
            activations = backbone(to_tensor(pictures, preprocessing).to(device))
            hidden = torch.cat([backbone.pool(activation) for activation in activations], dim=1)
            table.array[start : start + len(pictures)] = hidden.cpu().numpy()
            table.advance(start + len(pictures))
            on_progress("reading hidden states", start + len(pictures), len(data))
    table.finish()


def _key(backbone: Backbone, data: ImageSet, preprocessing: Preprocessing, mirrored: bool) -> str:
    weights = hashlib.sha256()
    for name, tensor in sorted(backbone.state_dict().items()):
        weights.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    parts: dict[str, Any] = {
        "backbone": [backbone.name, backbone.options],
        "weights": weights.hexdigest(),
        "preprocessing": asdict(preprocessing),
        "pictures": data.digest(),
        "mirrored": mirrored,
        "versions": [torch.__version__, version("timm")],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
