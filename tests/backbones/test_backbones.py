"""The convolutional network, timm's and torchvision's, one's own: what comes out of every layer, and in which form."""

import pytest
import timm
import torch
import torchvision
from PIL import Image

import laya
from laya import checkpoints
from laya.backbones import BACKBONES, CNN, Timm, Torchvision, build_backbone, register
from laya.errors import LayaError
from laya.heads import build_head
from laya.inputs.preprocessing import Preprocessing
from laya.model import LayaClassifier
from laya.recipe import run
from laya.training import TrainingConfig
from laya.training.setup import preprocessing_for
from tests.conftest import only_checkpoints

TINY = "test_vit"  # timm's own model for tests: 6 blocks of width 64, 16-pixel patches, class token


def test_the_cnn_halves_the_picture_at_every_stage():
    backbone = CNN(stages=(5, 6, 7)).eval()
    activations = backbone(torch.rand(2, 3, 32, 32))
    assert [tuple(a.shape[1:]) for a in activations] == [(24, 31, 31), (5, 15, 15), (6, 7, 7), (7, 3, 3)]
    assert backbone.widths == (24, 5, 6, 7)
    assert backbone.layers == ("stem, 24 channels", "stage 1, 5 channels", "stage 2, 6 channels", "stage 3, 7 channels")
    assert backbone.accepts(3, (32, 32))
    assert not backbone.accepts(1, (32, 32))
    assert not backbone.accepts(3, (8, 32))  # the last stage would have nothing left
    backbone(torch.rand(1, 3, 9, 9))  # the smallest that it accepts
    assert backbone.accepts(3, (9, 9))


def test_the_stem_whitens_the_patches_of_the_images_that_it_looked_at():
    torch.manual_seed(0)
    base = torch.randn(64, 3, 9, 9)
    x = torch.nn.functional.avg_pool2d(base, 3, stride=1, padding=1) * torch.tensor([1.0, 0.5, 2.0]).view(3, 1, 1)
    backbone = CNN(stages=(4,))
    backbone.initialise_from(x)
    responses = backbone.blocks[0][0](x)[:, :12].permute(0, 2, 3, 1).reshape(-1, 12)
    covariance = torch.cov(responses.T)
    off = covariance - torch.diag(covariance.diagonal())
    assert off.abs().max() < 0.02  # uncorrelated
    assert ((covariance.diagonal() > 0.8) & (covariance.diagonal() < 1.01)).all()  # of variance 1, but for the floor
    assert torch.equal(backbone.blocks[0][0].weight[12:], -backbone.blocks[0][0].weight[:12])


def test_the_stem_is_not_trained():
    assert [name for name, p in CNN().named_parameters() if not p.requires_grad] == ["blocks.0.0.weight"]


def test_a_mirroring_cnn_sees_a_picture_and_its_mirror_image_alike():
    torch.manual_seed(0)
    plain, backbone = CNN(stages=(5, 6)).eval(), CNN(stages=(5, 6), mirror=True).eval()
    backbone.load_state_dict(plain.state_dict())
    x = torch.rand(2, 3, 32, 32)
    seen = []
    for block in backbone.layer_modules:
        block.register_forward_hook(lambda module, given, output: seen.append(output))
    with torch.no_grad():
        left, right, both, turned = plain(x), plain(x.flip(-1)), backbone(x), backbone(x.flip(-1))
    for i, activation in enumerate(both):
        assert torch.equal(activation, seen[i])
        mean = (left[i] + right[i].flip(-1)) / 2
        torch.testing.assert_close(backbone.places(activation, (32, 32)), mean)
        torch.testing.assert_close(backbone.pool(activation), mean.mean((2, 3)))
        torch.testing.assert_close(backbone.places(turned[i], (32, 32)), mean.flip(-1))
        torch.testing.assert_close(backbone.pool(turned[i]), mean.mean((2, 3)))
    backbone.train()
    assert [activation.shape[1] for activation in backbone(x)] == list(backbone.widths)  # one side alone
    assert build_backbone("cnn", backbone.options).mirror
    assert not build_backbone("cnn", plain.options).mirror
    with pytest.raises(LayaError, match="mirror must be true or false"):
        CNN(mirror="no")


@pytest.mark.parametrize("tokens", ["class+patches", "patches", "class"])
def test_a_transformers_blocks_are_those_that_hooks_see(tokens):
    backbone = Timm(TINY, tokens).eval()
    seen = []
    for block in backbone.model.blocks:
        block.register_forward_hook(lambda module, args, output: seen.append(output))
    x = torch.rand(2, 3, 160, 160)
    with torch.no_grad():
        activations = backbone(x)
    assert len(activations) == len(seen) == len(backbone.layers) == 6
    for i, tokens_ in enumerate(seen):
        torch.testing.assert_close(activations[i], tokens_)
        parts = {"class": [tokens_[:, 0]], "patches": [tokens_[:, 1:].mean(1)]}
        expected = torch.cat([part for name in tokens.split("+") for part in parts[name]], dim=1)
        torch.testing.assert_close(backbone.pool(activations[i]), expected)
        assert backbone.widths[i] == expected.shape[1]
    assert backbone.layers[1] == "block 2 of 6"


