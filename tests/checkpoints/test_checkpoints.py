"""Saving and loading: strict, atomic, never unpickled, and every kind of damage with its own sentence (H16, H18)."""

import hashlib
import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from laya import checkpoints
from laya.checkpoints import CONFIG, WEIGHTS, Card, load
from laya.errors import LayaError
from laya.files import write_json
from laya.heads import HEADS
from laya.intervals import Interval
from tests.conftest import CLASSES, PREPROCESSING, make_model, only_checkpoints, pack


def edit_config(folder: Path, **changes: object) -> None:
    file = folder / CONFIG
    settings = json.loads(file.read_text()) | changes
    file.write_text(json.dumps(settings))


def replace_weights(folder: Path, data: bytes) -> None:
    """Other bytes as weights, with the hash made to fit, so that only the bytes themselves can be the problem."""
    (folder / WEIGHTS).write_bytes(data)
    edit_config(folder, weights_sha256=hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("head", HEADS)
def test_what_is_loaded_predicts_what_was_saved(head, tmp_path):
    model = make_model(head)
    checkpoints.save(tmp_path / "x", model, CLASSES, PREPROCESSING, title="X", training={})
    loaded = load(str(tmp_path / "x"))
    x = torch.rand(5, 1, 8, 8)
    assert torch.equal(loaded.model(x.to(loaded.device)).cpu(), model(x).detach())
    assert loaded.classes == CLASSES
    assert loaded.preprocessing == PREPROCESSING
    assert not any(module.training for module in loaded.model.modules())
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())


def test_a_checkpoint_is_found_by_name_and_by_path(saved, monkeypatch):
    only_checkpoints(monkeypatch, saved.parent)
    assert load("small").weights == load(str(saved)).weights
    with pytest.raises(LayaError, match=r"no checkpoint called 'smal'\. Did you mean 'small'\? Known: small"):
        load("smal")
    with pytest.raises(LayaError, match="no checkpoint"):
        load("../small")


