"""Image folders, class matching (H17), and where Fashion-MNIST is found."""

import gzip
import io
import json
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet
from torchvision.datasets import FashionMNIST

from laya.data import at_hand, batches, offered, open_dataset, splits
from laya.data.known import FASHION_MNIST
from laya.data.zips import open_zip
from laya.errors import LayaError
from laya.inputs.preprocessing import Preprocessing
from tests.conftest import encode, pack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Classes 1, 2, 10, B, a with one, two, ... grey pictures each, and things that are none."""
    root = tmp_path / "pictures"
    for count, name in enumerate(["1", "2", "10", "B", "a"], start=1):
        (root / name).mkdir(parents=True)
        for number in range(count):
            Image.new("L", (9, 9), 10 * count + number).save(root / name / f"{number}.png")
    (root / ".cache").mkdir()
    (root / "a" / ".hidden.png").write_bytes(b"no picture")
    return root


def test_a_folder_has_its_subfolders_as_classes(folder):
    data = open_dataset(str(folder))
    assert data.name == "pictures"
    assert data.classes == ("1", "10", "2", "B", "a")
    assert np.bincount(data.labels).tolist() == [1, 3, 2, 4, 5]
    assert len(data) == 15
    for index in range(15):
        count = ["1", "2", "10", "B", "a"].index(data.classes[data.labels[index]]) + 1
        assert data.load(index).getpixel((0, 0))[0] // 10 == count


def test_labels_follow_the_checkpoints_order(folder):
    data = open_dataset(str(folder)).matched_to(("a", "B", "10", "2", "1"))
    assert np.bincount(data.labels).tolist() == [5, 4, 3, 2, 1]
    assert data.classes == ("a", "B", "10", "2", "1")


def test_names_match_whatever_their_case_and_punctuation(tmp_path):
    for name in ("ankle-boot", "T-Shirt_Top"):
        (tmp_path / name).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / name / "x.png")
    data = open_dataset(str(tmp_path)).matched_to(("T-shirt/top", "Ankle boot"))
    assert [data.classes[label] for label in data.labels] == ["T-shirt/top", "Ankle boot"]


def test_an_exact_name_wins_and_an_ambiguous_one_is_refused(tmp_path):
    for count, name in enumerate(("C", "C++"), start=1):
        (tmp_path / name).mkdir()
        for number in range(count):
            Image.new("L", (4, 4)).save(tmp_path / name / f"{number}.png")
    data = open_dataset(str(tmp_path))
    assert np.bincount(data.matched_to(("C++", "C")).labels).tolist() == [2, 1]
    with pytest.raises(LayaError, match=r"cannot be told apart; name them exactly"):
        data.matched_to(("c", "c++"))


def test_differing_classes_are_refused_with_the_difference(folder):
    data = open_dataset(str(folder))
    with pytest.raises(LayaError, match=r"does not know the class 'B', 'a'; it knows 1, 2, 10, c"):
        data.matched_to(("1", "2", "10", "c"))
    with pytest.raises(LayaError, match=r"has no class 'c'; if there are no pictures of it, add an empty folder"):
        data.matched_to(("1", "2", "10", "a", "B", "c"))
    (folder / "c").mkdir()
    assert len(open_dataset(str(folder)).matched_to(("1", "2", "10", "a", "B", "c"))) == 15


def test_train_and_test_folders_are_splits(folder, tmp_path):
    root = tmp_path / "both"
    root.mkdir()
    folder.rename(root / "train")
    (root / "test" / "1").mkdir(parents=True)
    Image.new("L", (4, 4)).save(root / "test" / "1" / "x.png")
    assert len(open_dataset(str(root), "train")) == 15
    assert len(open_dataset(str(root), "test")) == 1


def test_unreadable_files_are_left_out_and_named(folder):
    (folder / "1" / "0.png").write_bytes(b"no picture")
    (folder / "10" / "link.png").symlink_to(folder / "nowhere.png")
    (folder / "2" / "1.png").write_bytes((folder / "2" / "0.png").read_bytes()[:30])
    skipped: list[str] = []
    data = open_dataset(str(folder))
    streamed = list(batches(data, Preprocessing(size=(9, 9)), 4, skipped.append))
    indices = np.concatenate([part for part, _ in streamed])
    assert len(indices) == sum(len(pictures) for _, pictures in streamed) == 13
    assert [name.split(":")[0] for name in skipped] == ["1/0.png", "10/link.png", "2/1.png"]
    for part, pictures in streamed:
        for index, picture in zip(part, pictures, strict=True):
            assert picture.getpixel((0, 0)) == data.load(index).getpixel((0, 0))[0]


def test_what_is_no_data_set_is_refused(tmp_path):
    with pytest.raises(
        LayaError, match="neither a folder nor a parquet or CSV file nor a known data set; known: fashion-mnist"
    ):
        open_dataset(str(tmp_path / "nowhere"))
    for name in ("a" * 300, ""):
        with pytest.raises(LayaError, match="neither a folder nor a parquet or CSV file nor a known data set"):
            open_dataset(name)
    with pytest.raises(LayaError, match="has no sub-folders; give each class one"):
        open_dataset(str(tmp_path))
    (tmp_path / "cat").mkdir()
    with pytest.raises(LayaError, match="holds no pictures"):
        open_dataset(str(tmp_path))


def idx(values: np.ndarray) -> bytes:
    """The IDX format as its author describes it (http://yann.lecun.com/exdb/mnist)."""
    return struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


@pytest.mark.parametrize("layout", ["debian", "torchvision"])
def test_fashion_mnist_is_read_from_where_it_lies(tmp_path, monkeypatch, layout):
    rng = np.random.default_rng(0)
    monkeypatch.setattr("laya.data.known.DEBIAN", tmp_path / "debian")
    monkeypatch.setenv("LAYA_DATA", str(tmp_path / "cache"))
    folder = tmp_path / ("debian/fashion-mnist" if layout == "debian" else "cache/FashionMNIST/raw")
    folder.mkdir(parents=True)
    truth = {}
    for split, stem, count in (("train", "train", 7), ("test", "t10k", 5)):
        truth[split] = rng.integers(0, 256, (count, 28, 28), np.uint8), rng.integers(0, 10, count, np.uint8)
        for values, kind in zip(truth[split], ("images-idx3", "labels-idx1"), strict=True):
            if layout == "debian":
                (folder / f"{stem}-{kind}-ubyte.gz").write_bytes(gzip.compress(idx(values)))
            else:
                (folder / f"{stem}-{kind}-ubyte").write_bytes(idx(values))
    for split, (pixels, labels) in truth.items():
        data = open_dataset("fashion-mnist", split)
        assert data.labels.tolist() == labels.tolist()
        assert all(np.array_equal(np.asarray(data.load(i)), pixels[i]) for i in range(len(pixels)))
    assert data.classes[0] == "T-shirt/top"


def test_the_names_of_fashion_mnist_are_torchvisions():
    assert tuple(FashionMNIST.classes) == FASHION_MNIST


def test_fashion_mnist_that_cannot_be_had_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("laya.data.known.DEBIAN", tmp_path)
    monkeypatch.setenv("LAYA_DATA", str(tmp_path))
    with pytest.raises(LayaError, match="its download failed; on Debian or Ubuntu install the package dataset-fashion"):
        open_dataset("fashion-mnist")


# --- parquet files and split data ------------------------------------------------------------------------------------


def write_parquet(file: Path, labels: list, *, metadata: dict | None = None, struct: bool = False, **columns) -> None:
    pictures = [encode(Image.new("RGB", (5, 4), (index, 0, 0))) for index in range(len(labels))]
    stored = [{"bytes": data, "path": None} for data in pictures] if struct else pictures
    table = pa.table({"image": stored, "label": labels, **columns})
    parquet.write_table(table.replace_schema_metadata(metadata), file)


def test_a_parquet_file_has_its_class_names_in_the_schema(tmp_path):
    file = tmp_path / "x.parquet"
    ours = {"classes": json.dumps(["cat", "dog"])}
    features = {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
    theirs = {"huggingface": json.dumps({"info": {"features": features}})}
    for metadata, nested in ((ours, False), (theirs, True)):
        write_parquet(file, [1, 0, 1], metadata=metadata, struct=nested)
        data = open_dataset(str(file))
        assert data.classes == ("cat", "dog")
        assert data.labels.tolist() == [1, 0, 1]
        assert [data.load(index).getpixel((0, 0))[0] for index in range(3)] == [0, 1, 2]
        assert data.split is None


def test_labels_may_be_names(tmp_path):
    write_parquet(tmp_path / "x.parquet", ["dog", "cat", "dog"])
    data = open_dataset(str(tmp_path / "x.parquet"))
    assert data.classes == ("cat", "dog")
    assert data.labels.tolist() == [1, 0, 1]


def test_a_split_column_parts_the_file(tmp_path):
    file = tmp_path / "x.parquet"
    write_parquet(file, ["a", "b", "a", "b"], split=["train", "train", "test", "val"])
    assert splits(str(file)) == ("train", "val", "test")
    assert open_dataset(str(file), "val").load(0).getpixel((0, 0))[0] == 3
    assert open_dataset(str(file), "test").split == "test"


def test_what_is_no_such_parquet_file_is_refused(tmp_path):
    file = tmp_path / "x.parquet"
    file.write_bytes(b"PAR1 but not really")
    with pytest.raises(LayaError, match="not a parquet file with the columns image and label"):
        open_dataset(str(file))
    write_parquet(file, [0, 5], metadata={"classes": '["a", "b"]'})
    with pytest.raises(LayaError, match="a label that has no class name"):
        open_dataset(str(file))
    write_parquet(file, ["a"], split=["train"])
    with pytest.raises(LayaError, match="has no part called 'test', only 'train'"):
        open_dataset(str(file), "test")


def test_a_folder_with_train_and_test_is_split_and_may_have_val(folder):
    root = folder.parent / "split"
    for part in ("train", "test"):
        shutil.copytree(folder, root / part)
    assert splits(str(root)) == ("train", "test")
    assert splits(str(folder)) == ()
    with pytest.raises(LayaError, match="has no part called 'val'"):
        open_dataset(str(root), "val")
    shutil.copytree(folder, root / "val")
    assert splits(str(root)) == ("train", "val", "test")
    assert open_dataset(str(root), "val").split == "val"


def test_cifar10_is_read_from_the_binary_version(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYA_DATA", str(tmp_path))
    raw = tmp_path / "cifar-10-batches-bin"
    raw.mkdir()
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (4, 3073), dtype=np.uint8)
    rows[:, 0] = [3, 9, 0, 3]
    (raw / "test_batch.bin").write_bytes(rows.tobytes())
    data = open_dataset("cifar10")
    assert [data.classes[label] for label in data.labels] == ["cat", "truck", "airplane", "cat"]
    red, green, blue = rows[1, 1:].reshape(3, 32, 32)
    assert data.load(1).getpixel((5, 7)) == (red[7, 5], green[7, 5], blue[7, 5])  # x = 5, y = 7
    with pytest.raises(LayaError, match="no part called 'val'"):
        open_dataset("cifar10", "val")


def test_known_data_that_is_not_here_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYA_DATA", str(tmp_path))
    with pytest.raises(LayaError, match=r"Best Artworks is not on this machine; set LAYA_DATA to the folder"):
        open_dataset("best-artworks")


def test_two_sets_follow_each_other(folder):
    data = open_dataset(str(folder))
    both = data.followed_by(data.subset(np.array([3, 0])))
    assert len(both) == 17
    assert both.labels[-2:].tolist() == [data.labels[3], data.labels[0]]
    assert both.raw(15) == data.raw(3)
    assert both.sources[16] == data.sources[0]


# --- a zip of pictures ------------------------------------------------------------------------------------------------


def picture(value: int) -> bytes:
    return encode(Image.new("L", (9, 9), value))


def test_a_zip_has_its_folders_as_classes():
    data = open_zip(
        pack(
            {
                "mine/dog/b.png": picture(2),
                "mine/cat/a.png": picture(1),
                "mine/dog/c.png": b"no picture",
                "__MACOSX/mine/dog/._b.png": b"x",
                "mine/.DS_Store": b"x",
                "mine/dog/.hidden.png": b"x",
            }
        ),
        "mine.zip",
    )
    assert (data.name, data.classes) == ("mine", ("cat", "dog"))
    assert data.labels.tolist() == [0, 1, 1]
    assert list(data.sources) == ["cat/a.png", "dog/b.png", "dog/c.png"]
    assert data.load(1).getpixel((0, 0)) == (2, 2, 2)
    with pytest.raises(LayaError, match="cannot be read here"):
        data.load(2)


def test_a_zip_never_reaches_the_disk_and_cannot_swell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = open_zip(pack({"../../cat/x.png": picture(1), "/cat/y.png": picture(1)}), "a.zip")
    assert data.load(0).size == (9, 9)
    assert not list(tmp_path.iterdir())
    swollen = open_zip(pack({"cat/bomb.png": bytes(60 * 2**20)}), "a.zip")
    with pytest.raises(LayaError, match="more than the limit"):
        swollen.load(0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a zip archive"),
        (b"PK\x03\x04 and then nothing", "not a zip archive"),
        (pack({}), "no folders with pictures"),
        (pack({"loose.png": b"x"}), "no folders with pictures"),
    ],
)
def test_a_useless_zip_is_refused_in_a_sentence(content, message):
    with pytest.raises(LayaError, match=message):
        open_zip(content, "my.zip")


def test_too_many_files_are_refused(monkeypatch):
    monkeypatch.setattr("laya.data.zips.ZIP_FILES", 2)
    with pytest.raises(LayaError, match="holds 3 files, more than the limit of 2"):
        open_zip(pack({f"cat/{i}.png": b"x" for i in range(3)}), "my.zip")


def test_a_damaged_entry_is_told_and_the_others_stay():
    data = pack({"cat/a.png": picture(1), "cat/b.png": picture(2)})
    start = data.index(b"cat/a.png") + len("cat/a.png")
    broken = open_zip(data[: start + 5] + bytes([data[start + 5] ^ 255]) + data[start + 6 :], "my.zip")
    with pytest.raises(LayaError, match="damaged"):
        broken.load(0)
    assert broken.load(1).getpixel((0, 0)) == (2, 2, 2)


def test_only_what_lies_in_the_data_folder_is_offered(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("LAYA_DATA", raising=False)
    assert offered() == {}
    (tmp_path / "empty").mkdir()
    (tmp_path / ".secret" / "a").mkdir(parents=True)
    (tmp_path / "notes.txt").write_text("x")
    monkeypatch.setenv("LAYA_DATA", str(tmp_path))
    assert list(offered()) == ["pictures"]


# --- CSV --------------------------------------------------------------------------------------------------------------


def test_a_csv_names_paths_and_labels(tmp_path):
    (tmp_path / "pics").mkdir()
    for i in range(4):
        (tmp_path / "pics" / f"{i}.png").write_bytes(picture(i))
    file = tmp_path / "mine.csv"
    file.write_text(
        'path,label,split\npics/0.png,dog,train\npics/1.png,cat,train\n"pics/2.png",cat,test\npics/3.png,dog,val\n',
        encoding="utf-8-sig",
    )
    assert splits(str(file)) == ("train", "val", "test")
    train = open_dataset(str(file), "train")
    assert (train.name, train.classes, train.labels.tolist(), train.split) == ("mine", ("cat", "dog"), [1, 0], "train")
    assert train.load(1).getpixel((0, 0)) == (1, 1, 1)
    assert open_dataset(str(file), "test").sources == ["pics/2.png"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs the columns path and label"),
        ("photo,label\na.png,x\n", "needs the columns path and label"),
        ("path,label\na.png,\n", "both filled in every row"),
        ("path,label\n../../etc/passwd,x\n", "outside its own folder: '../../etc/passwd'"),
        ("path,label\n/etc/passwd,x\n", "outside its own folder"),
        ("path,label,split\na.png,x,train\n", "has no part called 'test', only 'train'"),
    ],
)
def test_a_useless_csv_is_refused_in_a_sentence(tmp_path, text, message):
    (tmp_path / "my.csv").write_text(text)
    with pytest.raises(LayaError, match=message):
        open_dataset(str(tmp_path / "my.csv"))


def test_a_csv_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "my.csv").write_bytes(b"\xff\xfe\x00path")
    with pytest.raises(LayaError, match="CSV file in UTF-8"):
        open_dataset(str(tmp_path / "my.csv"))