def test_another_size_is_read_if_the_patches_fit():
    backbone = Timm(TINY).eval()
    assert backbone(torch.rand(1, 3, 64, 96))[0].shape[1] == 1 + 4 * 6
    assert backbone.accepts(3, (64, 96))
    assert not backbone.accepts(3, (64, 100))


def slow(*values: object) -> object:
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "prefix"),  # how many tokens of each kind stand before the patches
    [
        ("test_vit", {"cls_token": 1}),
        ("test_vit2", {"reg_token": 1}),
        ("test_vit_relpos", {}),  # an architecture of its own, without any
        ("deit_tiny_distilled_patch16_224", {"cls_token": 1, "dist_token": 1}),
        ("vit_tiny_patch16_dinov3_qkvb", {"cls_token": 1, "reg_token": 4}),  # Eva
        ("eva02_tiny_patch14_224", {"cls_token": 1}),
        slow("vit_small_patch14_reg4_dinov2", {"cls_token": 1, "reg_token": 4}),
        slow("vit_little_patch16_reg4_gap_256", {"reg_token": 4}),
        slow("vit_dwee_patch16_reg1_gap_256", {"reg_token": 1}),
        slow("vit_medium_patch16_rope_reg1_gap_256", {"reg_token": 1}),  # Eva
        slow("vit_medium_patch16_gap_256", {}),
        slow("vit_relpos_medium_patch16_cls_224", {"cls_token": 1}),
        slow("vitamin_small_224", {}),  # convolutions before the blocks
        slow("beit_base_patch16_224", {"cls_token": 1}),
        slow("deit3_small_patch16_224", {"cls_token": 1}),  # joined after the position embedding
    ],
)
def test_the_tokens_before_the_patches_are_told_apart(name, prefix):
    """Where a kind stands is found out by moving its parameter and looking what enters the first block."""
    torch.manual_seed(0)
    backbone = Timm(name).eval()
    entering = []
    backbone.model.blocks[0].register_forward_pre_hook(lambda block, given: entering.append(given[0].detach()))
    x = torch.rand(1, 3, *backbone.preprocessing.size)
    with torch.no_grad():
        activation = backbone(x)[-1]
        stands = {}
        for kind in prefix:
            parameter = getattr(backbone.model, kind)
            before = parameter.clone()
            parameter.add_(1.0)
            backbone(x)
            parameter.copy_(before)
            stands[kind] = (entering[-1] != entering[0]).any(-1)[0].nonzero().flatten().tolist()
    assert {kind: len(rows) for kind, rows in stands.items()} == prefix
    patches = list(range(sum(prefix.values()), activation.shape[1]))
    assert not any(row in patches for rows in stands.values() for row in rows)
    expected = {"patches": activation[:, patches].mean(1)}
    if "cls_token" in prefix:
        expected["class"] = activation[:, stands["cls_token"][0]]
        expected["class+patches"] = torch.cat([expected["class"], expected["patches"]], dim=1)
        assert backbone.tokens == "class+patches"
    else:
        assert backbone.tokens == "patches"
        for tokens in ("class", "class+patches"):
            with pytest.raises(LayaError, match=f"{name}' has no class token; choose tokens = 'patches'"):
                Timm(name, tokens)
    for tokens, hidden in expected.items():
        backbone.tokens = tokens
        torch.testing.assert_close(backbone.pool(activation), hidden)
        places = backbone.places(activation, x.shape[2:])
        if tokens == "class":
            assert places is None
        else:
            torch.testing.assert_close(places.flatten(2), activation[:, patches].transpose(1, 2))


@pytest.mark.parametrize("name", ["vit_tiny_r_s16_p8_224", slow("vitamin_small_224")])
def test_convolutions_before_the_patches_count_in_the_grid(name):
    backbone = Timm(name).eval()
    edge = backbone.model.feature_info[-1]["reduction"]
    size = (2 * edge, 3 * edge)
    assert backbone.accepts(3, size)
    assert not backbone.accepts(3, (2 * edge, 3 * edge + 1))
    with torch.no_grad():
        activation = backbone(torch.rand(1, 3, *size))[0]
    assert backbone.grid(size) == (2, 3)
    assert backbone.places(activation, size).shape[2:] == (2, 3)