class Bomb:
    """Unpickling this leaves a mark."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def test_a_pickle_is_never_opened_whatever_its_name(saved, tmp_path):
    marker = tmp_path / "marker"
    pickles = [pickle.dumps(Bomb(marker))]
    torch.save(Bomb(marker), tmp_path / "module.pt")
    pickles.append((tmp_path / "module.pt").read_bytes())
    for data in pickles:
        replace_weights(saved, data)
        with pytest.raises(LayaError, match="a pickle under another name, which can run code and is never opened"):
            load(str(saved))
    (saved / WEIGHTS).rename(saved / "model.pt")
    with pytest.raises(LayaError, match="are in a pickle file, which can run code and is never opened; convert"):
        load(str(saved))
    for data in pickles:
        (tmp_path / "resnet.pth").write_bytes(data)
        with pytest.raises(
            LayaError, match=r"'resnet\.pth' are a pickle, which .* never opened; .*save_file\(torch\.load"
        ):
            checkpoints.read_backbone_weights(tmp_path / "resnet.pth", {"x": torch.zeros(1)})
    assert not marker.exists()


def test_a_damaged_header_is_not_taken_for_a_pickle(saved):
    """A safetensors file whose header has 128 bytes begins with the byte that a pickle begins with."""
    header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 9]}}).ljust(128).encode()
    replace_weights(saved, len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(LayaError, match="are damaged or cut off; copy the file again"):
        load(str(saved))


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (lambda good: b"", "an empty file"),
        (lambda good: good[:4], "cut off"),
        (lambda good: good[:-40], "cut off"),
        (lambda good: good[: len(good) // 2], "cut off"),
        (lambda good: (2**40).to_bytes(8, "little") + good[8:], "cut off or not a safetensors file"),
        (lambda good: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (lambda good: good[:8] + b"{" * 20 + good[28:], "damaged"),
        (lambda good: b"<!DOCTYPE html><html></html>", "a web page and not the file itself; download it again"),
        (
            lambda good: b'{"metadata": {}, "weight_map": {}}',
            "a JSON file; if it is the index of weights .*, join them",
        ),
        (
            lambda good: pack({"x.npy": b""}),
            r"an archive of NumPy arrays; save them with safetensors\.numpy\.save_file",
        ),
        (lambda good: pack({"model.safetensors": good}), "in a zip archive; unpack it first"),
    ],
)
def test_damaged_weights_are_named_by_their_damage(saved, data, cause):
    replace_weights(saved, data((saved / WEIGHTS).read_bytes()))
    with pytest.raises(LayaError, match=cause) as caught:
        load(str(saved))
    assert str(saved.parent) not in str(caught.value)  # no path of the server


def test_weights_that_do_not_fit_are_refused(saved, tmp_path):
    good = load_file(saved / WEIGHTS)

    def rewritten(tensors: dict[str, torch.Tensor]) -> bytes:
        save_file(tensors, tmp_path / "w")
        return (tmp_path / "w").read_bytes()

    name = "head.classifier.bias"
    for tensors, cause in (
        ({k: v for k, v in good.items() if k != name}, f"23 of 24 tensors fit, 1 is missing, '{name}'\\.$"),
        (good | {"more": torch.zeros(1)}, r"24 of 24 tensors fit, 1 is too many, 'more'\.$"),
        (
            good | {name: torch.zeros(9)},
            rf"23 of 24 tensors fit, 1 has another shape \('{name}': \(9,\), not \(3,\)\)\.$",
        ),
        (
            {f"module.model.{k}": v for k, v in good.items()},
            r"config\.json: 0 of 24 tensors fit, 24 are missing, such as 'backbone\.blocks\.0\.0\.bias' and .*, 24 are "
            r"too many, such as 'module\.model\.back.*; every name begins with 'module\.model\.': save the model",
        ),
        (
            good | {name: torch.zeros(3, dtype=torch.float16)},
            rf"number type torch.float16, .* in '{name}'; save them as f",
        ),
        (good | {name: torch.zeros(3, dtype=torch.int8)}, r"torch\.int8, .*; give weights that are not quantised"),
        (good | {name: torch.tensor([0.0, torch.nan, 0.0])}, "holds values that are not numbers"),
    ):
        replace_weights(saved, rewritten(tensors))
        with pytest.raises(LayaError, match=cause):
            load(str(saved))


def test_one_flipped_bit_is_noticed(saved):
    data = bytearray((saved / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (saved / WEIGHTS).write_bytes(data)
    with pytest.raises(LayaError, match=r"are not the ones that its config\.json names"):
        load(str(saved))


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"classes": ["a", "b"]}, r"2 have another shape \(such as 'head\.classifier\.bias': \(3,\), not \(2,\)\)\.$"),
        ({"classes": ["a"]}, "at least 2 class names"),
        ({"classes": ["a", "a", "b"]}, "names a class twice"),
        ({"classes": [1, 2, 3]}, "at least 2 class names"),
        ({"classes": "abc"}, "no usable 'classes'"),
        ({"backbone": {"name": "mlp"}}, "no usable 'backbone'"),
        ({"backbone": {"name": "resnet", "options": {}}}, "no backbone called 'resnet'"),
        (
            {"backbone": {"name": "mlp", "options": {"units": [10**9, 10**9, 10**9]}}},
            "An MLP's size must be a whole number",
        ),
        ({"backbone": {"name": "mlp", "options": {"units": "many"}}}, "An MLP's size must be a whole number"),
        ({"head": {"name": "laya", "options": {"dim": "wide"}}}, "adapters' width must be a whole number"),
        ({"head": {"name": "laya", "options": {"scorer_width": -1}}}, "scorer's width must be"),
        ({"head": {"name": "laya", "options": {"psi_width": 2**62}}}, "Psi's width must be"),
        ({"head": {"name": "laya", "options": {"tau": 1e-45}}}, "tau must be a number from"),
        ({"head": {"name": "laya", "options": {"depth": 3}}}, "do not fit"),
        ({"classes": ["a", "b", "\ud800"]}, "printable characters"),
        ({"preprocessing": {}}, "must have the fields"),
        ({"head": []}, "no usable 'head'"),
        ({"preprocessing": {"size": [8, 8], "blur": 3}}, "must have the fields"),
        ({"laya_format": 99}, "not that of a LAYA checkpoint"),
        ({"backbone": {"name": "timm", "options": {"model": 5}}}, "no timm model called 5"),
        ({"backbone": {"name": "torchvision", "options": {"model": "vit_h_14"}}}, "do not fit the backbone"),
        ({"backbone": {"name": "mlp", "options": {"units": [1] * 257}}}, "1 to 256 hidden layers"),
        (
            {"backbone": {"name": "mlp", "options": {}, "weights": {"file": "x" * 300, "sha256": ""}}},
            "backbone weights",
        ),
        ({"classes": ["a", "b", "c" * 256]}, "of 1 to 255 printable characters"),
        ({"classes": [str(number) for number in range(65_537)]}, "needs at least 2 class names"),
    ],
)
def test_a_config_that_is_wrong_is_refused(saved, changes, cause):
    edit_config(saved, **changes)
    with pytest.raises(LayaError, match=cause):
        load(str(saved))


def test_a_config_that_is_not_json_is_refused(saved):
    for text, cause in (("{", "not readable JSON"), ("[]", "not a JSON object"), ("[" * 100_000, "not readable JSON")):
        (saved / CONFIG).write_text(text)
        with pytest.raises(LayaError, match=cause):
            load(str(saved))
    (saved / CONFIG).unlink()
    with pytest.raises(LayaError, match=r"has no config\.json, so it is not a checkpoint"):
        load(str(saved))


def test_a_broken_checkpoint_is_listed_with_its_problem_and_hurts_no_other(saved, monkeypatch):
    only_checkpoints(monkeypatch, saved.parent)
    broken = saved.parent / "broken"
    broken.mkdir()
    (broken / CONFIG).write_text("{")
    (saved.parent / "not a checkpoint").mkdir()
    first, second = checkpoints.available()
    assert (first.name, first.problem) == ("broken", "The config.json of 'broken' is not readable JSON.")
    assert (second.name, second.title, second.classes, second.problem) == ("small", "Small", 3, None)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "metrics.json"
    write_json(file, {"accuracy": 0.5})
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda fd: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(LayaError, match=r"'metrics\.json' cannot be written there: disk full"):
            write_json(file, {"accuracy": 0.9})
    assert json.loads(file.read_text()) == {"accuracy": 0.5}
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.json"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(file, {"accuracy": float("nan")})


def test_new_weights_under_an_old_config_are_refused(saved, monkeypatch):
    """Killed between the two files of a save: nothing loads half of each."""

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    other = make_model()
    with torch.no_grad():
        other.head.classifier.bias += 1
    monkeypatch.setattr("laya.checkpoints.store.write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(saved, other, CLASSES, PREPROCESSING, title="Small", training={})
    with pytest.raises(LayaError, match=r"are not the ones that its config\.json names"):
        load(str(saved))


def test_samples_are_named_by_their_files(saved):
    (saved / "samples").mkdir()
    for name in ("10_ankle_boot.png", "02_t-shirt.png", "README.md"):
        (saved / "samples" / name).touch()
    assert list(checkpoints.samples(str(saved))) == ["T-shirt", "Ankle boot"]


@pytest.mark.parametrize(
    "changes",
    [
        {"mean": ["a"]},
        {"mean": [None]},
        {"std": [0.0]},
        {"std": [1e-46]},
        {"size": []},
        {"size": [8]},
        {"size": [8.0, 8.0]},
        {"size": 8},
        {"channels": True},
        {"channels": 1.0},
        {"channels": 3},
        {"recipe": "cubism"},
        {"interpolation": ["bilinear"]},
        {"interpolation": 5},
        {"interpolation": {}},
        {"recipe": None},
        {"mean": [10**400]},
        {"std": [10**400]},
        {"size": [1025, 8]},
    ],
)
def test_preprocessing_that_no_model_could_use_is_refused(saved, changes):
    edit_config(saved, preprocessing=json.loads((saved / CONFIG).read_text())["preprocessing"] | changes)
    with pytest.raises(LayaError):
        load(str(saved))


@pytest.mark.parametrize(
    "changes", [{"size": [8, 9]}, {"size": [4, 16]}, {"channels": 3, "mean": [0] * 3, "std": [1] * 3}]
)
def test_preprocessing_must_fit_the_backbone(saved, changes):
    edit_config(saved, preprocessing=json.loads((saved / CONFIG).read_text())["preprocessing"] | changes)
    with pytest.raises(LayaError, match="gives pictures that its backbone cannot read"):
        load(str(saved))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_json_holds_no_numbers_that_are_none(saved, number):
    file = saved / CONFIG
    file.write_text(file.read_text().replace('"mean": [\n      0.0', f'"mean": [\n      {number}'))
    assert number in file.read_text()
    with pytest.raises(LayaError, match="not readable JSON"):
        load(str(saved))


def test_damaged_figures_are_a_problem_of_their_checkpoint_alone(saved, monkeypatch):
    only_checkpoints(monkeypatch, saved.parent)
    weights = json.loads((saved / CONFIG).read_text())["weights_sha256"]
    (saved / "metrics.json").write_text(json.dumps({"accuracy": "x", "weights_sha256": weights}))
    (entry,) = checkpoints.available()
    assert entry.problem == "The metrics.json of 'small' has no usable 'accuracy'."
    (saved / "metrics.json").write_text(json.dumps({"accuracy": 0.5, "weights_sha256": "of other weights"}))
    (entry,) = checkpoints.available()
    assert (entry.problem, entry.accuracy) == (None, None)  # figures of other weights are no figures
    edit_config(saved, title=5)
    assert "no usable 'title'" in checkpoints.available()[0].problem


RANK = {"mean": 0.8, "low": 0.7, "high": 0.9, "n": 20}


def write_figures(folder: Path, **figures: object) -> None:
    """A metrics.json of the folder's own weights."""
    weights = json.loads((folder / CONFIG).read_text())["weights_sha256"]
    (folder / "metrics.json").write_text(json.dumps({"weights_sha256": weights} | figures))


