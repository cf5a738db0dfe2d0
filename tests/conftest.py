"""Shared fixtures. No test reaches the network: a connection to anything but this machine raises."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from laya import checkpoints
from laya.backbones import MLP
from laya.checkpoints import Checkpoint
from laya.heads import build_head
from laya.inputs.preprocessing import Preprocessing
from laya.model import LayaClassifier
from tests.unplugged import unplug

PROJECT = Path(__file__).parent.parent


unplug()


def make_model(
    head: str = "laya", units: tuple[int, ...] = (6, 5, 4), classes: int = 3, **options: object
) -> LayaClassifier:
    """A small random model for 1 x 8 x 8 images, always the same one."""
    torch.manual_seed(0)
    if head in ("laya", "scalar_mix"):
        options = {"dim": 7, **options}
    backbone = MLP(input_shape=(1, 8, 8), units=units)
    model = LayaClassifier(backbone, build_head(head, backbone.widths, classes, options))
    if head == "scalar_mix":  # its weights start equal; a test wants them to differ
        torch.nn.init.normal_(model.head.weights)
    return model.eval()


PREPROCESSING = Preprocessing(size=(8, 8), channels=1)
CLASSES = ("red", "green", "blue")


def only_checkpoints(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """From now on the checkpoints under these folders are all that there is."""
    monkeypatch.setenv("LAYA_CHECKPOINTS", os.pathsep.join(map(str, folders)))
    monkeypatch.setattr("laya.checkpoints.layout.SHIPPED", folders[-1])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint folder of the small model."""
    folder = tmp_path / "checkpoints" / "small"
    checkpoints.save(folder, make_model(), CLASSES, PREPROCESSING, title="Small", training={"data": "none"})
    return folder


@pytest.fixture
def checkpoint(saved: Path) -> Checkpoint:
    """The small model, loaded."""
    return checkpoints.load(str(saved))


@pytest.fixture
def noise() -> Callable[..., Image.Image]:
    """Random pictures: ``noise(mode="RGB", size=(64, 64), seed=0)``."""

    def make(mode: str = "RGB", size: tuple[int, int] = (64, 64), seed: int = 0) -> Image.Image:
        bands = len(Image.new(mode, (1, 1)).getbands())
        pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], bands), dtype=np.uint8)
        return Image.fromarray(pixels.squeeze(-1) if bands == 1 else pixels, mode)

    return make


def encode(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """An image file's bytes."""
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pack(files: dict[str, bytes]) -> bytes:
    """A zip archive's bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()
