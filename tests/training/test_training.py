"""Training: it learns, it resumes to the same end, it stops early, it picks the best epoch."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import save as serialise

from laya.backbones import build_backbone
from laya.checkpoints import load, read_config, read_metrics
from laya.data import ImageSet, open_dataset
from laya.data.checks import check
from laya.data.sources import parts
from laya.errors import LayaError
from laya.explanation import explain
from laya.heads import build_head
from laya.inputs.preprocessing import Preprocessing, to_tensor
from laya.model import LayaClassifier
from laya.recipe import run
from laya.studies.evaluation import evaluate
from laya.studies.verification import verify
from laya.training import TrainingConfig, train
from laya.training.augmentation import augment
from laya.training.config import read_settings
from laya.training.hidden_states import hidden_states
from laya.training.history import Epoch, best_epoch, is_over
from laya.training.loss import class_weights, loss_of
from laya.training.optimisation import look_ahead, make_optimiser, make_schedule, precision
from laya.training.setup import make_backbone
from tests.conftest import make_model

PLAIN = Preprocessing(size=(8, 8))
SMALL = {"data": "toy", "backbone_options": {"input_shape": [1, 8, 8], "units": [12, 8], "dropout": 0.1}}


def toy(count: int = 120) -> ImageSet:
    """Bright on the left, on the right, or nowhere, with noise."""
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 3
    pixels = rng.integers(0, 120, (count, 8, 8), dtype=np.uint8)
    pixels[labels == 0, :, :4] += 100
    pixels[labels == 1, :, 4:] += 100
    return ImageSet("toy", ("left", "right", "none"), labels, lambda i: pixels[i], [str(i) for i in range(count)])


def config(**changes: object) -> TrainingConfig:
    return TrainingConfig.from_dict(SMALL | {"epochs": 8, "batch_size": 16, "learning_rate": 1e-2} | changes)


@pytest.mark.parametrize("head", ["laya", "last_layer", "concat", "scalar_mix"])
def test_it_learns_what_can_be_learnt(head, tmp_path):
    result = train(config(head=head), toy(), PLAIN, tmp_path / "state")
    assert result.best.validation_accuracy == 1.0
    assert result.history[-1].loss < result.history[0].loss


QUICK = {
    "backbone": "cnn",
    "backbone_options": {"channels": 1, "stages": [4, 6]},
    "optimiser": "sgd",
    "schedule": "triangle",
    "bias_rate": 64.0,
    "lookahead": True,
    "augment": ["alternate", "shift"],
}


@pytest.mark.parametrize("settings", [{"augment": ["shift"], "label_smoothing": 0.1}, QUICK], ids=["plain", "quick"])
def test_a_resumed_run_ends_as_an_unbroken_one(settings, tmp_path):
    recipe_ = config(**settings)
    unbroken = train(recipe_, toy(), PLAIN, tmp_path / "unbroken")
    seen = 0

    def kill(what: str, done: int, total: int) -> None:
        nonlocal seen
        seen += 1
        if seen == 24:  # in the middle of the fourth epoch of seven steps
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(recipe_, toy(), PLAIN, tmp_path / "broken", on_progress=kill)
    resumed = train(recipe_, toy(), PLAIN, tmp_path / "broken", resume=True)
    for (name, a), b in zip(unbroken.model.state_dict().items(), resumed.model.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    assert [epoch.loss for epoch in unbroken.history] == [epoch.loss for epoch in resumed.history]
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix == ".tmp"] == []


def test_seeds_differ_and_repeat(tmp_path):
    first, again, other = (
        train(config(seed=seed, epochs=1), toy(), PLAIN, tmp_path / name).history[0].loss
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == again != other


def test_the_callers_random_numbers_are_left_alone(tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(config(epochs=1), toy(), PLAIN, tmp_path / "state")
    assert torch.equal(torch.rand(3), expected)


def test_another_recipe_does_not_resume(tmp_path):
    train(config(epochs=1), toy(), PLAIN, tmp_path / "state")
    with pytest.raises(LayaError, match="had other settings; train without --resume"):
        train(config(epochs=2), toy(), PLAIN, tmp_path / "state", resume=True)


def test_a_state_from_before_a_setting_existed_resumes(tmp_path):
    unbroken = train(config(epochs=2), toy(), PLAIN, tmp_path / "unbroken")

    def kill(what: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    state = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        train(config(epochs=2), toy(), PLAIN, state, on_progress=kill)
    with safe_open(state, "pt") as stored:
        words = stored.metadata()
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  # not a mapping
    older = {name: value for name, value in json.loads(words["config"]).items() if name != "balance"}
    state.write_bytes(serialise(tensors, metadata=words | {"config": json.dumps(older)}))
    resumed = train(config(epochs=2), toy(), PLAIN, state, resume=True)
    assert [epoch.loss for epoch in resumed.history] == [epoch.loss for epoch in unbroken.history]


def test_a_damaged_state_does_not_resume(tmp_path):
    state = tmp_path / "state"
    for data in (b"", b"garbage that is long enough for a header", serialise({"x": torch.zeros(1)})):
        state.write_bytes(data)
        with pytest.raises(LayaError, match="saved state of the training is damaged; train without --resume"):
            train(config(), toy(), PLAIN, state, resume=True)


def test_a_loss_that_is_no_number_stops_with_a_sentence(tmp_path):
    with pytest.raises(LayaError, match="no longer a number; train with a smaller learning_rate"):
        train(config(learning_rate=999.0, weight_decay=999.0), toy(), PLAIN, tmp_path / "state")


def history(*accuracies: float) -> list[Epoch]:
    return [Epoch(number, 1.0, accuracy, 0.1) for number, accuracy in enumerate(accuracies, start=1)]


def test_early_stopping_counts_epochs_without_a_better_accuracy():
    assert not is_over(history(0.5, 0.6, 0.6), patience=2)
    assert is_over(history(0.5, 0.6, 0.6, 0.55), patience=2)
    assert not is_over(history(0.9, 0.1, 0.1, 0.1), patience=0)
    assert best_epoch(history(0.5, 0.7, 0.7, 0.6)).epoch == 2


def test_early_stopping_ends_a_run_and_keeps_the_best_epoch(tmp_path):
    result = train(config(epochs=40, patience=3), toy(), PLAIN, tmp_path / "state")
    assert len(result.history) == result.best.epoch + 3 < 40
    with safe_open(tmp_path / "state", "pt") as state:
        assert len(json.loads(state.metadata()["history"])) == len(result.history)
        best = state.get_tensor("best.head.classifier.bias")
        assert torch.equal(best - best.mean(), result.model.head.classifier.bias)


def test_alternate_shows_every_image_from_both_sides_in_two_epochs(tmp_path, monkeypatch):
    x = torch.rand(4, 1, 6, 6)
    turned = torch.tensor([True, False, True, False])
    for original, seen, mirrored in zip(x, augment(x, ("alternate",), turned), turned, strict=True):
        assert torch.equal(seen, original.flip(-1) if mirrored else original)
    sides: list[dict[bytes, bool]] = [{}]

    def spy(x, names, turned, **sizes):
        sides[-1].update({image.numpy().tobytes(): bool(side) for image, side in zip(x, turned, strict=True)})
        return augment(x, names, turned, **sizes)

    def step(what: str, done: int, total: int) -> None:
        if done % (total // 4) == 0:
            sides.append({})

    monkeypatch.setattr("laya.training.reading.augment", spy)
    train(config(epochs=4, augment=["alternate"]), toy(), PLAIN, tmp_path / "state", on_progress=step)
    first, second, third, fourth, _ = sides
    assert len(first) == 108
    assert 30 < sum(first.values()) < 78  # each begins by chance
    assert first == third == {image: not side for image, side in second.items()}
    assert second == fourth


def test_quick_biases_move_by_so_many_times_the_rate_and_scales_stay():
    """By hand: one step of Nesterov's from rest moves w by -rate (1 + momentum) (gradient + decay w)."""
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(2.0)
    recipe_ = config(optimiser="sgd", schedule="triangle", learning_rate=0.01, weight_decay=0.1, bias_rate=8.0)
    optimiser = make_optimiser(recipe_, model)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    optimiser.step()
    expected = [2 - 0.01 * 1.85 * (3 + 0.1 * 2)] * 2 + [2.0, 2 - 0.08 * 1.85 * (3 + 0.1 / 8 * 2)]
    for parameter, value in zip(model.parameters(), expected, strict=True):  # weight, bias, scale, the norm's bias
        assert parameter.flatten().tolist() == pytest.approx([value] * parameter.numel())


