"""LAYA on networks of every family: maps lie as the picture does; trained for two steps, saved, loaded, explained."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import laya
from laya.attribution.spatial import contribution_maps
from laya.attribution.total import total_effects
from laya.backbones import BACKBONES, build_backbone, register
from laya.checkpoints import load
from laya.errors import LayaError
from laya.heads import build_head
from laya.inputs import images
from laya.inputs.preprocessing import prepare, to_tensor
from laya.model import LayaClassifier
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


# How the modules of an architecture lay their output out, where it is not (B, C, H, W): written down here by hand, to
# be independent of what the backbone says.
CHANNELS_LAST = ["timm:swin_tiny_patch4_window7_224", "timm:test_mambaout"]
TOKENS = {  # how many stand before the patches, and the patches' edge
    "timm:test_vit": (1, 16),
    "timm:test_vit2": (1, 16),  # a register
    "timm:vit_tiny_patch16_224": (1, 16),
    "timm:vit_small_patch14_reg4_dinov2": (5, 14),
    "timm:vit_medium_patch16_gap_256": (0, 16),
}
PLACED = [name for name in SMALL if name != "sequential"] + ["timm:test_vit2", "timm:test_mambaout"]


def by_places(name: str, output: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    if name in CHANNELS_LAST:
        return output.permute(0, 3, 1, 2)
    if name in TOKENS:
        before, edge = TOKENS[name]
        return output[:, before:].transpose(1, 2).unflatten(2, (size[0] // edge, size[1] // edge))
    return output


@pytest.mark.parametrize("name", [*PLACED, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_maps_have_the_pictures_orientation_and_are_those_of_autograd(name):
    torch.manual_seed(0)
    backbone = build_backbone(name, {})
    model = LayaClassifier(backbone, build_head("laya", backbone.widths, 3, {"dim": 8})).eval()
    size = backbone.preprocessing.size
    wide = next((wide for wide in ((64, 96), (56, 84)) if backbone.accepts(3, wide)), size)  # multiples of 16, of 14
    x = torch.zeros(1, 3, *wide)
    x[..., -wide[0] // 3 :, : wide[1] // 3] = 1.0  # bright at the bottom left: no turned map looks the same
    target = torch.tensor([1])
    lit, dark = (contribution_maps(model, model.trace(each), target, wide) for each in (x, torch.zeros_like(x)))
    for each in lit:  # one side to the other as in the picture, but for a row or column that the edge costs
        height, width = each.values.shape[1:]
        assert abs(height * wide[1] - width * wide[0]) <= max(wide)
    change = (lit[0].values - dark[0].values)[0].abs()
    row, column = divmod(int(change.argmax()), change.shape[1])
    assert row >= change.shape[0] / 2
    assert column < change.shape[1] / 2
    if name.startswith("torchvision:"):  # a traced graph has no modules
        with pytest.raises(LayaError, match="need modules to hook"):
            total_effects(model, x, 1, steps=1)
        return
    result = total_effects(model, x, 1, steps=1)
    kept: list[torch.Tensor] = []

    def keep(module: nn.Module, given: object, output: torch.Tensor) -> torch.Tensor:
        output.retain_grad()
        kept.append(output)
        return output.clone()  # later modules may work in place

    for module in backbone.layer_modules:
        module.register_forward_hook(keep)
    model(x.clone().requires_grad_())[0, 1].backward()
    for each, output, ours in zip(lit, kept, result.maps, strict=True):
        value, slope = (by_places(name, tensor, wide) for tensor in (output.detach(), output.grad))
        expected = (slope.mean((2, 3), keepdim=True) * value).sum(1)[0].numpy()
        assert ours.shape == expected.shape == each.values.shape[1:]
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


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
