"""The cache of hidden states: right values, computed once, gone on with after a kill, kept apart by content."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from laya.backbones import CNN
from laya.data import ImageSet
from laya.inputs.preprocessing import Preprocessing, to_tensor
from laya.training.hidden_states import hidden_states, split

PREPROCESSING = Preprocessing((9, 9), 3, (0.4,) * 3, (0.2,) * 3)


@pytest.fixture
def data(tmp_path, monkeypatch) -> ImageSet:
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path))
    monkeypatch.setattr("laya.training.hidden_states.BATCH", 4)
    pixels = np.random.default_rng(0).integers(0, 256, (10, 9, 9, 3), dtype=np.uint8)
    return ImageSet("noise", ("a", "b"), np.arange(10) % 2, lambda i: pixels[i], [str(i) for i in range(10)])


@pytest.fixture
def backbone() -> CNN:
    torch.manual_seed(0)
    return CNN(stages=(4, 5))


def expected(backbone: CNN, data: ImageSet, change=lambda picture: picture) -> np.ndarray:
    rows = []
    with torch.no_grad():
        for index in range(len(data)):
            x = to_tensor([change(data.load(index))], PREPROCESSING)
            rows.append(torch.cat([a.mean((2, 3)) for a in backbone.eval()(x)], dim=1)[0].numpy())
    return np.stack(rows)


def test_the_rows_are_the_pooled_states_of_every_picture(backbone, data):
    rows = hidden_states(backbone, data, PREPROCESSING)
    np.testing.assert_allclose(rows, expected(backbone, data), atol=1e-5)
    mirrored = hidden_states(backbone, data, PREPROCESSING, mirrored=True)
    np.testing.assert_allclose(mirrored, expected(backbone, data, ImageOps.mirror), atol=1e-5)
    parts = split(rows[2:5], backbone.widths)
    assert [tuple(part.shape) for part in parts] == [(3, 24), (3, 4), (3, 5)]
    assert torch.equal(torch.cat(parts, 1), torch.tensor(rows[2:5]))


def test_they_are_computed_once_and_kept_apart_by_everything_that_they_depend_on(backbone, data, tmp_path, monkeypatch):
    calls = []
    forward = CNN.forward
    monkeypatch.setattr(CNN, "forward", lambda self, x: calls.append(len(x)) or forward(self, x))
    first = hidden_states(backbone, data, PREPROCESSING)
    assert calls == [4, 4, 2]
    assert np.array_equal(hidden_states(backbone, data, PREPROCESSING), first)
    assert calls == [4, 4, 2]
    hidden_states(backbone, data, Preprocessing((9, 9), 3, (0.4,) * 3, (0.3,) * 3))
    hidden_states(backbone, data.subset(np.arange(8)), PREPROCESSING)
    with torch.no_grad():
        backbone.blocks[1][0].weight[0, 0, 0, 0] += 0.1
    hidden_states(backbone, data, PREPROCESSING)
    assert calls == [4, 4, 2] * 2 + [4, 4] + [4, 4, 2]
    assert len(list(tmp_path.glob("hidden/*.npy"))) == 4


def test_a_killed_computation_goes_on_where_it_stopped(backbone, data, tmp_path, monkeypatch):
    def kill(what: str, done: int, total: int) -> None:
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hidden_states(backbone, data, PREPROCESSING, on_progress=kill)
    calls = []
    forward = CNN.forward
    monkeypatch.setattr(CNN, "forward", lambda self, x: calls.append(len(x)) or forward(self, x))
    rows = hidden_states(backbone, data, PREPROCESSING)
    assert calls == [2]
    np.testing.assert_allclose(rows, expected(backbone, data), atol=1e-5)
    assert [file.suffix for file in (tmp_path / "hidden").iterdir()] == [".npy"]


def test_the_digest_is_of_the_pictures_alone():
    pixels = np.zeros((2, 3, 3), np.uint8)
    one = ImageSet("a", ("x", "y"), np.array([0, 1]), lambda i: pixels[i], ["", ""])
    two = ImageSet("b", ("y", "x"), np.array([1, 0]), lambda i: pixels[i], ["1", "2"])
    other = ImageSet("a", ("x", "y"), np.array([0, 1]), lambda i: pixels[i] + i, ["", ""])
    assert one.digest() == two.digest() != other.digest()
    assert Image.fromarray(pixels[0]).size == (3, 3)