def test_the_triangle_is_linear_at_a_steady_momentum():
    """Of 40 steps the tenth has the peak; the first has a fifth of it, the 25th half of it, the last next to none."""
    recipe_ = config(optimiser="sgd", schedule="triangle", learning_rate=0.5, epochs=8, bias_rate=64.0)
    optimiser = make_optimiser(recipe_, torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)))
    schedule = make_schedule(recipe_, optimiser, 0, 5)
    rates, momenta = [], set()
    for _ in range(40):
        rates.append([group["lr"] for group in optimiser.param_groups])
        momenta |= {group["momentum"] for group in optimiser.param_groups}
        optimiser.step()
        if len(rates) < 40:
            schedule.step()
    assert momenta == {0.85}
    plain = [rate for rate, _ in rates]
    assert [plain[i] for i in (0, 9, 24, 39)] == pytest.approx([0.1, 0.5, 0.25, 0.0], abs=1e-4)
    assert np.diff(plain, 2)[[*range(8), *range(9, 38)]] == pytest.approx(0, abs=1e-9)
    assert [quick for _, quick in rates] == pytest.approx([64 * rate for rate in plain])


def test_the_slow_weights_follow_ever_more_slowly_and_the_fast_ones_return_to_them():
    """By hand, halfway: of the slow weights 0.95^5 / 8 = 0.0967 stay, so that 0 and 1 meet at 0.9033."""
    model = torch.nn.BatchNorm1d(1)
    slow = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    model.num_batches_tracked.fill_(7)
    look_ahead(model, slow, 0.5)
    assert model.weight.item() == slow["weight"].item() == pytest.approx(0.90328, abs=1e-5)
    assert slow["num_batches_tracked"].item() == 7
    with torch.no_grad():
        model.weight.fill_(2.0)
    look_ahead(model, slow, 1.0)
    assert model.weight.item() == pytest.approx(0.77378 * 0.90328 + 0.22622 * 2, abs=1e-4)