def test_a_loaded_checkpoint_knows_its_card(saved):
    assert load(str(saved)).card is None
    undefined = {"mean": None, "low": None, "high": None, "n": 0}
    rows = {"alpha": {"spearman": RANK, "deletion_at_1": {}}, "uniform": {"spearman": undefined}}
    write_figures(saved, faithfulness=rows, split="validation")
    card = load(str(saved)).card
    assert card == Card({"alpha": Interval(0.8, 0.7, 0.9, 20), "uniform": Interval(None, None, None, 0)}, "validation")
    assert card.images == "held-back images"
    write_figures(saved, faithfulness=rows, split="test")
    assert load(str(saved)).card.images == "test images"
    write_figures(saved, accuracy=0.5)
    assert load(str(saved)).card is None
    write_figures(saved, faithfulness=rows, weights_sha256="of other weights")
    assert load(str(saved)).card is None


@pytest.mark.parametrize(
    "figures",
    [
        {"faithfulness": []},
        {"faithfulness": "x"},
        {"faithfulness": {"alpha": {}}},
        {"faithfulness": {"alpha": {"spearman": 0.5}}},
        {"faithfulness": {"alpha": {"spearman": {"mean": 0.5}}}},
        {"faithfulness": {"alpha": {"spearman": RANK | {"mean": "x"}}}},
        {"faithfulness": {"alpha": {"spearman": RANK | {"mean": True}}}},
        {"faithfulness": {"alpha": {"spearman": RANK | {"high": 1.5}}}},
        {"faithfulness": {"alpha": {"spearman": RANK | {"n": "x"}}}},
        {"faithfulness": {"alpha": {"spearman": RANK}}, "split": 5},
    ],
)
def test_a_card_that_says_nothing_usable_is_refused(saved, figures):
    write_figures(saved, **figures)
    with pytest.raises(LayaError, match=r"^The metrics\.json of 'small' has no usable 'faithfulness'\.$"):
        load(str(saved))


