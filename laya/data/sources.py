"""A data set by its name, its file or its folder, whole or in parts."""

import os
from dataclasses import replace
from pathlib import Path

from laya.data.folders import open_folder, subfolders
from laya.data.image_set import ImageSet, Split
from laya.data.known import KNOWN
from laya.data.tables import open_csv, open_parquet, read_columns, read_csv
from laya.errors import LayaError


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
        return open_parquet(place, split)
    if path.endswith(".csv") and os.path.isfile(place):  # noqa: PTH113
        return open_csv(place, split)
    if not path or not os.path.isdir(place):  # noqa: PTH112
        raise LayaError(
            f"{path!r} is neither a folder nor a parquet or CSV file nor a known data set; known: {', '.join(KNOWN)}."
        )
    if {"train", "test"} <= subfolders(place):
        if split not in subfolders(place):
            raise LayaError(f"The folder {place.name!r} has no part called {split!r}.")
        return replace(open_folder(place / split), split=split)
    return open_folder(place)


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
        column = read_columns(place, ["split"])
        there = set() if column is None else set(column["split"].to_pylist())
    elif path.endswith(".csv") and os.path.isfile(place):  # noqa: PTH113
        there = {row.get("split") for row in read_csv(place)}
    else:
        there = subfolders(place) if path and os.path.isdir(place) else set()  # noqa: PTH112
        there = there if {"train", "test"} <= there else set()
    return tuple(part for part in parts if part in there)


def offered() -> dict[str, Path]:
    """Image folders and parquet files that whoever runs this offers to others: those directly in LAYA_DATA, by name."""
    given = os.environ.get("LAYA_DATA")
    if not given or not Path(given).is_dir():
        return {}
    return {
        child.name: child
        for child in sorted(Path(given).iterdir())
        if not child.name.startswith(".") and ((child.is_dir() and subfolders(child)) or child.suffix == ".parquet")
    }


def parts(path: str) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    """What to train on, what to choose the epoch by (None where the data has no such part), and what to test on.

    Raises
    ------
    LayaError
        The data cannot be opened, or its parts have different classes.
    """
    data, test = open_dataset(path, "train"), open_dataset(path, "test")
    test.matched_to(data.classes)  # raises now, not after the training
    return data, open_dataset(path, "val") if "val" in splits(path) else None, test
