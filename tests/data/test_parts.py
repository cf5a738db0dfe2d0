"""Split data: every usual layout in folders, archives and tables, and what is not understood."""

import shutil

import pyarrow as pa
import pytest
from pyarrow import parquet

from laya.data import open_dataset, splits
from laya.data.checks import check
from laya.data.sources import parts
from laya.data.zips import open_zip
from laya.errors import LayaError
from tests.data.trees import names, packed, picture, plant, values

SPELLINGS = [
    ("train", "val", "test"),
    ("Train", "Valid", "Test"),
    ("training", "validation", "testing"),
    ("TRAIN", "dev", "eval"),
    ("train", "VALIDATION", "evaluation"),
]
PLACES = ("a/1.png", "b/2.png", "b/3.png")


def column(file, *rows: tuple[str, str, str | None]):
    """A CSV file beside its pictures, or a parquet file, of rows (picture, label, split)."""
    if file.suffix == ".parquet":
        pictures = [picture(value) for value in range(len(rows))]
        labels, parted = [row[1] for row in rows], [row[2] for row in rows]
        parquet.write_table(pa.table({"image": pictures, "label": labels, "split": parted}), file)
    else:
        plant(file.parent, *(row[0] for row in rows))
        lines = ["path,label,split", *(",".join(cell or "" for cell in row) for row in rows)]
        file.write_text("\n".join(lines))
    return str(file)


# --- the usual layouts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", SPELLINGS, ids="-".join)
def test_folders_are_parts_however_they_are_spelled(tmp_path, spelling):
    plant(tmp_path, *(f"{part}/{place}" for part in spelling for place in PLACES))
    assert splits(str(tmp_path)) == ("train", "val", "test")
    for number, part in enumerate(("train", "val", "test")):
        data = open_dataset(str(tmp_path), part)
        assert (data.split, data.classes, names(data)) == (part, ("a", "b"), ["a", "b", "b"])
        assert values(data) == [3 * number, 3 * number + 1, 3 * number + 2]
        assert data.notes == ()
    data, validation, test = parts(str(tmp_path))
    assert (values(data), values(validation), values(test)) == ([0, 1, 2], [3, 4, 5], [6, 7, 8])


@pytest.mark.parametrize("spelling", SPELLINGS, ids="-".join)
@pytest.mark.parametrize("around", ["", "my data/"])
def test_an_archive_has_the_same_parts(spelling, around):
    archive = packed(*(f"{around}{part}/{place}" for part in spelling for place in PLACES))
    for number, part in enumerate(("train", "val", "test")):
        data = open_zip(archive, "x.zip", part)
        assert (data.split, data.classes, values(data)) == (
            part,
            ("a", "b"),
            [3 * number, 3 * number + 1, 3 * number + 2],
        )
    assert open_zip(archive, "x.zip").split == "test"


@pytest.mark.parametrize("spelling", SPELLINGS, ids="-".join)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_has_the_same_parts(tmp_path, spelling, ending):
    rows = [(f"{part}-{place.replace('/', '-')}", place[0], f" {part} ") for part in spelling for place in PLACES]
    path = column(tmp_path / f"x.{ending}", *rows)
    assert splits(path) == ("train", "val", "test")
    for number, part in enumerate(("train", "val", "test")):
        data = open_dataset(path, part)
        assert (data.split, names(data)) == (part, ["a", "b", "b"])
        assert values(data) == [3 * number, 3 * number + 1, 3 * number + 2]


def test_parquet_files_are_parts_by_their_names(tmp_path):
    """As on the Hugging Face hub: data/train-00000-of-00002.parquet and so on."""
    (tmp_path / "data").mkdir()
    files = ("train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001", "my_test")
    for value, name in enumerate(files):
        parquet.write_table(
            pa.table({"image": [picture(value)], "label": ["a"]}), tmp_path / "data" / f"{name}.parquet"
        )
    (tmp_path / "README.md").write_text("a card")
    assert splits(str(tmp_path)) == ("train", "val", "test")
    assert values(open_dataset(str(tmp_path), "train")) == [0, 1]
    assert values(open_dataset(str(tmp_path), "val")) == [2]
    assert values(open_dataset(str(tmp_path), "test")) == [3]
    assert open_dataset(str(tmp_path)).name == tmp_path.name
    shutil.copy(tmp_path / "data" / "my_test.parquet", tmp_path / "data" / "extra.parquet")
    assert "passed over: extra.parquet." in open_dataset(str(tmp_path)).notes[0]
    shutil.copy(tmp_path / "data" / "my_test.parquet", tmp_path / "data" / "my_val.parquet")
    with pytest.raises(LayaError, match="has 'val' and 'validation' for one part"):
        open_dataset(str(tmp_path))