def test_lookahead_ends_on_the_slow_weights(tmp_path):
    result = train(config(**QUICK), toy(), PLAIN, tmp_path / "state")
    with safe_open(tmp_path / "state", "pt") as state:
        tensors = {name: state.get_tensor(name) for name in state.keys()}  # noqa: SIM118  # not a mapping
    for name in result.model.state_dict():
        assert torch.equal(tensors[f"model.{name}"], tensors[f"slow.{name}"]), name
    scales = [m.weight for m in result.model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert all(torch.equal(scale, torch.ones_like(scale)) for scale in scales)
    assert len(scales) == 4


def test_augmentation_flips_and_shifts_each_image_by_itself():
    torch.manual_seed(0)
    x = torch.rand(64, 1, 6, 6) + 1  # never 0, so that padding shows
    flipped = augment(x, ("flip",))
    kept = [torch.equal(a, b) for a, b in zip(x, flipped, strict=True)]
    mirrored = [torch.equal(a.flip(-1), b) for a, b in zip(x, flipped, strict=True)]
    assert all(a != b for a, b in zip(kept, mirrored, strict=True))
    assert 15 < sum(kept) < 49
    for most, places in ((1, 9), (2, 25)):
        seen = set()
        for original, shifted in zip(x, augment(x, ("shift",), shift=most), strict=True):
            matches = []
            for down in range(-3, 4):
                for right in range(-3, 4):
                    expected = torch.zeros(1, 12, 12)
                    expected[:, 3 + down : 9 + down, 3 + right : 9 + right] = original
                    if torch.equal(expected[:, 3:9, 3:9], shifted):
                        matches.append((down, right))
            assert len(matches) == 1
            assert max(map(abs, matches[0])) <= most
            seen.add(matches[0])
        assert 0.6 * places < len(seen) <= places
    assert torch.equal(augment(x, ()), x)


@pytest.mark.parametrize("edge", [0, 3, 4])
def test_cutout_blanks_one_square_of_each_image_somewhere(edge):
    torch.manual_seed(0)
    x = torch.rand(500, 2, 6, 8) + 1  # never 0
    seen = set()
    for original, cut in zip(x, augment(x, ("cutout",), cutout=edge), strict=True):
        blank = cut[0] == 0
        assert torch.equal(cut, original.masked_fill(blank, 0))  # in both channels, and nowhere else
        matches = []
        for row in range(6):  # the centre, or the pixel after it
            for column in range(8):
                expected = torch.zeros(6, 8, dtype=torch.bool)
                top, left = row - edge // 2, column - edge // 2
                expected[max(top, 0) : top + edge, max(left, 0) : left + edge] = True
                if torch.equal(expected, blank):
                    matches.append((row, column))
        assert len(matches) == (1 if edge else 48)
        seen.add(matches[0])
    assert len(seen) == (48 if edge else 1)  # any place, the corners too


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"epoch": 3}, r"no training setting called 'epoch'\. Did you mean 'epochs'"),
        ({"epochs": "many"}, "'epochs' cannot be 'many'"),
        ({"epochs": True}, "'epochs' cannot be True"),
        ({"epochs": 0}, "at least 1"),
        ({"label_smoothing": 1}, "must lie in"),
        ({"augment": ["rotate"]}, "no augmentation called 'rotate'"),
        ({"schedule": "square"}, "no schedule called 'square'"),
        ({"bias_rate": 0.5}, "bias_rate must be a number from 1"),
        ({"bias_rate": float("nan")}, "bias_rate must be a number from 1"),
        ({"augment": [1]}, "no augmentation called '1'"),
        ({"shift": -1}, "shift must be a whole number from 0"),
        ({"shift": 1.5}, "'shift' cannot be 1.5"),
        ({"cutout": -1}, "cutout one from 0"),
        ({"head": "mean"}, "no head called 'mean'"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"learning_rate": math.nan}, "learning_rate above 0"),
        ({"learning_rate": 1e30}, "learning_rate above 0"),
        ({"backbone_options": {"input_shape": [3, 8, 8]}}, "cannot read the prepared pictures"),
    ],
)
def test_bad_settings_are_named(values, cause, tmp_path):
    with pytest.raises(LayaError, match=cause):
        train(config(**values), toy(), PLAIN, tmp_path / "state")


