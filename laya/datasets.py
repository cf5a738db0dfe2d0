"""Labelled pictures: known data sets by name, anything else from a parquet file or an image folder."""

import csv
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import parquet

from laya import images
from laya.archives import Archive
from laya.errors import LayaError
from laya.images import Preprocessing

Split = Literal["train", "val", "test"]
DEBIAN = Path("/usr/share/datasets")
PROJECT = Path(__file__).parent.parent
ZIP_FILES = 5000  # most files in an archive
ZIP_BYTES = 200 * 2**20  # most bytes of an archive


@dataclass(frozen=True)
class ImageSet:
    """N labelled pictures.

    Attributes
    ----------
    name : the known data set's name, or the folder's.
    classes : class names in the order of the labels.
    labels : (N,), int64.
    raw : the n-th picture as it is stored: a file's bytes, or pixels (H, W) or (H, W, 3), uint8.
    sources : what to call the n-th picture in a message.
    split : which part of the data set this is; None where it is not split.
    """

    name: str
    classes: tuple[str, ...]
    labels: np.ndarray
    raw: Callable[[int], bytes | np.ndarray]
    sources: Sequence[str]
    split: Split | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def load(self, index: int) -> Image.Image:
        """The picture at ``index``.

        Raises
        ------
        LayaError
            Its file cannot be read.
        """
        stored = self.raw(index)
        return images.read(stored).image if isinstance(stored, bytes) else Image.fromarray(stored)

    def digest(self) -> str:
        """SHA-256 of all stored pictures in their order, hexadecimal; labels and names do not count."""
        total = hashlib.sha256()
        for index in range(len(self)):
            stored = self.raw(index)
            data = stored if isinstance(stored, bytes) else repr(stored.shape).encode() + stored.tobytes()
            total.update(len(data).to_bytes(8, "little") + data)
        return total.hexdigest()

    def matched_to(self, classes: Sequence[str], *, partly: bool = False) -> "ImageSet":
        """The same pictures, labelled in a checkpoint's class order.

        A name matches itself, or else the one that differs from it in case and punctuation alone. With ``partly`` the
        data may lack classes.

        Raises
        ------
        LayaError
            The two sets of class names differ, the message lists the difference, or a name could mean two classes.
        """
        index = {name: number for number, name in enumerate(classes)}
        given = [name for name in self.classes if name not in index]
        rest = [name for name in classes if name not in self.classes]
        by_slug = {_slug(name): name for name in rest}
        if len(by_slug) < len(rest) or len({_slug(name) for name in given}) < len(given):
            raise LayaError(
                f"The classes {', '.join(map(repr, [*given, *rest]))} cannot be told apart; name them exactly."
            )
        surplus = [name for name in given if _slug(name) not in by_slug]
        matched = {name: by_slug[_slug(name)] for name in given if name not in surplus}
        missing = [name for name in rest if name not in matched.values()]
        if surplus:
            raise LayaError(
                f"The model does not know the class {', '.join(map(repr, surplus))}; it knows {', '.join(classes)}."
            )
        if missing and not partly:
            raise LayaError(
                f"The data has no class {', '.join(map(repr, missing))}; if there are no pictures of it, "
                "add an empty folder of that name."
            )
        order = np.array([index[matched.get(name, name)] for name in self.classes], dtype=np.int64)
        return replace(self, classes=tuple(classes), labels=order[self.labels])

    def subset(self, indices: np.ndarray) -> "ImageSet":
        """The pictures at ``indices`` (n,), in that order."""
        return replace(
            self,
            labels=self.labels[indices],
            raw=lambda index: self.raw(int(indices[index])),
            sources=[self.sources[index] for index in indices],
        )

    def followed_by(self, other: "ImageSet") -> "ImageSet":
        """These pictures and then those of another set, matched to these classes.

        Raises
        ------
        LayaError
            The class names differ.
        """
        other = other.matched_to(self.classes)
        return replace(
            self,
            labels=np.concatenate([self.labels, other.labels]),
            raw=lambda index: self.raw(index) if index < len(self) else other.raw(index - len(self)),
            sources=[*self.sources, *other.sources],
        )