def test_files_without_a_name_or_a_folder_do_not_count(noise):
    data = encode(noise())
    assert open_zip(pack({"/y.png": data, "red/x.png": data}), "x.zip").classes == ("red",)
    nameless = pack({"red/x.png": data, "q": b""}).replace(b"q", b"\0")
    assert open_zip(nameless, "x.zip").sources == ["red/x.png"]


def test_an_entry_that_lies_outside_the_archive_is_told(noise):
    data = bytearray(pack({"red/x.png": encode(noise())}))
    found = open_zip(bytes(data[1:]), "x.zip")  # what the directory says is off by one
    with pytest.raises(LayaError, match=r"^The file is damaged in the archive\.$"):
        found.load(0)


def test_a_damaged_entry_of_any_packing_is_told(noise):
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as archive:
            archive.writestr("red/x.png", encode(noise()))
        data = stream.getvalue()
        start = data.index(b"red/x.png") + 9
        found = open_zip(data[: start + 4] + b"\xff" * 40 + data[start + 44 :], "x.zip")
        with pytest.raises(LayaError, match=r"^The file is damaged in the archive\.$"):
            found.load(0)


def test_an_endless_directory_is_refused_before_it_is_read():
    with pytest.raises(LayaError, match=r"'x\.zip' holds more than 20,000 files, the limit; pack fewer\."):
        open_zip(b"PK\1\2" * 20_001, "x.zip")


def test_a_report_may_name_what_is_here_and_nothing_is_fetched_or_looked_for_elsewhere(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("laya.data.known.DEBIAN", tmp_path / "no-debian")
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAYA_DATA", str(tmp_path))

    def fetch(*args: object, **options: object) -> None:
        raise AssertionError("a download")

    monkeypatch.setattr("torchvision.datasets.mnist.FashionMNIST.download", fetch)
    monkeypatch.setattr("torchvision.datasets.utils.download_and_extract_archive", fetch)
    for name in ("fashion-mnist", "cifar10", "best-artworks", "hats", "", "."):
        assert at_hand(name, "test") is None
    table = {"image": [encode(Image.new("L", (4, 4)))] * 2, "label": ["cat", "frog"]}
    parquet.write_table(pa.table(table), tmp_path / "cifar10-test.parquet")
    assert len(at_hand("cifar10", "test")) == 2
    assert at_hand("cifar10", "val") is None
    assert len(at_hand("pictures", "test")) == 15
    assert len(at_hand("/elsewhere/pictures", "test")) == 15  # where it was trained; only the name counts
    monkeypatch.setenv("LAYA_DATA", str(tmp_path / "cache"))
    assert at_hand(str(folder), "test") is None  # a folder that nobody offers
