"""Labelled pictures: known data sets by name, anything else from an image folder."""

import gzip
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image
from torchvision.datasets import FashionMNIST, ImageFolder

from laya import images
from laya.errors import LayaError
from laya.images import Preprocessing

Split = Literal["train", "test"]
DEBIAN = Path("/usr/share/datasets")


@dataclass(frozen=True)
class ImageSet:
    """N labelled pictures.

    Attributes
    ----------
    name : the known data set's name, or the folder's.
    classes : class names in the order of the labels.
    labels : (N,), int64.
    load : the n-th picture; raises LayaError for a file that cannot be read.
    sources : what to call the n-th picture in a message.
    split : which part of the data set this is; None where it is not split.
    """

    name: str
    classes: tuple[str, ...]
    labels: np.ndarray
    load: Callable[[int], Image.Image]
    sources: Sequence[str]
    split: Split | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def matched_to(self, classes: Sequence[str]) -> "ImageSet":
        """The same pictures, labelled in a checkpoint's class order.

        A name matches itself, or else the one that differs from it in case and punctuation alone.

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
        if missing:
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
            load=lambda index: self.load(int(indices[index])),
            sources=[self.sources[index] for index in indices],
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
    """A known data set by its name, or an image folder with one sub-folder a class.

    A folder that has the sub-folders ``train`` and ``test`` is split by them.

    Raises
    ------
    LayaError
        Neither a known name nor a folder, a folder without classes, or a known data set that is not on this machine and
        cannot be downloaded.
    """
    if path in KNOWN:
        return KNOWN[path].open(split)
    folder = Path(path)
    if not path or not os.path.isdir(folder):  # noqa: PTH112  # Path.is_dir raises for a name that is too long
        raise LayaError(f"{path!r} is neither a folder nor a known data set; known: {', '.join(KNOWN)}.")
    if {"train", "test"} <= {child.name for child in folder.iterdir() if child.is_dir()}:
        return replace(_folder(folder / split), split=split)
    return _folder(folder)


class _VisibleFolder(ImageFolder):  # type: ignore[misc]  # torchvision ships no types
    """torchvision's image folder that passes over hidden directories and lets a class be empty."""

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        classes = sorted(e.name for e in os.scandir(directory) if e.is_dir() and not e.name.startswith("."))
        if not classes:
            raise LayaError(f"The folder {Path(directory).name!r} has no sub-folders; give each class one.")
        return classes, {name: index for index, name in enumerate(classes)}


def _folder(folder: Path) -> ImageSet:
    listing = _VisibleFolder(
        str(folder), is_valid_file=lambda file: not Path(file).name.startswith("."), allow_empty=True
    )
    if not listing.samples:
        raise LayaError(f"The folder {folder.name!r} holds no pictures.")
    files = [Path(file) for file, _ in listing.samples]
    return ImageSet(
        name=folder.name,
        classes=tuple(listing.classes),
        labels=np.array(listing.targets, dtype=np.int64),
        load=lambda index: images.read(images.read_bytes(files[index])).image,
        sources=[str(file.relative_to(folder)) for file in files],
    )


# --- known data sets --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KnownDataset:
    """A data set that is known by name: how to open it, how its pictures are prepared, where it comes from."""

    open: Callable[[Split], ImageSet]
    preprocessing: Preprocessing
    title: str
    origin: str  # for the model card, Markdown
    license: str  # SPDX or Hugging Face identifier, lower case


def _cache() -> Path:
    return Path(os.environ.get("LAYA_DATA") or Path.home() / ".cache" / "laya")


def _fashion_mnist(split: Split) -> ImageSet:
    """Fashion-MNIST from Debian's package ``dataset-fashion-mnist``, or torchvision's files, or its download."""
    debian = DEBIAN / "fashion-mnist"
    if debian.is_dir():
        stem = "train" if split == "train" else "t10k"
        pixels = _idx(debian / f"{stem}-images-idx3-ubyte.gz")
        labels = _idx(debian / f"{stem}-labels-idx1-ubyte.gz")
    else:
        try:
            stored = FashionMNIST(str(_cache()), train=split == "train", download=True)
        except (OSError, RuntimeError) as error:
            raise LayaError(
                "Fashion-MNIST is not on this machine and its download failed; on Debian or Ubuntu install the package "
                "dataset-fashion-mnist, or set LAYA_DATA to the folder that holds FashionMNIST/raw."
            ) from error
        pixels, labels = stored.data.numpy(), stored.targets.numpy()
    return ImageSet(
        name="fashion-mnist",
        classes=tuple(FashionMNIST.classes),
        labels=labels.astype(np.int64),
        load=lambda index: Image.fromarray(pixels[index]),
        sources=[f"{split} image {index}" for index in range(len(labels))],
        split=split,
    )


def _idx(file: Path) -> np.ndarray:
    """An IDX file of unsigned bytes: two zeros, type 8, number of dimensions, each size (big-endian), the values."""
    data = gzip.decompress(file.read_bytes())
    sizes = np.frombuffer(data, ">i4", count=data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(sizes)


KNOWN = {
    "fashion-mnist": KnownDataset(
        open=_fashion_mnist,
        preprocessing=Preprocessing(size=(28, 28), channels=1, recipe="garment"),
        title="Fashion-MNIST",
        origin="[Fashion-MNIST](https://github.com/zalandoresearch/fashion-mnist) (Xiao, Rasul, Vollgraf, 2017): "
        "60,000 training and 10,000 test pictures of Zalando's articles, 28 x 28 grey, 10 classes; MIT licence",
        license="mit",
    ),
}