def test_what_timm_does_not_know_is_refused():
    with pytest.raises(LayaError, match="no timm model called 'vit_smal_patch16_224'"):
        build_backbone("timm:vit_smal_patch16_224", {})
    with pytest.raises(LayaError, match="no choice of tokens called 'all'"):
        Timm(TINY, "all")


@pytest.mark.parametrize("name", ["test_resnet", "test_convnext", "test_efficientnet", "test_vit3"])
def test_whatever_timm_hands_out_is_read_stage_by_stage(name):
    torch.manual_seed(0)
    backbone = Timm(name).eval()
    size = backbone.preprocessing.size
    x = torch.rand(2, 3, *size)
    seen: dict[int, torch.Tensor] = {}
    for i, module in enumerate(backbone.layer_modules):
        module.register_forward_hook(lambda m, given, output, i=i: seen.__setitem__(i, output))
    with torch.no_grad():
        activations = backbone(x)
    assert len(activations) == len(seen) == len(backbone.widths) == len(backbone.layers)
    for i, activation in enumerate(activations):
        torch.testing.assert_close(activation, seen[i])  # what timm's own module gave
        pooled = backbone.pool(activation)
        assert pooled.shape == (2, backbone.widths[i])
        means = backbone.places(activation, size).mean((2, 3))
        own = slice(backbone.widths[i] // 2, None) if backbone.prefix and backbone.tokens != "patches" else slice(None)
        torch.testing.assert_close(means, pooled[:, own], atol=1e-5, rtol=1e-4)
    again = build_backbone("timm", backbone.options)
    assert again.widths == backbone.widths


def test_a_network_of_one_size_takes_no_other():
    with torch.device("meta"):
        swin = Timm("swin_tiny_patch4_window7_224")
    assert swin.accepts(3, (224, 224))
    assert not swin.accepts(3, (192, 192))
    assert swin.widths == (96, 192, 384, 768)


def test_missing_weights_are_named_with_the_way_out(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(LayaError, match=r"weights of 'vit_tiny_patch16_224' .* --weights.* --no-pretrained"):
        Timm("vit_tiny_patch16_224", pretrained=True)


@pytest.mark.parametrize("backbone", [lambda: CNN(stages=(4,)), lambda: Timm(TINY)], ids=["cnn", "timm"])
def test_a_whole_models_file_gives_its_backbones_weights(backbone, tmp_path):
    from safetensors.torch import save_file

    torch.manual_seed(0)
    trained, other = backbone(), backbone()
    model = LayaClassifier(trained, build_head("laya", trained.widths, 3, {"dim": 5}))
    file = tmp_path / "model.safetensors"
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors, file)
    read, _ = checkpoints.read_backbone_weights(file, other.weights_module.state_dict())
    other.weights_module.load_state_dict(read)
    for name, tensor in trained.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
    save_file({name: each for name, each in tensors.items() if name.startswith("head.")}, file)
    with pytest.raises(LayaError, match=r"'model\.safetensors'"):
        checkpoints.read_backbone_weights(file, other.weights_module.state_dict())


def test_a_checkpoint_shares_a_file_of_backbone_weights(tmp_path, monkeypatch):
    from safetensors.torch import save_file

    only_checkpoints(monkeypatch, tmp_path)
    torch.manual_seed(0)
    source = timm.create_model(TINY, num_classes=0, dynamic_img_size=True)
    shared = tmp_path / "backbones" / "tiny.safetensors"
    shared.parent.mkdir()
    save_file({name: tensor.half() for name, tensor in source.state_dict().items()}, shared)
    backbone = Timm(TINY)
    backbone.model.load_state_dict({name: t.half().float() for name, t in source.state_dict().items()})
    model = LayaClassifier(backbone, build_head("laya", backbone.widths, 3, {"dim": 5})).eval()
    preprocessing = Preprocessing((64, 64), 3, (0.5,) * 3, (0.5,) * 3)
    assert checkpoints.is_shared(shared)
    folder = tmp_path / "art"
    checkpoints.save(folder, model, ("a", "b", "c"), preprocessing, title="Art", training={}, shared=shared)
    assert (folder / "model.safetensors").stat().st_size < shared.stat().st_size / 4
    x = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(checkpoints.load("art").model(x), model(x))
    save_file({name: tensor.half() * 2 for name, tensor in source.state_dict().items()}, shared)
    with pytest.raises(LayaError, match=r"'tiny\.safetensors' are not the ones that 'art' was trained on"):
        checkpoints.load("art")
    shared.unlink()
    with pytest.raises(LayaError, match=r"needs the backbone weights 'tiny\.safetensors'; put them into"):
        checkpoints.load("art")


def test_a_backbone_says_how_pictures_are_prepared_for_it():
    tiny = Timm(TINY).preprocessing
    config = timm.get_pretrained_cfg(TINY)
    assert (tiny.size, tiny.channels, tiny.interpolation) == ((224, 224), 3, "bicubic")
    assert (tiny.mean, tiny.std) == (config.mean, config.std)
    assert Timm("vit_small_patch14_dinov2").preprocessing.mean == (0.485, 0.456, 0.406)
    assert CNN(stages=(4,) * 5).accepts(3, CNN(stages=(4,) * 5).preprocessing.size)


def test_a_folder_is_prepared_as_the_backbone_wants_and_a_known_set_in_its_own_way():
    def prepared(**settings: object) -> Preprocessing:
        return preprocessing_for(TrainingConfig.from_dict({"pretrained": False} | settings))

    assert prepared(data="folder", backbone=f"timm:{TINY}").size == (224, 224)
    assert prepared(data="fashion-mnist", backbone="mlp").recipe == "garment"
    assert prepared(data="fashion-mnist", backbone=f"timm:{TINY}").channels == 3
    # Trained weights want pictures of the size that they were trained on; new ones take the data set's.
    assert prepared(data="cifar10", backbone="timm:test_resnet").size == (32, 32)
    trained = prepared(data="cifar10", backbone="timm:test_resnet", pretrained=True)
    assert trained.size == timm.get_pretrained_cfg("test_resnet").input_size[1:]


# --- cut out of other networks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("resnet18", (64, 64, 128, 256, 512)),
        ("convnext_tiny", (96, 192, 384, 768)),
        ("swin_t", (96, 192, 384, 768)),
        ("vit_b_16", (768,) * 12),
    ],
)
def test_torchvision_is_read_where_the_resolution_changes(name, widths):
    with torch.device("meta"):
        backbone = build_backbone(f"torchvision:{name}", {})
        assert backbone.widths == widths
        assert build_backbone("torchvision", backbone.options).layers == backbone.layers
    assert backbone.preprocessing.size == (224, 224)