def test_settings_without_data_are_refused():
    with pytest.raises(LayaError, match="name no data"):
        TrainingConfig.from_dict({"epochs": 3})


def test_too_few_images_are_refused(tmp_path):
    with pytest.raises(LayaError, match="too few to hold some of each class back"):
        train(config(), toy(5), PLAIN, tmp_path / "state")


# --- from settings to a checkpoint -----------------------------------------------------------------------------------

BRIEF = {"epochs": 2, "backbone_options": {"units": [12, 8]}}


@pytest.fixture
def pictures(tmp_path) -> Path:
    """The toy set as an image folder, enlarged to the 28 x 28 that a folder is trained at."""
    data = toy()
    for index in range(len(data)):
        folder = tmp_path / "pictures" / data.classes[data.labels[index]]
        folder.mkdir(parents=True, exist_ok=True)
        data.load(index).resize((28, 28)).save(folder / f"{index}.png")
    return tmp_path / "pictures"


def test_a_folder_becomes_a_checkpoint_with_its_own_figures(pictures, tmp_path):
    out = tmp_path / "model"
    settings = {"data": str(pictures), "epochs": 3, "backbone_options": {"units": [12, 8]}, "title": "Toy"}
    run(settings, out, command="python -m laya train ...")
    assert sorted(file.name for file in out.iterdir()) == [
        "README.md",
        "config.json",
        "data.json",
        "metrics.json",
        "model.safetensors",
        "profiles.json",
    ]
    checkpoint, metrics = load(str(out)), read_metrics(out)
    assert checkpoint.classes == ("left", "none", "right")
    assert read_config(out)["title"] == "Toy"
    assert metrics["split"] == "validation"
    assert metrics["n"] == 12  # a tenth of 120
    card = (out / "README.md").read_text()
    assert "python -m laya train ..." in card
    assert f"Accuracy **{metrics['accuracy']:.4f}**" in card
    with pytest.raises(LayaError, match="is finished; there is nothing to resume"):
        run(settings, out, command="", resume=True)
    # With a test split, the figures are those of evaluate on it.
    split = tmp_path / "split"
    shutil.copytree(pictures, split / "train")
    shutil.copytree(pictures, split / "test")
    run(settings | {"data": str(split)}, tmp_path / "second", command="")
    again = evaluate(load(str(tmp_path / "second")), open_dataset(str(split), "test"))
    stored = read_metrics(tmp_path / "second")
    assert stored["split"] == "test"
    assert {key: stored[key] for key in again} == again


def test_a_test_part_with_another_class_is_refused_before_the_training(pictures, tmp_path, monkeypatch):
    split = tmp_path / "split"
    shutil.copytree(pictures, split / "train")
    shutil.copytree(pictures / "left", split / "test" / "up")
    monkeypatch.setattr("laya.recipe.train", lambda *args, **kwargs: pytest.fail("it trained"))
    with pytest.raises(LayaError, match="does not know the class 'up'; it knows left, none, right"):
        run({"data": str(split)}, tmp_path / "out", command="")