def _slug(name: str) -> str:
    """A class name as a folder may carry it: "T-shirt/top" and "t_shirt_top" are the same."""
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")


def batches(
    data: ImageSet, preprocessing: Preprocessing, size: int, on_skip: Callable[[str], None]
) -> Iterator[tuple[np.ndarray, list[Image.Image]]]:
    """Stream prepared pictures: arrays of indices (b,) with their b pictures.

    A file that cannot be read is left out, and ``on_skip`` is told its name and what is wrong with it.
    """
    for start in range(0, len(data), size):
        indices, prepared = [], []
        for index in range(start, min(start + size, len(data))):
            try:
                prepared.append(images.prepare(data.load(index), preprocessing).image)
                indices.append(index)
            except LayaError as error:
                on_skip(f"{data.sources[index]}: {error}")
        yield np.array(indices, dtype=np.int64), prepared


def open_dataset(path: str, split: Split = "test") -> ImageSet:
    """A known data set by its name, a parquet or CSV file, or an image folder with one sub-folder a class.

    A folder that has the sub-folders ``train`` and ``test`` (and perhaps ``val``) is split by them, a file by its
    column ``split``; what is not split is one whole, whatever ``split`` asks for. A CSV file has the columns ``path``
    (relative to the file) and ``label``.

    Raises
    ------
    LayaError
        Neither a known name nor a folder nor a parquet file, no classes in it, no such split, or a known data set that
        is not on this machine and cannot be downloaded.
    """
    if path in KNOWN:
        if split not in KNOWN[path].splits:
            raise LayaError(f"{KNOWN[path].title} has no part called {split!r}.")
        return KNOWN[path].open(split)
    place = Path(path)
    if path.endswith(".parquet") and os.path.isfile(place):  # noqa: PTH113  # Path.is_file raises for too long a name
        return _parquet(place, split)
    if path.endswith(".csv") and os.path.isfile(place):  # noqa: PTH113
        return _csv(place, split)
    if not path or not os.path.isdir(place):  # noqa: PTH112
        raise LayaError(
            f"{path!r} is neither a folder nor a parquet or CSV file nor a known data set; known: {', '.join(KNOWN)}."
        )
    if {"train", "test"} <= _children(place):
        if split not in _children(place):
            raise LayaError(f"The folder {place.name!r} has no part called {split!r}.")
        return replace(_folder(place / split), split=split)
    return _folder(place)


def splits(path: str) -> tuple[Split, ...]:
    """The parts that a data set comes in; empty where it is one whole.

    Raises
    ------
    LayaError
        See :func:`open_dataset`.
    """
    parts: tuple[Split, ...] = ("train", "val", "test")
    if path in KNOWN:
        return KNOWN[path].splits
    place = Path(path)
    if path.endswith(".parquet") and os.path.isfile(place):  # noqa: PTH113
        column = _table(place, ["split"])
        there = set() if column is None else set(column["split"].to_pylist())
    elif path.endswith(".csv") and os.path.isfile(place):  # noqa: PTH113
        there = {row.get("split") for row in _csv_rows(place)}
    else:
        there = _children(place) if path and os.path.isdir(place) else set()  # noqa: PTH112
        there = there if {"train", "test"} <= there else set()
    return tuple(part for part in parts if part in there)


def _children(folder: Path) -> set[str]:
    return {child.name for child in folder.iterdir() if child.is_dir()}


def _parquet(file: Path, split: Split) -> ImageSet:
    """A parquet file as Hugging Face writes image data sets: ``image`` (bytes, or a struct with bytes), ``label``."""
    table = _table(file, None)
    if table is None or not {"image", "label"} <= set(table.column_names):
        raise LayaError(f"{file.name!r} is not a parquet file with the columns image and label.")
    parted = "split" in table.column_names
    if parted:
        table = table.filter(pa.compute.equal(table["split"], split))
    if not len(table):
        raise LayaError(f"{file.name!r} has no pictures" + (f" in its part {split!r}." if parted else "."))
    pictures = table["image"].combine_chunks()
    if pa.types.is_struct(pictures.type):
        pictures = pictures.field("bytes")
    labels = table["label"].to_pylist()
    classes = _class_names(table.schema) or sorted(set(map(str, labels)))
    if all(isinstance(label, str) for label in labels) or not _class_names(table.schema):
        labels = [classes.index(str(label)) for label in labels]
    if pictures.null_count or not all(isinstance(label, int) and 0 <= label < len(classes) for label in labels):
        raise LayaError(f"{file.name!r} has rows without a picture or with a label that has no class name.")
    return ImageSet(
        name=file.stem,
        classes=tuple(classes),
        labels=np.array(labels, dtype=np.int64),
        raw=lambda index: bytes(pictures[index].as_py()),
        sources=[f"row {index}" for index in range(len(table))],
        split=split if parted else None,
    )