def test_torchvision_gives_the_values_of_its_own_modules():
    torch.manual_seed(0)
    backbone = Torchvision("resnet18", ["layer1", "layer2", "layer4"]).eval()
    torch.manual_seed(0)
    network = torchvision.models.resnet18().eval()
    network.load_state_dict(backbone.model.state_dict(), strict=False)
    seen = []
    for module in (network.layer1, network.layer2, network.layer4):
        module.register_forward_hook(lambda m, given, output: seen.append(output))
    x = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        network(x)
        for value, expected in zip(backbone(x), seen, strict=True):
            torch.testing.assert_close(value, expected)
            torch.testing.assert_close(backbone.pool(value), expected.mean((2, 3)))


def test_what_torchvision_does_not_have_is_refused(monkeypatch):
    with pytest.raises(LayaError, match="no torchvision model called 'resnet19'"):
        build_backbone("torchvision:resnet19", {})
    with pytest.raises(LayaError, match="no layer of one of the names 'layer9'"):
        Torchvision("resnet18", ["layer9"])

    def no_network(*args: object, **kwargs: object) -> None:
        raise OSError

    monkeypatch.setattr("torch.hub.load_state_dict_from_url", no_network)
    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", no_network)
    with pytest.raises(LayaError, match=r"weights of 'resnet18' .* --weights.* --no-pretrained"):
        Torchvision("resnet18", pretrained=True)


class Own(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 4, 3)
        self.body = torch.nn.Conv2d(4, 6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(self.stem(x).relu()).mean((2, 3))


def test_a_network_of_ones_own_is_registered_trained_and_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr("laya.backbones.BACKBONES", dict(BACKBONES))
    register("own", Own, ["stem", "body"], size=(16, 16))
    with pytest.raises(LayaError, match="a backbone called 'own' already"):
        register("own", Own, ["stem"], size=(16, 16))
    for label, name in enumerate(("dark", "light")):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(20):
            Image.new("RGB", (16, 16), (40 + 150 * label + i,) * 3).save(tmp_path / "data" / name / f"{i}.png")
    settings = {"data": str(tmp_path / "data"), "backbone": "own", "head_options": {"dim": 5}, "epochs": 2}
    run(settings, tmp_path / "model", command="python mine.py")
    loaded = checkpoints.load(str(tmp_path / "model"))
    assert loaded.model.layers == ("stem, 4 channels", "body, 6 channels")
    assert laya.explain(loaded, Image.new("RGB", (16, 16), "white")).attributions["alpha"]
    monkeypatch.setattr("laya.backbones.BACKBONES", dict(BACKBONES))
    with pytest.raises(LayaError, match="no backbone called 'own'"):
        checkpoints.load(str(tmp_path / "model"))


def test_a_network_that_cannot_be_traced_is_refused():
    class Wild(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(LayaError, match="cannot be traced"):
        register("wild", Wild, ["x"], size=(8, 8))