def test_a_test_part_may_lack_a_class(pictures, tmp_path):
    """And is scored by names: the pictures of "none" are of the second class here, of the first in their folder."""
    split = tmp_path / "split"
    shutil.copytree(pictures, split / "train")
    for name in ("none", "right"):
        shutil.copytree(pictures / name, split / "test" / name)
    shutil.copytree(pictures / "left", split / "val" / "left")
    told: list[str] = []
    run({"data": str(split), **BRIEF}, tmp_path / "out", command="", on_complaint=told.append)
    metrics, checkpoint = read_metrics(tmp_path / "out"), load(str(tmp_path / "out"))
    assert (metrics["n"], metrics["split"], metrics["missing_classes"]) == (80, "test", ["left"])
    right = [
        explain(checkpoint, Image.open(file).convert("RGB")).predictions[0][0] == file.parent.name
        for file in (split / "test").glob("*/*.png")
    ]
    assert metrics["accuracy"] == pytest.approx(np.mean(right))
    assert "Classes without pictures in a part: left: test; none: val; right: val." in told


def test_without_a_test_part_the_figures_are_those_of_val(pictures, tmp_path):
    split = tmp_path / "split"
    shutil.copytree(pictures, split / "Train")
    shutil.copytree(pictures, split / "valid")
    told: list[str] = []
    run({"data": str(split), **BRIEF}, tmp_path / "out", command="", on_complaint=told.append)
    metrics = read_metrics(tmp_path / "out")
    assert (metrics["split"], metrics["n"], metrics["training"]["held_back"]) == ("val", 120, 120)
    assert metrics["accuracy"] == metrics["training"]["validation_accuracy"]
    assert "There is no part test; the part val is used in its place, though it also chooses the epoch." in told
    assert "held back for validation (there are no test images)" in (tmp_path / "out" / "README.md").read_text()
    assert all(each.passed for each in verify(str(tmp_path / "out")))


def test_a_train_part_alone_is_held_back_from(pictures, tmp_path):
    shutil.copytree(pictures, tmp_path / "split" / "train")
    for data in (pictures, tmp_path / "split"):
        run({"data": str(data), **BRIEF}, tmp_path / f"of {data.name}", command="")
    whole, alone = (read_metrics(tmp_path / f"of {name}") for name in ("pictures", "split"))
    assert (alone["split"], alone["n"]) == ("validation", 12)
    assert alone["weights_sha256"] == whole["weights_sha256"]


@pytest.mark.parametrize("names", [("left",), ("left", "empty")])
def test_one_class_is_refused_before_the_training(pictures, tmp_path, monkeypatch, names):
    for name in names:
        (tmp_path / "one" / name).mkdir(parents=True)
    shutil.copytree(pictures / "left", tmp_path / "one" / "left", dirs_exist_ok=True)
    monkeypatch.setattr("laya.recipe.train", lambda *args, **kwargs: pytest.fail("it trained"))
    with pytest.raises(LayaError, match=r"of one class only to train on, 'left'; a model needs two\.$"):
        run({"data": str(tmp_path / "one")}, tmp_path / "out", command="")


def test_the_folder_around_the_classes_is_told_from_a_class(pictures, tmp_path):
    with pytest.raises(LayaError, match=r"only to train on, 'pictures'.*are the classes, use '.*/pictures'\."):
        run({"data": str(tmp_path)}, tmp_path.parent / "out", command="")


BROKEN = ("left/0.png", "none/broken.png", "right/gone.png")


def broken(pictures: Path) -> Path:
    """The same pictures, with three files among them that cannot be read."""
    copy = pictures.with_name("broken")
    shutil.copytree(pictures, copy)
    whole = (copy / "left" / "0.png").read_bytes()
    (copy / "left" / "0.png").write_bytes(whole[:40])
    (copy / "none" / "broken.png").write_bytes(b"no picture")
    (copy / "right" / "gone.png").symlink_to(copy / "nowhere.png")
    (pictures / "left" / "0.png").unlink()
    return copy


@pytest.mark.parametrize("frozen", [False, True])
def test_files_that_cannot_be_read_are_left_out_and_named(pictures, tmp_path, monkeypatch, frozen):
    """The model is the one that comes of the other pictures alone, and so are the cached hidden states."""
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path / "cache"))
    copy, told = broken(pictures), []
    for data in (pictures, copy):
        settings = {"data": str(data), "frozen": frozen, **BRIEF}
        run(settings, tmp_path / f"of {data.name}", command="", on_complaint=told.append)
        if data == pictures:
            cached = sorted((tmp_path / "cache").rglob("*.npy"))
    without, with_them = (read_metrics(tmp_path / f"of {name}") for name in ("pictures", "broken"))
    assert with_them["weights_sha256"] == without["weights_sha256"]
    assert (with_them["n"], with_them["accuracy"]) == (without["n"], without["accuracy"])
    assert sorted((tmp_path / "cache").rglob("*.npy")) == cached
    assert len(cached) == (2 if frozen else 0)
    report = json.loads((tmp_path / "of broken" / "data.json").read_text())
    (complaint,) = [each for each in report["complaints"] if "cannot be read" in each]
    assert complaint in told
    assert complaint.startswith("3 pictures of the part 'all' cannot be read and are left out: left/0.png (The file is")
    assert all(name in complaint for name in BROKEN)
    assert len(report["skipped"]["all"]) == 3