def _csv(file: Path, split: Split) -> ImageSet:
    """A CSV file of pictures beside it; the paths stay below its folder."""
    rows = _csv_rows(file)
    parted = "split" in rows[0]
    rows = [row for row in rows if not parted or row["split"] == split]
    if not rows:
        raise LayaError(f"{file.name!r} has no pictures in its part {split!r}.")
    classes = sorted({row["label"] for row in rows})
    folder = file.parent.resolve()
    files = [(folder / row["path"]).resolve() for row in rows]
    outside = [row["path"] for row, each in zip(rows, files, strict=True) if not each.is_relative_to(folder)]
    if outside:
        raise LayaError(f"{file.name!r} names a picture outside its own folder: {outside[0]!r}.")
    return ImageSet(
        name=file.stem,
        classes=tuple(classes),
        labels=np.array([classes.index(row["label"]) for row in rows], dtype=np.int64),
        raw=lambda index: images.read_bytes(files[index]),
        sources=[row["path"] for row in rows],
        split=split if parted else None,
    )


def _csv_rows(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LayaError(f"{file.name!r} cannot be read as a CSV file in UTF-8.") from error
    if not rows or not all(row.get("path") and row.get("label") and None not in row.values() for row in rows):
        raise LayaError(f"{file.name!r} needs the columns path and label, both filled in every row.")
    return rows


def _table(file: Path, columns: list[str] | None) -> Any:
    """A parquet file's columns; None if it is damaged or lacks one."""
    try:
        return (
            parquet.read_table(file, columns=columns)
            if columns is None or set(columns) <= set(parquet.read_schema(file).names)
            else None
        )
    except (pa.ArrowException, OSError):
        return None


def _class_names(schema: Any) -> list[str]:
    """Class names from a parquet schema: our key ``classes``, or what the library ``datasets`` writes."""
    words = schema.metadata or {}
    try:
        if b"classes" in words:
            return [str(name) for name in json.loads(words[b"classes"])]
        return [str(name) for name in json.loads(words[b"huggingface"])["info"]["features"]["label"]["names"]]
    except (KeyError, TypeError, ValueError):
        return []


def open_zip(data: bytes, name: str) -> ImageSet:
    """A zip archive of pictures with one folder a class; nothing of it is ever unpacked to disk.

    Folders around the class folders, hidden files and macOS's own entries do not count.

    Raises
    ------
    LayaError
        Not a zip, encrypted, no pictures in class folders, or more than :data:`ZIP_FILES` files.
    """
    archive = Archive(data, name)
    entries = [
        entry
        for entry in archive.entries
        if not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(entry.filename).parts)
    ]
    if len(entries) > ZIP_FILES:
        raise LayaError(f"{name!r} holds {len(entries):,} files, more than the limit of {ZIP_FILES:,}; pack fewer.")
    archive.check_open(entries)
    entries = [entry for entry in entries if PurePosixPath(entry.filename).parent.name]
    if not entries:
        raise LayaError(f"{name!r} has no folders with pictures; put those of each class into a folder of its name.")
    entries.sort(key=lambda entry: entry.filename)
    names = [PurePosixPath(entry.filename).parent.name for entry in entries]
    classes = tuple(sorted(set(names)))

    return ImageSet(
        name=PurePosixPath(name).stem,
        classes=classes,
        labels=np.array([classes.index(each) for each in names], dtype=np.int64),
        raw=lambda index: archive.read(entries[index], images.MAX_BYTES + 1),
        sources=["/".join(PurePosixPath(entry.filename).parts[-2:]) for entry in entries],
    )


