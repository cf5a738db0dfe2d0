"""CSV files as spreadsheets write them, and parquet files as others do."""

import json
import unicodedata

import pyarrow as pa
import pytest
from pyarrow import parquet

from laya.data import open_dataset, splits
from laya.data.checks import check
from laya.data.sources import parts
from laya.errors import LayaError
from tests.data.trees import names, picture, plant, values


def written(folder, text: str, encoding: str = "utf-8", name: str = "x.csv") -> str:
    (folder / name).write_bytes(text.encode(encoding))
    return str(folder / name)


@pytest.fixture
def pics(tmp_path):
    return plant(tmp_path, "pics/0.png", "pics/1.png", "pics/2.png")


ROWS = ("pics/0.png", "dog"), ("pics/1.png", "cat"), ("pics/2.png", "cat")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_spreadsheets_write_it_in_many_ways(pics, separator, encoding, end):
    lines = [separator.join(row) for row in (("path", "label", "note"), *((*row, "é") for row in ROWS))]
    lines += [separator * 2, ""]  # rows that were emptied
    data = open_dataset(written(pics, end.join(lines), encoding))
    assert (values(data), names(data)) == ([0, 1, 2], ["dog", "cat", "cat"])


@pytest.mark.parametrize(
    "header",
    [
        *("path,label", "filename,label", "Path,Label", "image,class", "file,category", "IMAGE PATH,Class Name"),
        *("file_name,label", "img_path,target", '"image","label"', " filename , label "),
    ],
)
def test_columns_are_found_by_their_usual_names(pics, header):
    data = open_dataset(written(pics, "\n".join([header, *map(",".join, ROWS)])))
    assert (values(data), names(data)) == ([0, 1, 2], ["dog", "cat", "cat"])


def test_columns_come_in_any_order_and_the_plain_names_win(pics):
    text = "label;id;class;path\ndog;1;4;pics/0.png\ncat;2;5;pics/1.png"
    assert names(open_dataset(written(pics, text))) == ["dog", "cat"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("photo;species\na.png;cat\n", r"needs the columns path and label; its columns are 'photo'; 'species'\."),
        ("a.png,cat\nb.png,dog\n", r"needs the columns path and label; its columns are 'a\.png'; 'cat'\."),
        ("file,image,label\na.png,b.png,x\n", r"its columns are 'file'; 'image'; 'label'\."),
        ("path,label,label\na.png,x,y\n", r"its columns are 'path'; 'label'; 'label'\."),
        ("", r"needs the columns path and label; it is empty\."),
        ("path,label\n", r"needs the columns path and label, and rows below them\."),
        ("path,label\na.png,x\nb.png,\n", r"both filled in every row; line 3 lacks label\."),
        ("path,label\n,x\n", r"line 2 lacks path\."),
        ("path,label\na.png,\u200b\n", r"line 2 lacks label\."),
        ("path,label\na, b.png,cat\n", r"has more fields in line 2 than columns; put quotes around one with commas\."),
        ('path,label\n"a.png,cat\nb.png,dog\n', r"cannot be read as a CSV file: line 3: unexpected end of data\."),
        ("path,label\nC:\\Users\\me\\a.png,x\n", r"outside its own folder: 'C:\\\\Users\\\\me\\\\a\.png'; put the pic"),
    ],
)
def test_what_is_not_clear_is_refused_with_what_was_found(tmp_path, text, message):
    with pytest.raises(LayaError, match=message):
        open_dataset(written(tmp_path, text))


def test_another_encoding_is_refused_with_the_way_out(pics):
    text = "path,label\npics/0.png,Käfer\n"
    for encoding in ("cp1252", "utf-16-le"):
        with pytest.raises(LayaError, match=r"as a CSV file in UTF-8; save it so \(in Excel: CSV UTF-8\)"):
            open_dataset(written(pics, text, encoding))


def test_excels_own_first_line_is_no_header(pics):
    data = open_dataset(written(pics, "sep=;\r\npath;label\r\npics/0.png;dog\r\npics/1.png;cat"))
    assert names(data) == ["dog", "cat"]
    with pytest.raises(LayaError, match="line 4 lacks label"):
        open_dataset(written(pics, "sep=;\r\npath;label\r\npics/0.png;dog\r\npics/1.png;"))


def test_paths_are_found_as_they_were_meant(tmp_path):
    accented = unicodedata.normalize("NFD", "é")
    plant(tmp_path, "pics/a, b.png", "pics/sub/1.png", f"pics/{accented}.png", "pics/ 3 .png")
    lines = ['"pics/a, b.png",x', "pics\\sub\\1.png,x", "pics/\u00e9.png,y", "pics/ 3 .png,y", " pics/sub/1.png ,y"]
    data = open_dataset(written(tmp_path, "\n".join(["path,label", *lines]), name="X.CSV"))
    assert values(data) == [0, 1, 2, 3, 1]
    lines = [f"{tmp_path}/pics/sub/1.png\tx", "pics/sub/1.png\ty"]
    assert values(open_dataset(written(tmp_path, "\n".join(["path\tlabel", *lines]), name="x.tsv"))) == [1, 1]


