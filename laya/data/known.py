"""Data sets that are known by name: where they are found, how they are prepared, what may be done with them."""

import gzip
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from laya.data.image_set import ImageSet, Split
from laya.data.tables import open_parquet
from laya.errors import LayaError
from laya.files import cache
from laya.inputs.preprocessing import Preprocessing

DEBIAN = Path("/usr/share/datasets")
PROJECT = Path(__file__).parents[2]


class Opener(Protocol):
    """Opens a part of a data set; what is not on this machine is downloaded, or else a LayaError."""

    def __call__(self, split: Split, *, download: bool = True) -> ImageSet: ...  # noqa: D102


@dataclass(frozen=True)
class KnownDataset:
    """A data set that is known by name: how to open it, how its pictures are prepared, where it comes from."""

    open: Opener
    splits: tuple[Split, ...]
    preprocessing: Preprocessing
    title: str
    origin: str  # for the model card, Markdown
    license: str  # of weights trained on it; SPDX or Hugging Face identifier, lower case
    terms: str  # what may be done with weights and data, for the model card
    limits: tuple[str, ...]  # what a model trained on it cannot do, for the model card


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


def _fashion_mnist(split: Split, *, download: bool = True) -> ImageSet:
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
            stored = FashionMNIST(str(folder.parent if folder else cache()), train=split == "train", download=download)
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


def _cifar10(split: Split, *, download: bool = True) -> ImageSet:
    """CIFAR-10 from cifar10-train.parquet and cifar10-test.parquet, or the original's binary version, downloaded.

    torchvision's own reader unpickles the Python version, so only its downloader is used. It checks and unpacks in one
    call; pooch would do the same as one more dependency.
    """
    if file := _stored(f"cifar10-{split}.parquet"):
        return replace(open_parquet(file, split), name="cifar10", split=split)
    from torchvision.datasets.utils import download_and_extract_archive

    folder = _stored("cifar-10-batches-bin") or cache() / "cifar-10-batches-bin"
    files = [folder / f"data_batch_{i}.bin" for i in range(1, 6)] if split == "train" else [folder / "test_batch.bin"]
    try:
        if download and not all(file.exists() for file in files):
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


def _best_artworks(split: Split, *, download: bool = True) -> ImageSet:  # noqa: ARG001  # there is no download
    """The art styles of the "Best Artworks of All Time" collection, from best-artworks.parquet."""
    file = _stored("best-artworks.parquet")
    if file is None:
        raise LayaError(
            "Best Artworks is not on this machine; set LAYA_DATA to the folder that holds best-artworks.parquet."
        )
    return replace(open_parquet(file, split), name="best-artworks")


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
        limits=(
            "Ten kinds of clothing and nothing else: any other picture is put into one of them, often with confidence.",
            "Its pictures show one article, upright, centred, on a plain ground. Photographs are prepared like that "
            "(cropped, grey, dark ground) before the model sees them; those with a busy ground cannot be.",
            "With three layers a rank correlation on one image takes few values (-1, -0.5, 0.5 or 1 without ties); "
            "read it over many images.",
        ),
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
        limits=(
            "Ten kinds of things and nothing else: any other picture is put into one of them, often with confidence.",
            "It sees 32 x 32 pixels. A photograph is cropped to its middle square and scaled down to that before the "
            "model looks; small things in a large scene are lost.",
            "The training pictures went through JPEG compression once; so did the test pictures.",
            "It was trained for 77 minutes on a processor. Larger networks that are trained for longer reach above "
            "0.94.",
        ),
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
        limits=(
            "The style is that of the artist, not of the painting: a style is the first genre that the collection "
            "lists for its artist.",
            "Every artist stands in the training, the validation and the test part, so the model can lean on an "
            "artist's hand. On paintings by other artists it will be right less often than here.",
            "A few styles have very few pictures (Abstract Expressionism 16 in training, 4 in test), and a style may "
            "be one artist's alone.",
            "The backbone is not the published DINOv2: it was tuned for saliency, and its last block knows less about "
            "style than its middle blocks. What the attention says about depth is said about this backbone.",
        ),
    ),
}