def offered() -> dict[str, Path]:
    """Image folders and parquet files that whoever runs this offers to others: those directly in LAYA_DATA, by name."""
    given = os.environ.get("LAYA_DATA")
    if not given or not Path(given).is_dir():
        return {}
    return {
        child.name: child
        for child in sorted(Path(given).iterdir())
        if not child.name.startswith(".") and ((child.is_dir() and _children(child)) or child.suffix == ".parquet")
    }


# torchvision takes longer to import than all else here together, and most that is done with pictures needs none of it.


def _folder(folder: Path) -> ImageSet:
    """An image folder by torchvision's convention; hidden directories are passed over, and a class may be empty."""
    from torchvision.datasets.folder import make_dataset

    classes = sorted(e.name for e in os.scandir(folder) if e.is_dir() and not e.name.startswith("."))
    if not classes:
        raise LayaError(f"The folder {folder.name!r} has no sub-folders; give each class one.")
    found = make_dataset(
        folder,
        {name: index for index, name in enumerate(classes)},
        is_valid_file=lambda file: not Path(file).name.startswith("."),
        allow_empty=True,
    )
    if not found:
        raise LayaError(f"The folder {folder.name!r} holds no pictures.")
    files = [Path(file) for file, _ in found]
    return ImageSet(
        name=folder.name,
        classes=tuple(classes),
        labels=np.array([label for _, label in found], dtype=np.int64),
        raw=lambda index: images.read_bytes(files[index]),
        sources=[str(file.relative_to(folder)) for file in files],
    )


# --- known data sets --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KnownDataset:
    """A data set that is known by name: how to open it, how its pictures are prepared, where it comes from."""

    open: Callable[[Split], ImageSet]
    splits: tuple[Split, ...]
    preprocessing: Preprocessing
    title: str
    origin: str  # for the model card, Markdown
    license: str  # of weights trained on it; SPDX or Hugging Face identifier, lower case
    terms: str  # what may be done with weights and data, for the model card


def cache() -> Path:
    """Where downloads and computed states are kept: LAYA_CACHE, or ``~/.cache/laya``."""
    return Path(os.environ.get("LAYA_CACHE") or Path.home() / ".cache" / "laya")


def _places() -> list[Path]:
    """Where a known data set's files are looked for: LAYA_DATA, or else the cache and the usual folders."""
    given = os.environ.get("LAYA_DATA")
    return [Path(given)] if given else [cache(), PROJECT / "data", PROJECT.parent / "shared" / "data"]


def _stored(name: str) -> Path | None:
    return next((place / name for place in _places() if (place / name).exists()), None)


FASHION_MNIST = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)


def _fashion_mnist(split: Split) -> ImageSet:
    """Fashion-MNIST from Debian's package ``dataset-fashion-mnist``, or torchvision's files, or its download."""
    debian = DEBIAN / "fashion-mnist"
    if debian.is_dir():
        stem = "train" if split == "train" else "t10k"
        pixels = _idx(debian / f"{stem}-images-idx3-ubyte.gz")
        labels = _idx(debian / f"{stem}-labels-idx1-ubyte.gz")
    else:
        from torchvision.datasets import FashionMNIST

        folder = _stored("FashionMNIST")
        try:
            stored = FashionMNIST(str(folder.parent if folder else cache()), train=split == "train", download=True)
        except (OSError, RuntimeError) as error:
            raise LayaError(
                "Fashion-MNIST is not on this machine and its download failed; on Debian or Ubuntu install the package "
                "dataset-fashion-mnist, or set LAYA_DATA to the folder that holds FashionMNIST/raw."
            ) from error
        pixels, labels = stored.data.numpy(), stored.targets.numpy()
    return ImageSet(
        name="fashion-mnist",
        classes=FASHION_MNIST,
        labels=labels.astype(np.int64),
        raw=lambda index: pixels[index],
        sources=[f"{split} image {index}" for index in range(len(labels))],
        split=split,
    )