def test_a_part_has_its_own_unreadable_files(pictures, tmp_path):
    split = tmp_path / "split"
    for part in ("train", "val", "test"):
        shutil.copytree(pictures, split / part)
    for number, part in enumerate(("train", "val", "test"), start=1):
        for name in list((split / part / "left").iterdir())[:number]:
            name.write_bytes(b"no picture")
    data, validation, test = parts(str(split), skip=check(str(split)).skipped)
    assert (len(data), len(validation), len(test)) == (119, 118, 117)
    for each in (data, validation, test):
        assert all(each.load(index) for index in range(len(each)))
    run({"data": str(split), **BRIEF}, tmp_path / "out", command="")
    assert read_metrics(tmp_path / "out")["n"] == 117
    for file in (split / "test").glob("*/*.png"):
        file.write_bytes(b"no picture")
    with pytest.raises(LayaError, match="None of the 120 pictures of the part 'test' can be read"):
        run({"data": str(split), **BRIEF}, tmp_path / "other", command="")


def test_who_asks_for_it_is_stopped_by_a_file_that_cannot_be_read(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr("laya.recipe.train", lambda *args, **kwargs: pytest.fail("it trained"))
    with pytest.raises(LayaError, match=r"^3 pictures cannot be read: left/0\.png .*; mend them or take them away\.$"):
        run({"data": str(broken(pictures))}, tmp_path / "out", command="", strict=True)
    assert (tmp_path / "out" / "data.json").exists()


def test_a_folder_is_prepared_as_the_backbone_wants_it(pictures, tmp_path):
    options = {"input_shape": [3, 10, 12], "units": [4]}
    run({"data": str(pictures), "epochs": 1, "backbone_options": options}, tmp_path / "rgb", command="")
    assert load(str(tmp_path / "rgb")).preprocessing == Preprocessing((10, 12), 3, (0.0,) * 3, (1.0,) * 3)
    with pytest.raises(LayaError, match="do not fit the backbone"):
        run({"data": str(pictures), "backbone_options": {"input_shape": 3}}, tmp_path / "x", command="")


def test_a_recipe_file_is_read_and_a_bad_one_is_named(tmp_path):
    file = tmp_path / "recipe.toml"
    with pytest.raises(LayaError, match=r"'recipe.toml' cannot be read"):
        read_settings(file)
    file.write_text("epochs = ")
    with pytest.raises(LayaError, match=r"'recipe.toml' is not valid TOML"):
        read_settings(file)
    file.write_text('data = "toy"\naugment = ["flip"]\n')
    assert TrainingConfig.from_dict(read_settings(file)) == TrainingConfig(data="toy", augment=("flip",))


def test_of_several_seeds_the_best_is_kept_and_a_killed_row_of_them_goes_on(pictures, tmp_path):
    settings = {"data": str(pictures), "epochs": 1, "backbone_options": {"units": [12, 8]}, "learning_rate": 3e-4}
    alone = {}
    for seed in (4, 5, 6):
        run(settings | {"seed": seed}, tmp_path / str(seed), command="")
        alone[seed] = read_metrics(tmp_path / str(seed))["training"]["validation_accuracy"]

    def kill(what: str, done: int, total: int) -> None:
        if (tmp_path / "model" / "training-state-1.safetensors").exists():  # the second seed has been trained
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings | {"seed": 4, "seeds": 3}, tmp_path / "model", command="", on_progress=kill)
    run(settings | {"seed": 4, "seeds": 3}, tmp_path / "model", command="", resume=True)
    assert read_metrics(tmp_path / "model")["training"]["seeds"] == {str(seed): alone[seed] for seed in alone}
    best = max(alone, key=alone.__getitem__)
    assert len(set(alone.values())) > 1
    assert read_config(tmp_path / "model")["training"]["seed"] == best
    assert load(str(tmp_path / "model")).weights == load(str(tmp_path / str(best))).weights
    assert not list((tmp_path / "model").glob("training-state*"))


