"""Class names that cannot be told apart by looking."""

import json
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from laya.data import ImageSet, open_dataset
from laya.data.checks import check
from laya.data.zips import open_zip
from laya.errors import LayaError
from tests.data.trees import names, packed, picture, plant

CAFE = unicodedata.normalize("NFC", "café au lait")
UNSEEN = [
    CAFE,
    f" {CAFE}",
    f"{CAFE} ",
    CAFE.replace(" ", "  "),
    CAFE.replace(" ", "\u00a0"),  # no-break space
    CAFE.replace(" ", "\u2009"),  # thin space
    CAFE.replace(" ", " \u200b"),  # zero-width space
    f"\ufeff{CAFE}",  # byte order mark
    f"{CAFE}\u200e",  # left-to-right mark
    CAFE.replace("lait", "la\u00adit"),  # soft hyphen
    unicodedata.normalize("NFD", CAFE),
]


@pytest.mark.parametrize("kind", ["csv", "parquet", "schema", "folder", "zip"])
def test_names_that_look_the_same_are_one_class(tmp_path, kind):
    files = [f"{number}.png" for number in range(len(UNSEEN))]
    if kind == "csv":
        plant(tmp_path, *files)
        lines = [f'{file},"{name}"' for file, name in zip(files, UNSEEN, strict=True)]
        (tmp_path / "x.csv").write_text("\n".join(["path,label", *lines, "0.png,tea"]), encoding="utf-8")
        data = open_dataset(str(tmp_path / "x.csv"))
    elif kind == "parquet":
        table = pa.table({"image": [picture(0)] * (len(UNSEEN) + 1), "label": [*UNSEEN, "tea"]})
        parquet.write_table(table, tmp_path / "x.parquet")
        data = open_dataset(str(tmp_path / "x.parquet"))
    elif kind == "schema":
        table = pa.table({"image": [picture(0)] * (len(UNSEEN) + 1), "label": [*range(len(UNSEEN) + 1)]})
        schema = {"classes": json.dumps([*UNSEEN, "tea"])}
        parquet.write_table(table.replace_schema_metadata(schema), tmp_path / "x.parquet")
        data = open_dataset(str(tmp_path / "x.parquet"))
    else:
        places = [f"{name}/{file}" for name, file in zip([*UNSEEN, "tea"], [*files, "t.png"], strict=True)]
        data = (
            open_dataset(str(plant(tmp_path / "x", *places)))
            if kind == "folder"
            else open_zip(packed(*places), "x.zip")
        )
    assert data.classes == (CAFE, "tea")
    assert names(data).count(CAFE) == len(UNSEEN)
    (note,) = data.notes
    assert note.startswith("Labels that differ only in what cannot be seen are one class: ")
    assert repr(UNSEEN[1]) in note


def test_what_may_differ_on_purpose_is_two_classes_and_reported(tmp_path):
    cyrillic = "c\u0430t"
    pairs = [("cat", "Cat"), ("ice cream", "ice_cream"), ("1", "1.0"), ("x", "\uff58")]  # a full-width x
    lone = ["C", "C++", "1.5", "15", "10", "dog"]
    for name in [*(name for pair in pairs for name in pair), cyrillic, *lone]:
        plant(tmp_path, f"{name}/{name}.png")
    report = check(str(tmp_path))
    assert len(report.classes) == 15
    assert {frozenset(group) for group in report.alike} == {
        frozenset({"cat", "Cat", cyrillic}),
        *(frozenset(pair) for pair in pairs[1:]),
    }
    (told,) = [each for each in report.complaints() if "hard to tell apart" in each]
    assert "Cat = cat = c\u0430t ('c\\u0430t')" in told


def test_a_checkpoints_class_is_found_in_either_unicode_form():
    data = ImageSet("x", (unicodedata.normalize("NFD", CAFE), "tea"), np.array([0, 1]), lambda i: b"", ["", ""])
    assert data.matched_to(("tea", CAFE)).labels.tolist() == [1, 0]


def test_only_classes_that_are_asked_for_must_be_told_apart():
    data = ImageSet("x", ("tea",), np.array([0]), lambda i: b"", [""])
    assert data.matched_to(("C", "C++", "tea"), partly=True).labels.tolist() == [2]
    with pytest.raises(LayaError, match="cannot be told apart"):
        ImageSet("x", ("c",), np.array([0]), lambda i: b"", [""]).matched_to(("C", "C++", "tea"), partly=True)


def test_labels_that_stand_for_a_missing_one_are_reported(tmp_path):
    plant(tmp_path, "a/1.png", "nan/2.png", "N/A is no folder/3.png")
    assert "Classes that look like missing labels: nan." in check(str(tmp_path)).complaints()
