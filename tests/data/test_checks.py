"""What a look at a data set finds."""

import json

import pytest
from PIL import Image
from typer.testing import CliRunner

from laya import checkpoints
from laya.cli import app
from laya.data.checks import check
from laya.errors import LayaError
from laya.recipe import run
from tests.conftest import encode
from tests.data.trees import plant


def grey(value: int, kind: str = "PNG") -> bytes:
    return encode(Image.new("L", (9, 9), value), kind)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "data"
    files = {
        "train/cat/1.png": grey(1),
        "train/cat/2.png": grey(2),
        "train/cat/2-again.png": grey(2),
        "train/cat/broken.png": b"no picture",
        "train/dog/3.png": grey(3),
        "train/fox/4.png": grey(4),
        "test/cat/1-copy.bmp": grey(1, "BMP"),  # the same picture in another format
        "test/dog/5.png": grey(5),
        "test/dog/3-as-dog.png": grey(4),  # in another class, too
        "train/.cache/x.png": grey(9),
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "test" / "fox").mkdir()
    return root


def test_everything_is_found(folder):
    report = check(str(folder))
    assert report.classes == {
        "cat": {"train": 4, "test": 1},
        "dog": {"train": 1, "test": 2},
        "fox": {"train": 1, "test": 0},
    }
    assert report.total == 9
    assert [name.partition(" ")[0] for name in report.unreadable["train"]] == ["cat/broken.png"]
    assert not report.unreadable["test"]
    assert set(report.duplicates) == {
        ("train: cat/1.png", "test: cat/1-copy.bmp"),
        ("train: fox/4.png", "test: dog/3-as-dog.png"),
    }
    assert report.twins == 1
    assert report.missing == ("fox: test",)
    assert report.hidden == ("train/.cache",)
    told = " ".join(report.complaints())
    for words in ("1 pictures of the part 'train'", "2 pictures lie in more than one", "1 pictures are exact copies"):
        assert words in told
    assert "fox: test" in told
    assert "uneven" not in told


def test_a_sound_data_set_has_no_complaints(tmp_path):
    for number, name in enumerate(("a", "b")):
        (tmp_path / name).mkdir()
        for i in range(3):
            (tmp_path / name / f"{i}.png").write_bytes(grey(10 * number + i))
    report = check(str(tmp_path))
    assert report.classes == {"a": {"all": 3}, "b": {"all": 3}}
    assert report.complaints() == []
    assert "Nothing to complain about." in CliRunner().invoke(app, ["check", "--data", str(tmp_path)]).stdout


def test_uneven_classes_are_told(tmp_path):
    for name, count in (("a", 1), ("b", 11)):
        (tmp_path / name).mkdir()
        for i in range(count):
            (tmp_path / name / f"{i}.png").write_bytes(grey(20 * count + i if count == 1 else i))
    assert "uneven, from 1 to 11" in check(str(tmp_path)).complaints()[0]


def test_a_class_of_one_picture_is_told_where_some_are_held_back(tmp_path):
    plant(tmp_path / "x", "train/a/1.png", "train/a/2.png", "train/b/3.png", "test/a/4.png")
    told = "Classes of one picture, so that a training can hold none back: b."
    assert told in check(str(tmp_path / "x")).complaints()
    plant(tmp_path / "x", "val/a/5.png")
    assert told not in check(str(tmp_path / "x")).complaints()


def test_the_report_is_saved_before_training_begins(folder, tmp_path):
    told: list[str] = []
    with pytest.raises(LayaError, match="too few"):
        run({"data": str(folder), "epochs": 1}, tmp_path / "model", command="", on_complaint=told.append)
    saved = json.loads((tmp_path / "model" / checkpoints.DATA).read_text())
    assert saved == json.loads(json.dumps(check(str(folder)).to_dict() | {"complaints": told}))
    assert len(told) == 6