def test_training_is_in_bfloat16_where_that_is_quicker(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: True)
    monkeypatch.setattr(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
    gpu, cpu, model = torch.device("cuda"), torch.device("cpu"), torch.nn.Linear(1, 1)
    assert precision(config(), model, gpu)._enabled
    assert precision(config(), model, gpu).fast_dtype == torch.bfloat16
    assert not precision(config(mixed=False), model, gpu)._enabled
    assert not precision(config(frozen=True), model, gpu)._enabled
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: False)
    assert not precision(config(), model, gpu)._enabled

    convolutions = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1))
    for instructions, able in (({"avx512_bf16": True}, True), ({"amx_bf16": True}, True), ({"avx2": True}, False)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda found=instructions: found, raising=False)
        assert precision(config(), convolutions, cpu)._enabled is able
        assert not precision(config(mixed=False), convolutions, cpu)._enabled
        assert not precision(config(frozen=True), convolutions, cpu)._enabled
        assert not precision(config(), model, cpu)._enabled


def test_nothing_to_resume_is_said(tmp_path):
    with pytest.raises(LayaError, match="no interrupted training"):
        run({"data": "toy"}, tmp_path, command="", resume=True)


# --- frozen backbones, other optimisers, other losses ----------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path / "cache"))


def test_a_frozen_backbone_stays_as_it_is_and_its_head_learns(tmp_path, cache):
    recipe_ = config(frozen=True, epochs=20)
    backbone = make_backbone_of(recipe_)
    result = train(recipe_, toy(), PLAIN, tmp_path / "state")
    assert result.best.validation_accuracy > 0.9
    for name, tensor in result.model.backbone.state_dict().items():
        assert torch.equal(tensor, backbone.state_dict()[name]), name
    with safe_open(tmp_path / "state", "pt") as state:  # the state between epochs holds the head alone
        assert not [name for name in state.keys() if "blocks" in name]  # noqa: SIM118


def make_backbone_of(recipe_: TrainingConfig) -> torch.nn.Module:
    torch.manual_seed(recipe_.seed)
    return make_backbone(recipe_)


def test_training_on_the_cache_is_training_on_the_pictures(tmp_path, cache):
    """One step of SGD on cached states moves the head as one step through the frozen backbone does."""
    recipe_ = config(frozen=True, epochs=1, batch_size=108, optimiser="sgd", backbone_options=STILL)
    result = train(recipe_, toy(), PLAIN, tmp_path / "state")
    torch.manual_seed(0)
    model = LayaClassifier(make_backbone(recipe_), build_head("laya", (12, 8), 3, {}))
    fit = [index for index in range(120) if index not in result.held]
    x = to_tensor([toy().load(index) for index in fit], PLAIN)
    optimiser = torch.optim.SGD(model.head.parameters(), momentum=0.9, nesterov=True, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=1)
    del schedule
    torch.nn.functional.cross_entropy(model(x), torch.tensor(toy().labels[fit])).backward()
    optimiser.step()
    model.head.centre()
    for (name, a), b in zip(model.head.named_parameters(), result.model.head.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4, msg=name)


STILL = SMALL["backbone_options"] | {"dropout": 0.0}


def test_flipped_states_are_used_in_training_alone(tmp_path, cache, monkeypatch):
    asked = []
    compute = hidden_states

    def spy(backbone, data, preprocessing, *, mirrored=False, **rest):
        asked.append(mirrored)
        rows = np.array(compute(backbone, data, preprocessing, mirrored=mirrored, **rest))
        return rows * 0 + 7 if mirrored else rows  # unmistakable

    monkeypatch.setattr("laya.training.reading.hidden_states", spy)
    seen = []
    read = LayaClassifier.read
    monkeypatch.setattr(
        LayaClassifier, "read", lambda self, h, **k: seen.append((h[0], self.head.training)) or read(self, h, **k)
    )
    train(config(frozen=True, augment=["flip"], epochs=1), toy(), PLAIN, tmp_path / "state")
    assert asked == [False, True]
    share = torch.cat([(h == 7).all(1).float() for h, fitting in seen if fitting]).mean()
    assert 0.3 < share < 0.7
    assert not any((h == 7).all(1).any() for h, fitting in seen if not fitting)
    with pytest.raises(LayaError, match="With a frozen backbone the only augmentation is flip"):
        config(frozen=True, augment=["shift"])


def test_sgd_learns_and_resumes(tmp_path):
    recipe_ = config(optimiser="sgd", learning_rate=0.1, backbone_options=STILL)
    unbroken = train(recipe_, toy(), PLAIN, tmp_path / "unbroken")
    assert unbroken.best.validation_accuracy == 1.0

    def kill(what: str, done: int, total: int) -> None:
        if done == 24:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(recipe_, toy(), PLAIN, tmp_path / "broken", on_progress=kill)
    resumed = train(recipe_, toy(), PLAIN, tmp_path / "broken", resume=True)
    assert [epoch.loss for epoch in unbroken.history] == [epoch.loss for epoch in resumed.history]
    with pytest.raises(LayaError, match=r"no optimiser called .adam.\. Did you mean .adamw."):
        config(optimiser="adam")