def test_a_row_without_its_file_is_left_out_and_named(pics):
    path = written(pics, "path,label\npics/0.png,dog\npics/9.png,cat\npics/1.png,cat\n")
    (named,) = check(path).unreadable["all"]
    assert "pics/9.png (The file '9.png' cannot be read: No such file" in named


def test_a_label_or_path_of_any_length_is_no_traceback(pics):
    long = "x" * 5000
    path = written(pics, f"path,label\npics/0.png,{long}\n{long}.png,{long}\n")
    assert open_dataset(path).classes == (long,)
    assert check(path).skipped == {"all": (1,)}
    with pytest.raises(LayaError, match="pictures of one class only to train on"):
        parts(path)


def test_rows_that_come_twice_are_reported(pics):
    lines = ["pics/0.png,dog", "pics/0.png,dog", "pics/1.png,cat", "pics/1.png,dog"]
    report = check(written(pics, "\n".join(["path,label", *lines])))
    assert report.twins == 1
    assert report.duplicates == (("all: pics/1.png", "all: pics/1.png"),)


# --- parquet ----------------------------------------------------------------------------------------------------------


def stored(folder, name: str = "x.parquet", metadata: dict | None = None, **columns) -> str:
    parquet.write_table(pa.table(columns).replace_schema_metadata(metadata), folder / name)
    return str(folder / name)


def test_a_parquet_file_has_any_usual_columns_and_ending(tmp_path):
    pictures = [picture(0), picture(1)]
    features = {"Category": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
    words = {"huggingface": json.dumps({"info": {"features": features}})}
    path = stored(tmp_path, "X.PARQUET", words, img=[{"bytes": each} for each in pictures], Category=[1, 0])
    assert names(open_dataset(path)) == ["dog", "cat"]
    with pytest.raises(LayaError, match=r"columns image and label; its columns are 'img'; 'fine'\."):
        open_dataset(stored(tmp_path, img=pictures, fine=[0, 1]))


def test_numbers_that_became_fractions_are_numbers(tmp_path):
    pictures = [picture(value) for value in range(3)]
    words = {"classes": '["cat", "dog"]'}
    assert names(open_dataset(stored(tmp_path, metadata=words, image=pictures, label=[1.0, 0.0, 1.0]))) == [
        *("dog", "cat", "dog")
    ]
    assert names(open_dataset(stored(tmp_path, image=pictures, label=[1.0, 0.0, 1.0]))) == ["1", "0", "1"]
    assert names(open_dataset(stored(tmp_path, image=pictures, label=[1.0, 0.5, 1.0]))) == ["1.0", "0.5", "1.0"]


@pytest.mark.parametrize("labels", [["a", None, "b"], [0.0, float("nan"), 1.0], [0, None, 1]])
def test_a_missing_label_is_no_class(tmp_path, labels):
    with pytest.raises(LayaError, match=r"1 rows of 'x\.parquet' have no label; fill them or take them away"):
        open_dataset(stored(tmp_path, image=[picture(0)] * 3, label=labels))


def test_a_label_without_a_class_name_is_refused(tmp_path):
    words = {"classes": '["cat", "dog"]'}
    for labels in ([0, 2], [0, -1], ["cat", "fox"]):
        with pytest.raises(LayaError, match="rows with a label that has no class name"):
            open_dataset(stored(tmp_path, metadata=words, image=[picture(0)] * 2, label=labels))


def test_a_missing_picture_is_left_out_and_named(tmp_path):
    nested = pa.array([{"bytes": picture(0)}, None, {"bytes": None}, {"bytes": picture(3)}])
    for pictures in (nested, pa.array([picture(0), None, None, picture(3)])):
        path = stored(tmp_path, image=pictures, label=["a", "a", "b", "b"])
        assert check(path).unreadable["all"] == ("row 1 (The row has no picture.)", "row 2 (The row has no picture.)")
        assert open_dataset(path).load(3).getpixel((0, 0))[0] == 3


def test_what_holds_no_pictures_is_refused(tmp_path):
    for pictures in (["a.png", "b.png"], [{"path": "a.png"}, {"path": "b.png"}], [1, 2]):
        with pytest.raises(
            LayaError, match=r"The column 'image' of 'x\.parquet' holds .*, no files' bytes; store those"
        ):
            open_dataset(stored(tmp_path, image=pictures, label=["a", "b"]))


def test_rows_are_counted_in_the_file(tmp_path):
    path = stored(
        tmp_path, image=[picture(v) for v in range(3)], label=["a", "b", "a"], split=["train", "test", "train"]
    )
    assert splits(path) == ("train", "test")
    assert open_dataset(path, "train").sources == ["row 0", "row 2"]