def test_parquet_files_without_a_part_are_one_whole(tmp_path):
    for value in range(3):
        parquet.write_table(pa.table({"image": [picture(value)], "label": ["a"]}), tmp_path / f"000{value}.parquet")
    assert splits(str(tmp_path)) == ()
    assert values(open_dataset(str(tmp_path))) == [0, 1, 2]
    parquet.write_table(pa.table({"image": [picture(9)], "label": [7]}), tmp_path / "0003.parquet")
    with pytest.raises(LayaError, match="cannot be read as parquet files with the same columns"):
        open_dataset(str(tmp_path))


def test_another_word_for_the_column_counts_where_it_names_parts(tmp_path):
    plant(tmp_path, "1.png", "2.png")
    (tmp_path / "x.csv").write_text("path,label,Subset\n1.png,a,train\n2.png,b,test\n")
    assert splits(str(tmp_path / "x.csv")) == ("train", "test")
    (tmp_path / "x.csv").write_text("path,label,set\n1.png,a,winter\n2.png,b,summer\n")
    assert splits(str(tmp_path / "x.csv")) == ()


# --- parts that are missing -------------------------------------------------------------------------------------------


def test_without_a_test_part_val_stands_in_and_that_is_said(tmp_path):
    path = str(plant(tmp_path / "x", *(f"{part}/{place}" for part in ("train", "valid") for place in PLACES)))
    assert splits(path) == ("train", "val")
    data = open_dataset(path)
    assert (data.split, values(data)) == ("val", [3, 4, 5])
    train, validation, test = parts(path)
    assert (values(train), values(validation), values(test), test.split) == ([0, 1, 2], [3, 4, 5], [3, 4, 5], "val")
    (note,) = data.notes
    assert note == "There is no part test; the part val is used in its place, though it also chooses the epoch."
    assert note in check(path).complaints()
    assert open_zip(packed(*(f"{part}/{place}" for part in ("train", "val") for place in PLACES)), "x").split == "val"


def test_a_train_part_alone_is_trained_on_as_a_whole_and_not_tested_on(tmp_path):
    path = str(plant(tmp_path / "x", *(f"train/{place}" for place in PLACES)))
    data, validation, test = parts(path)
    assert (values(data), validation, test.split) == ([0, 1, 2], None, None)
    (note,) = check(path).notes
    assert "no part but train" in note
    with pytest.raises(LayaError, match="'x' has no part called 'test', only 'train'"):
        open_dataset(path)
    assert open_zip(packed("train/a/1.png", "train/b/2.png"), "x.zip").classes == ("a", "b")


def test_a_test_part_alone_is_tested_on_and_not_trained_on(tmp_path):
    path = str(plant(tmp_path / "x", *(f"Test/{place}" for place in PLACES)))
    assert values(open_dataset(path)) == [0, 1, 2]
    with pytest.raises(LayaError, match="'x' has no part called 'train', only 'test'"):
        parts(path)


def test_test_pictures_without_classes_are_passed_over(tmp_path):
    path = str(plant(tmp_path / "x", "train/ok/1.png", "train/nok/2.png", "test/3.png", "test/4.png"))
    data, validation, test = parts(path)
    assert (data.classes, len(data), validation, test.split) == (("nok", "ok"), 2, None, None)
    assert "Parts without class folders, which are passed over: 'test'." in check(path).complaints()
    with pytest.raises(LayaError, match=r"no part called 'test', only 'train'\. Parts .* passed over: 'test'\."):
        open_dataset(path)
    archive = open_zip(packed("train/ok/1.png", "train/nok/2.png", "test/3.png"), "x.zip")
    assert (archive.classes, values(archive)) == (("nok", "ok"), [1, 0])
    assert "passed over: 'test'." in archive.notes[0]


# --- what is not understood -------------------------------------------------------------------------------------------