def test_the_auxiliary_loss_is_the_mean_loss_of_every_layers_own_vote():
    model = make_model("laya")
    x, labels = torch.rand(5, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1])
    output = model.read(model.hidden_states(x))
    own = [
        torch.nn.functional.cross_entropy(z @ model.head.classifier.weight.T + model.head.classifier.bias, labels)
        for z in output.values
    ]
    plain = torch.nn.functional.cross_entropy(output.logits, labels)
    loss = loss_of(config(auxiliary=0.3), model, output, labels)
    torch.testing.assert_close(loss, plain + 0.3 * sum(own) / 3)
    torch.testing.assert_close(loss_of(config(), model, output, labels), plain)


def test_the_auxiliary_loss_needs_votes(tmp_path):
    with pytest.raises(LayaError, match="'concat' has no layer votes to train, so auxiliary must be 0"):
        train(config(head="concat", auxiliary=0.3), toy(), PLAIN, tmp_path / "state")


def test_a_validation_part_chooses_the_epoch(tmp_path):
    validation = toy(30)
    result = train(config(epochs=2), toy(), PLAIN, tmp_path / "state", validation=validation)
    assert result.held.tolist() == list(range(120, 150))
    x = to_tensor([validation.load(index) for index in range(30)], PLAIN)
    with torch.no_grad():
        right = (result.model(x).argmax(-1).numpy() == validation.labels).mean()
    assert result.best.validation_accuracy == pytest.approx(right)


def test_a_backbone_begins_with_the_weights_of_a_file(tmp_path):
    torch.manual_seed(3)
    source = build_backbone("mlp", STILL)
    file = tmp_path / "mlp.safetensors"
    file.write_bytes(serialise({name: tensor.half() for name, tensor in source.state_dict().items()}))
    loaded = make_backbone(config(weights=str(file), backbone_options=STILL)).state_dict()
    for name, tensor in source.state_dict().items():
        assert torch.equal(loaded[name], tensor.half().float()), name
    with pytest.raises(LayaError, match=r"backbone weights 'none\.safetensors' cannot be read"):
        make_backbone(config(weights="none.safetensors"))
    file.write_bytes(serialise({"x": torch.zeros(1)}))
    with pytest.raises(LayaError, match=r"'mlp\.safetensors' do not fit"):
        make_backbone(config(weights=str(file)))


def test_the_schedule_begins_again_at_half_the_peak(tmp_path, monkeypatch):
    rates = []
    step = torch.optim.AdamW.step

    def spy(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)
    recipe_ = config(epochs=5, restarts=[3])
    unbroken = train(recipe_, toy(), PLAIN, tmp_path / "unbroken")
    per_epoch = len(rates) // 5
    assert max(rates[: 3 * per_epoch]) == pytest.approx(1e-2, rel=0.05)
    assert max(rates[3 * per_epoch :]) == pytest.approx(5e-3, rel=0.05)
    assert rates[3 * per_epoch - 1] < 1e-4 < rates[3 * per_epoch] < 1e-3
    first = rates[:]
    for stop_at in (1, 3 * per_epoch + 2, 4 * per_epoch + 1):  # in the first cycle, and in the second
        rates.clear()

        def kill(what: str, done: int, total: int, stop_at: int = stop_at) -> None:
            if done == stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(recipe_, toy(), PLAIN, tmp_path / f"broken{stop_at}", on_progress=kill)
        resumed = train(recipe_, toy(), PLAIN, tmp_path / f"broken{stop_at}", resume=True)
        assert [epoch.loss for epoch in resumed.history] == [epoch.loss for epoch in unbroken.history]
        assert rates[-per_epoch:] == first[-per_epoch:]
    for bad in ([5], [0], [3, 2], [2, 2]):
        with pytest.raises(LayaError, match="restarts must be rising numbers"):
            config(epochs=5, restarts=bad)


def test_balanced_classes_weigh_the_same_in_all():
    labels = torch.tensor([0, 0, 0, 1])
    weights = class_weights(labels, 3)
    assert weights.tolist() == pytest.approx([4 / (2 * 3), 4 / (2 * 1), 0])
    assert sum(weights[label].item() for label in labels) == pytest.approx(4)  # the loss keeps its scale
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    each = -logits.log_softmax(-1)[torch.arange(4), labels]
    expected = (each[:3].mean() + each[3]) / 2  # every class that there is counts as much as the other
    torch.testing.assert_close(torch.nn.functional.cross_entropy(logits, labels, weights), expected)
