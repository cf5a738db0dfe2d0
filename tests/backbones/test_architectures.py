"""LAYA on networks of every family: trained for two steps, saved, loaded, explained."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import laya
from laya.backbones import BACKBONES, register
from laya.checkpoints import load
from laya.inputs import images
from laya.inputs.preprocessing import prepare, to_tensor
from laya.recipe import run
from laya.training import train

SMALL = ["timm:test_resnet", "timm:test_vit", "sequential"]
LARGE = [
    "timm:resnet18",
    "timm:densenet121",
    "timm:convnext_atto",
    "timm:efficientnet_b0",
    "timm:mobilenetv3_small_050",
    "timm:swin_tiny_patch4_window7_224",
    "timm:vit_tiny_patch16_224",
    "timm:vit_small_patch14_reg4_dinov2",  # registers
    "timm:vit_medium_patch16_gap_256",  # no class token
    "timm:vgg11",
    "timm:regnety_002",
    "timm:davit_tiny",
    "torchvision:resnet18",
    "torchvision:convnext_tiny",
    "torchvision:swin_t",
]


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for i in range(6):
            pixels = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / name / f"{i}.png")
    return tmp_path / "pictures"


def plain() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2)),
        *(nn.Flatten(), nn.Linear(784, 9)),
    )


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_every_family_is_trained_saved_loaded_and_explained(name, pictures, tmp_path, monkeypatch):
    if name == "sequential":
        monkeypatch.setattr("laya.backbones.BACKBONES", dict(BACKBONES))
        register(name, plain, ["1", "2", "4"], size=(32, 32))
    settings = {
        "data": str(pictures),
        "backbone": name,
        "pretrained": False,
        "head_options": {"dim": 8},
        "epochs": 1,
        "batch_size": 4,  # 8 pictures to fit: two steps
        "validation": 0.34,
    }
    kept = {}

    def remember(*args: object, **options: object) -> object:
        kept["result"] = train(*args, **options)
        return kept["result"]

    monkeypatch.setattr("laya.recipe.train", remember)
    run(settings, tmp_path / "model", command="")
    trained = kept["result"].model
    checkpoint = load(str(tmp_path / "model"))
    file = pictures / "cat" / "0.png"
    prepared = prepare(images.read(file.read_bytes()).image, checkpoint.preprocessing)
    x = to_tensor([prepared.image], checkpoint.preprocessing)
    with torch.no_grad():
        torch.testing.assert_close(checkpoint.model(x), trained(x), atol=1e-5, rtol=1e-5)
    result = laya.explain(checkpoint, file)
    assert len(result.attributions["alpha"]) == len(checkpoint.model.layers) >= 3
    assert sum(result.attributions["alpha"]) == pytest.approx(1, abs=1e-5)
    assert result.completeness_error < 1e-4
    # The exact maps add up to the contributions, whatever the form of a layer.
    for each, whole in zip(laya.compare(checkpoint, file).maps, result.attributions["contribution"], strict=True):
        placed = 0.0 if each.values is None else float(each.values.sum())
        assert placed + each.placeless == pytest.approx(whole, abs=1e-4)