def test_a_folder_beside_the_parts_is_named_and_is_no_class(tmp_path):
    places = [f"{part}/{place}" for part in ("train", "test", "extra") for place in PLACES]
    path = str(plant(tmp_path / "x", *places))
    note = "Folders that are no part of the data and are passed over: 'extra'."
    assert open_dataset(path, "train").notes == (note,)
    assert note in check(path).complaints()
    assert check(path).total == 6
    data = open_zip(packed(*places), "x.zip")
    assert (data.classes, data.notes, values(data)) == (("a", "b"), (note,), [3, 4, 5])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_value_that_is_no_part_is_named(tmp_path, ending):
    rows = [("1.png", "a", "train"), ("2.png", "b", "test"), ("3.png", "a", "Holdout"), ("4.png", "b", None)]
    path = column(tmp_path / f"x.{ending}", *rows)
    (note,) = [each for each in open_dataset(path).notes if "rows" in each]
    assert note == "2 rows are in no known part and are passed over: 'holdout'; ''."
    assert note in check(path).complaints()
    path = column(tmp_path / f"y.{ending}", ("1.png", "a", "fold 1"), ("2.png", "b", "fold 2"))
    with pytest.raises(
        LayaError, match=rf"parts of 'y.{ending}' are called 'fold 1'; 'fold 2'; call them train, val and"
    ):
        open_dataset(path)


def test_a_part_beside_other_folders_of_folders_is_refused(tmp_path):
    places = ("train/a/1.png", "train/b/2.png", "more/a/3.png")
    plant(tmp_path / "x", *places)
    sentence = "'train' looks like a part with class folders in it, but 'more' beside it does not"
    for refused in (lambda: open_dataset(str(tmp_path / "x")), lambda: open_zip(packed(*places), "x.zip")):
        with pytest.raises(LayaError, match=sentence):
            refused()


def test_two_names_for_one_part_are_refused(tmp_path):
    places = [f"{part}/{place}" for part in ("train", "val", "valid", "test") for place in PLACES]
    plant(tmp_path / "x", *places)
    rows = [("1.png", "a", "val"), ("2.png", "b", "valid")]
    for refused in (
        lambda: open_dataset(str(tmp_path / "x"), "train"),
        lambda: check(str(tmp_path / "x")),
        lambda: open_zip(packed(*places), "x.zip"),
        lambda: open_dataset(column(tmp_path / "x.csv", *rows)),
        lambda: open_dataset(column(tmp_path / "x.parquet", *rows)),
    ):
        with pytest.raises(LayaError, match=r"has 'val' and 'valid' for one part; join them or take one away"):
            refused()


def test_parts_within_the_classes_are_refused(tmp_path):
    """Else test pictures would be trained on."""
    places = ("cat/train/1.png", "cat/test/2.png", "dog/train/3.png", "dog/test/4.png")
    plant(tmp_path / "x", *places)
    for refused in (lambda: open_dataset(str(tmp_path / "x")), lambda: open_zip(packed(*places), "x.zip")):
        with pytest.raises(LayaError, match=r"class folder 'cat' has the parts '(train|test)'; '(train|test)' in it"):
            refused()


@pytest.mark.parametrize("inside", ["", "monday/"], ids=["flat", "nested"])
def test_a_class_may_be_called_like_a_part(tmp_path, inside):
    places = ["test/1.png", f"rest/{inside}2.png", f"best/{inside}3.png"]
    plant(tmp_path / "x", *places)
    data = open_dataset(str(tmp_path / "x"))
    assert (data.classes, data.split) == (("best", "rest", "test"), None)
    assert not any("test" in note for note in data.notes)
    assert sorted(open_zip(packed("test/1.png", "rest/2.png", "best/3.png"), "x.zip").classes) == [
        "best",
        "rest",
        "test",
    ]
    plant(tmp_path / "x", "train/4.png")
    note = open_dataset(str(tmp_path / "x")).notes[0]
    assert note == "The folders 'test'; 'train' are taken for classes, for pictures lie right in them."


def test_parts_without_class_folders_are_refused(tmp_path):
    plant(tmp_path / "x", "train/1.png", "test/2.png")
    with pytest.raises(LayaError, match="'train' has no sub-folders; give each class one"):
        open_dataset(str(tmp_path / "x"), "train")
    with pytest.raises(LayaError, match="has a part without class folders"):
        open_zip(packed("train/1.png", "test/2.png"), "x.zip")
