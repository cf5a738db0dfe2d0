"""Files that nobody put there, and files that are no pictures."""

import shutil

import numpy as np
import pytest
from PIL import Image

from laya.data import open_dataset
from laya.data.checks import check
from laya.data.zips import open_zip
from laya.errors import LayaError
from tests.conftest import encode, pack
from tests.data.trees import names, packed, picture, plant, values

LITTER = ("Thumbs.db", "desktop.ini", ".DS_Store", "._1.png", "notes.txt", "labels.csv", "movie.mp4", "LICENSE")
PLACES = ("cat/1.png", *(f"cat/{name}" for name in LITTER), "dog/2.png")


def test_what_is_no_picture_is_passed_over_and_named(tmp_path):
    path = str(plant(tmp_path / "x", *PLACES))
    for name in LITTER:
        (tmp_path / "x" / "cat" / name).write_bytes(b"\xd0\xcf\x11\xe0 words")
    for data in (open_dataset(path), open_zip(packed(*PLACES), "x.zip")):
        assert names(data) == ["cat", "dog"]
        (note,) = data.notes
        assert note.startswith("8 files are no pictures and are passed over: cat/")
        assert note.endswith("; and 3 more.")
    report = check(path)
    assert (report.total, report.unreadable) == (2, {"all": ()})
    assert note.partition(":")[0] in " ".join(report.complaints())


def test_folders_of_the_system_are_no_classes_at_any_depth(tmp_path):
    places = ("cat/1.png", "dog/2.png")
    hidden = ("__MACOSX/cat/._1.png", "@eaDir/3.png", "cat/.ipynb_checkpoints/1-checkpoint.png", "dog/@eaDir/4.png")
    path = str(plant(tmp_path / "x", *places, *hidden))
    assert values(open_dataset(path)) == [0, 1]
    assert check(path).hidden == ("@eaDir", "__MACOSX", "cat/.ipynb_checkpoints", "dog/@eaDir")
    assert values(open_zip(packed(*places, *hidden), "x.zip")) == [0, 1]


def test_the_content_decides_where_the_ending_does_not(tmp_path):
    """Scraped and numbered files bear all sorts of names."""
    plant(tmp_path, "cat/1.png", "dog/2.png")
    for number, name in enumerate(("nameless", "x.jpg_large", "2024.01.31", "x.PNG")):
        (tmp_path / "cat" / name).write_bytes(
            encode(Image.new("L", (9, 9), 50 + number), "PNG" if number % 2 else "JPEG")
        )
    data = open_dataset(str(tmp_path))
    assert names(data).count("cat") == 5
    assert data.notes == ()
    (tmp_path / "cat" / "phone.HEIC").write_bytes(b"\0\0\0\x18ftypheic")
    (report,) = check(str(tmp_path)).unreadable["all"]
    assert "cat/phone.HEIC (The file is a HEIC photo" in report


def test_pictures_outside_the_class_folders_are_named(tmp_path):
    path = str(plant(tmp_path / "x", "cat/1.png", "dog/2.png", "loose.png", "README.md"))
    note = "Pictures that lie in no class folder and are passed over: loose.png."
    assert open_dataset(path).notes == (note,)
    assert open_zip(packed("cat/1.png", "dog/2.png", "loose.png"), "x.zip").notes == (note,)
    data = open_zip(packed("train/a/1.png", "train/2.png", "test/a/3.png", "test/4.png"), "x.zip", "train")
    assert (values(data), data.notes) == ([0], (note.replace("loose.png", "test/4.png; train/2.png"),))


def test_a_folder_of_litter_alone_is_an_empty_class(tmp_path):
    path = str(plant(tmp_path / "x", "cat/1.png", "dog/Thumbs.db"))
    report = check(path)
    assert report.empty == ("dog",)
    assert "Classes without pictures: dog." in report.complaints()
    assert "There are pictures of one class only; a model needs two or more." in report.complaints()
    shutil.rmtree(tmp_path / "x" / "cat")
    with pytest.raises(LayaError, match="holds no pictures"):
        open_dataset(path)


def test_links_are_followed_but_not_back(tmp_path):
    """Else two links that lead back would be followed without an end."""
    plant(tmp_path, "elsewhere/3.png", "x/cat/1.png", "x/cat/more/2.png", "x/dog/4.png")
    (tmp_path / "x" / "cat" / "shared").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "x" / "fox").symlink_to(tmp_path / "elsewhere")
    for number in range(3):
        (tmp_path / "x" / "cat" / f"loop{number}").symlink_to(tmp_path / "x")
        (tmp_path / "x" / "cat" / "more" / f"loop{number}").symlink_to(tmp_path / "x" / "cat")
    data = open_dataset(str(tmp_path / "x"))
    assert data.sources == ["cat/1.png", "cat/more/2.png", "cat/shared/3.png", "dog/4.png", "fox/3.png"]


def test_folders_within_a_class_count_to_it_and_are_named(tmp_path):
    path = str(plant(tmp_path / "x", "animals/cat/1.png", "animals/dog/old/2.png", "plants/3.png"))
    data = open_dataset(path)
    assert names(data) == ["animals", "animals", "plants"]
    note = "Pictures in folders within a class folder count to that class: animals/cat; animals/dog/old."
    assert data.notes == (note,)


def test_an_archive_made_on_windows_has_its_folders():
    data = open_zip(pack({"mine\\": b"", "mine\\cat\\1.png": picture(7), "mine\\dog\\2.png": picture(8)}), "x.zip")
    assert (data.classes, values(data), data.notes) == (("cat", "dog"), [7, 8], ())


def test_pictures_of_other_shapes_are_no_copies(tmp_path):
    for name, size in (("a/1.png", (4, 9)), ("a/2.png", (9, 4)), ("b/3.png", (6, 6))):
        plant(tmp_path, name)
        (tmp_path / name).write_bytes(encode(Image.new("L", size)))
    report = check(str(tmp_path))
    assert (report.twins, report.duplicates) == (0, ())


def test_a_file_that_is_gone_still_gives_a_digest(tmp_path):
    plant(tmp_path, "a/1.png", "b/2.png")
    whole = open_dataset(str(tmp_path))
    before = whole.digest()
    (tmp_path / "b" / "2.png").unlink()
    after = whole.digest()
    assert after != before
    assert after != whole.subset(np.array([0])).digest()