def test_a_name_that_can_be_no_path_is_not_found():
    for name in ("a" * 300, "", "x\0y"):
        with pytest.raises(LayaError, match="no checkpoint called"):
            load(name)


# --- several folders, and archives ------------------------------------------------------------------------------------


def test_checkpoints_lie_in_several_folders(saved, tmp_path, monkeypatch):
    other = tmp_path / "more"
    shutil.copytree(saved, other / "second")
    shutil.copytree(saved, other / "small")  # a name that is taken
    only_checkpoints(monkeypatch, saved.parent, other, tmp_path / "none")
    assert [(entry.name, entry.folder) for entry in checkpoints.available()] == [
        ("second", other / "second"),
        ("small", saved),
    ]
    assert load("second").name == "second"
    assert load("small").folder == saved


def test_a_folder_of_ones_own_stands_beside_ours(saved, monkeypatch):
    monkeypatch.setattr("laya.checkpoints.layout.SHIPPED", saved.parent)
    other = saved.parent.parent / "more"
    shutil.copytree(saved, other / "small")
    shutil.copytree(saved, other / "second")
    monkeypatch.setenv("LAYA_CHECKPOINTS", str(other))
    assert [entry.folder for entry in checkpoints.available()] == [other / "second", other / "small"]  # one's own first
    monkeypatch.delenv("LAYA_CHECKPOINTS")
    assert [entry.folder for entry in checkpoints.available()] == [saved]