def _idx(file: Path) -> np.ndarray:
    """An IDX file of unsigned bytes: two zeros, type 8, number of dimensions, each size (big-endian), the values."""
    data = gzip.decompress(file.read_bytes())
    sizes = np.frombuffer(data, ">i4", count=data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(sizes)


CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def _cifar10(split: Split) -> ImageSet:
    """CIFAR-10 from cifar10-train.parquet and cifar10-test.parquet, or the original's binary version, downloaded.

    torchvision's own reader unpickles the Python version, so only its downloader is used.
    """
    if file := _stored(f"cifar10-{split}.parquet"):
        return replace(_parquet(file, split), name="cifar10", split=split)
    from torchvision.datasets.utils import download_and_extract_archive

    folder = _stored("cifar-10-batches-bin") or cache() / "cifar-10-batches-bin"
    files = [folder / f"data_batch_{i}.bin" for i in range(1, 6)] if split == "train" else [folder / "test_batch.bin"]
    try:
        if not all(file.exists() for file in files):
            download_and_extract_archive(
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                str(folder.parent),
                md5="c32a1d4ab5d03f1284b67883e8d87530",
            )
        rows = np.frombuffer(b"".join(file.read_bytes() for file in files), np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    except (OSError, RuntimeError, ValueError) as error:
        raise LayaError(
            "CIFAR-10 is not on this machine and its download failed; set LAYA_DATA to the folder that holds "
            "cifar10-train.parquet and cifar10-test.parquet, or cifar-10-batches-bin."
        ) from error
    pixels = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)  # planes of red, green, blue
    return ImageSet(
        name="cifar10",
        classes=CIFAR10,
        labels=rows[:, 0].astype(np.int64),
        raw=lambda index: np.ascontiguousarray(pixels[index]),
        sources=[f"{split} image {index}" for index in range(len(rows))],
        split=split,
    )


def _best_artworks(split: Split) -> ImageSet:
    """The art styles of the "Best Artworks of All Time" collection, from best-artworks.parquet."""
    file = _stored("best-artworks.parquet")
    if file is None:
        raise LayaError(
            "Best Artworks is not on this machine; set LAYA_DATA to the folder that holds best-artworks.parquet."
        )
    return replace(_parquet(file, split), name="best-artworks")


IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}

KNOWN = {
    "fashion-mnist": KnownDataset(
        open=_fashion_mnist,
        splits=("train", "test"),
        preprocessing=Preprocessing(size=(28, 28), channels=1, recipe="garment"),
        title="Fashion-MNIST",
        origin="[Fashion-MNIST](https://github.com/zalandoresearch/fashion-mnist) (Xiao, Rasul, Vollgraf, 2017): "
        "60,000 training and 10,000 test pictures of Zalando's articles, 28 x 28 grey, 10 classes; MIT licence",
        license="mit",
        terms="MIT, weights and data.",
    ),
    "cifar10": KnownDataset(
        open=_cifar10,
        splits=("train", "test"),
        preprocessing=Preprocessing(
            # The training pictures' own mean and standard deviation.
            *((32, 32), 3, (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
            interpolation="lanczos",
        ),
        title="CIFAR-10",
        origin="[CIFAR-10](https://www.cs.toronto.edu/~kriz/cifar.html) (Krizhevsky, 2009): 32 x 32 colour pictures, "
        "10 classes. Used here is a JPEG-compressed public copy with all 50,000 training pictures and 8,000 of the "
        "10,000 test pictures (the first 800 of each class)",
        license="mit",
        terms="MIT for the weights. The data set states no licence; its pictures are not part of this project.",
    ),
    "best-artworks": KnownDataset(
        open=_best_artworks,
        splits=("train", "val", "test"),
        preprocessing=Preprocessing((224, 224), 3, IMAGENET["mean"], IMAGENET["std"], "bicubic"),
        title="Best Artworks, art styles",
        origin='The public collection "Best Artworks of All Time" (50 artists), in a 256 x 256 copy of 7,518 paintings '
        "that was recompressed as JPEG. The style is the first genre that the collection lists for the *artist*, so "
        "the label follows the artist, not the painting. The split was drawn by artist: every artist stands in the "
        "training, the validation and the test part",
        license="mit",
        terms="MIT for the head's weights. The pictures are not part of this project; some of the painters are still "
        "under copyright.",
    ),
}