def test_a_folder_without_weights_says_what_it_has_instead(saved):
    (saved / WEIGHTS).rename(saved / "weights.safetensors")
    with pytest.raises(LayaError, match=r"'small' has no model\.safetensors; is it 'weights\.safetensors'\?"):
        load(str(saved))
    (saved / "weights.safetensors").rename(saved / "model-00001-of-00002.safetensors")
    with pytest.raises(LayaError, match=r"'small' are cut into several files; join them .*, as model\.safetensors"):
        load(str(saved))


def test_a_number_type_that_torch_does_not_have_is_named(saved):
    header = json.dumps({"x": {"dtype": "F8_E8M0", "shape": [4], "data_offsets": [0, 4]}}).encode()
    replace_weights(saved, len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(LayaError, match="numbers of the type F8_E8M0, which torch cannot read; save them as float32"):
        load(str(saved))


@pytest.mark.parametrize("inside", ["", "my model/", "runs/2024/my model/", "runs\\my model\\"])
def test_a_zip_becomes_a_checkpoint(saved, tmp_path, inside):
    files = {inside + file.name: file.read_bytes() for file in saved.iterdir()}
    files |= {inside + "evil.py": b"import os", "../../outside.json": b"{}", inside + "samples/x.png": b"x"}
    place = tmp_path / "place"
    folder = checkpoints.unpack(pack(files), "my model.zip", place)
    assert folder == place / "mymodel"
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["checkpoints", "place"]
    assert load(str(folder)).weights == load(str(saved)).weights


def test_of_several_checkpoints_in_a_zip_the_outermost_is_taken(saved, tmp_path):
    good = {file.name: file.read_bytes() for file in saved.iterdir()}
    backup = {f"backup/old/{name}": b"no checkpoint" for name in good}
    folder = checkpoints.unpack(pack(backup | good | {"backup/metrics.json": b"{"}), "x.zip", tmp_path / "one")
    assert load(str(folder)).weights == load(str(saved)).weights
    both = {f"{place}/{name}": data for place in ("first", "second") for name, data in good.items()}
    with pytest.raises(LayaError, match=r"'x\.zip' holds 2 checkpoints, such as 'first' and 'second'; pack one alone"):
        checkpoints.unpack(pack(both), "x.zip", tmp_path / "two")
    apart = {f"{name}/{name}": data for name, data in good.items()}
    with pytest.raises(LayaError, match=r"no checkpoint: pack model\.safetensors and config\.json, .*, in one folder"):
        checkpoints.unpack(pack(apart), "x.zip", tmp_path / "apart")
    with pytest.raises(LayaError, match="no checkpoint: a pickle can run code and is never opened; pack"):
        checkpoints.unpack(pack({"config.json": b"{}", "pytorch_model.bin": b""}), "x.zip", tmp_path / "pickle")


def test_a_zip_may_bring_the_backbone_weights_that_its_config_names(tmp_path, monkeypatch):
    only_checkpoints(monkeypatch, tmp_path)
    model = make_model()
    shared = tmp_path / "tiny.safetensors"
    save_file(model.backbone.state_dict(), shared)
    checkpoints.save(tmp_path / "art", model, CLASSES, PREPROCESSING, title="Art", training={}, shared=shared)
    files = {file.name: file.read_bytes() for file in (tmp_path / "art").iterdir()}
    with pytest.raises(LayaError, match=r"needs the backbone weights 'tiny\.safetensors'; .* or beside its own model"):
        checkpoints.unpack(pack(files), "art.zip", tmp_path / "without")
    more = {"tiny.safetensors": shared.read_bytes(), "other.safetensors": b"x"}
    folder = checkpoints.unpack(pack(files | more), "art.zip", tmp_path / "with")
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors", "tiny.safetensors"]
    x = torch.rand(2, 1, 8, 8)
    assert torch.equal(load(str(folder)).model.cpu()(x), model(x))


def test_useless_archives_are_refused(saved, tmp_path, monkeypatch):
    whole = {file.name: file.read_bytes() for file in saved.iterdir()}
    cases = {
        "not a zip archive": b"no archive",
        "holds no checkpoint": pack({"config.json": b"{}"}),
        "not readable JSON": pack(whole | {"config.json": b"{"}),
        "damaged or cut off": pack(whole | {"model.safetensors": whole["model.safetensors"][:-9]}),
        "a pickle under another name": pack(whole | {"model.safetensors": b"\x80\x04K\x01."}),
    }
    for number, (message, data) in enumerate(cases.items()):
        with pytest.raises(LayaError, match=message):
            checkpoints.unpack(data, "x.zip", tmp_path / str(number))
    monkeypatch.setattr("laya.checkpoints.zips.ARCHIVE_BYTES", 2000)
    with pytest.raises(LayaError, match="unpacks to more than"):
        checkpoints.unpack(pack(whole | {"README.md": bytes(10**6)}), "x.zip", tmp_path / "large")
    assert not (tmp_path / "large").exists()


def test_a_config_that_asks_for_a_download_is_refused(saved):
    settings = json.loads((saved / "config.json").read_text())
    settings["backbone"] = {"name": "timm", "options": {"model": "vit_tiny_patch16_224", "pretrained": True}}
    (saved / "config.json").write_text(json.dumps(settings))
    with pytest.raises(LayaError, match="asks for a download"):
        load(str(saved))


def test_a_message_stays_short_whatever_it_quotes(saved):
    for options in ({"units": ["x" * 5000]}, {"x" * 5000: 1}):
        edit_config(saved, backbone={"name": "mlp", "options": options})
        with pytest.raises(LayaError) as caught:
            load(str(saved))
        assert len(str(caught.value)) < 500
    edit_config(saved, backbone={"name": "timm", "options": {"model": ""}})
    with pytest.raises(LayaError, match=r" and 1,\d{3} more\.$"):  # timm knows over a thousand
        load(str(saved))


def test_a_config_is_not_read_beyond_its_limit(saved, monkeypatch):
    for reader in ("metadata", "zips"):
        monkeypatch.setattr(f"laya.checkpoints.{reader}.JSON_BYTES", 100)
    with pytest.raises(LayaError, match=r"The config\.json of 'small' has more than"):
        load(str(saved))
    with pytest.raises(LayaError, match="unpacks to more than the limit"):
        checkpoints.unpack(
            pack({file.name: file.read_bytes() for file in saved.iterdir()}), "x.zip", saved.parent / "y"
        )


def test_a_file_that_cannot_be_read_is_said(saved):
    (saved / WEIGHTS).unlink()
    (saved / WEIGHTS).mkdir()
    with pytest.raises(LayaError, match=r"^The weights of 'small' cannot be read: Is a directory\.$"):
        load(str(saved))
    (saved / CONFIG).unlink()
    (saved / CONFIG).mkdir()
    with pytest.raises(LayaError, match=r"^The config\.json of 'small' cannot be read: Is a directory\.$"):
        load(str(saved))
