"""A data set by its name, its file or its folder, whole or in parts."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from laya.data.folders import folder_source, subfolders
from laya.data.image_set import ImageSet, Split
from laya.data.known import KNOWN
from laya.data.parts import Source
from laya.data.tables import csv_source, parquet_source, shards, shards_source
from laya.errors import LayaError


def open_dataset(path: str, split: Split = "test") -> ImageSet:
    """A known data set by its name, a parquet or CSV file, an image folder, or a folder of parquet files.

    What is split by folders, by a column ``split`` or by the names of parquet files gives the part that is asked for,
    and ``val`` where there is no ``test``; what is not split is one whole, whatever ``split`` asks for. How parts may
    be called is in :mod:`laya.data.parts`.

    Raises
    ------
    LayaError
        Neither a known name nor a folder nor such a file, no classes in it, no such split, or a known data set that is
        not on this machine and cannot be downloaded.
    """
    if path not in KNOWN:
        return _source(path).open(split)
    if split not in KNOWN[path].splits:
        raise LayaError(f"{KNOWN[path].title} has no part called {split!r}.")
    return KNOWN[path].open(split)


def splits(path: str) -> tuple[Split, ...]:
    """The parts that a data set comes in; empty where it is one whole.

    Raises
    ------
    LayaError
        See :func:`open_dataset`.
    """
    return KNOWN[path].splits if path in KNOWN else _source(path).splits


def _source(path: str) -> Source:
    place, ending = Path(path), Path(path).suffix.lower()
    if os.path.isfile(place) and ending == ".parquet":  # noqa: PTH113  # Path.is_file raises for too long a name
        return parquet_source(place)
    if os.path.isfile(place) and ending in (".csv", ".tsv"):  # noqa: PTH113
        return csv_source(place)
    if not path or not os.path.isdir(place):  # noqa: PTH112
        raise LayaError(
            f"{path!r} is neither a folder nor a parquet or CSV file nor a known data set; known: {', '.join(KNOWN)}."
        )
    files = shards(place) if subfolders(place) in ([], ["data"]) else []
    return shards_source(files, place.name) if files else folder_source(place)


def offered() -> dict[str, Path]:
    """Image folders and parquet files that whoever runs this offers to others: those directly in LAYA_DATA, by name."""
    given = os.environ.get("LAYA_DATA")
    if not given or not Path(given).is_dir():
        return {}
    return {
        child.name: child
        for child in sorted(Path(given).iterdir())
        if not child.name.startswith(".")
        and ((child.is_dir() and subfolders(child)) or child.suffix.lower() == ".parquet")
    }


def at_hand(name: str, split: Split) -> ImageSet | None:
    """The data set that a report names, if it is known and on this machine, or offered here; nothing is downloaded.

    Any other place is not looked at, for a report may come from anybody.
    """
    places = [place for place in offered().values() if Path(name).name in (place.name, place.stem)]
    try:
        if name in KNOWN:
            return KNOWN[name].open(split, download=False) if split in KNOWN[name].splits else None
        return open_dataset(str(places[0]), split) if places else None
    except LayaError:
        return None


def parts(path: str, *, skip: Mapping[str, Sequence[int]] | None = None) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    """What to train on, what to choose the epoch by (None where the data has no such part), and what to test on.

    All have the classes of the first. Where nothing is there to test on, the last is the first, as a whole.

    Parameters
    ----------
    skip : part (``all`` for a whole) to the positions of pictures that are left out, as in
        :attr:`laya.data.checks.DataReport.skipped`.

    Raises
    ------
    LayaError
        The data cannot be opened, has pictures of less than two classes to train on, or tests on further classes.
    """

    def part(split: Split) -> ImageSet:
        data = open_dataset(path, split)
        out = (skip or {}).get(data.split or "all", ())
        kept = np.setdiff1d(np.arange(len(data)), out)
        if not len(kept):
            raise LayaError(f"None of the {len(data)} pictures of the part {data.split or 'all'!r} can be read.")
        return data.subset(kept) if len(out) else data

    data, there = part("train"), splits(path)
    _refuse_one_class(path, data)
    if there == ("train",):
        data = replace(data, split=None)
        return data, None, data
    validation = part("val").matched_to(data.classes, partly=True) if "val" in there else None
    return data, validation, part("test").matched_to(data.classes, partly=True)


def _refuse_one_class(path: str, data: ImageSet) -> None:
    names = [data.classes[label] for label in np.unique(data.labels)]
    if len(names) > 1:
        return
    inner = Path(path) / names[0]
    nested = os.path.isdir(inner) and subfolders(inner)  # noqa: PTH112  # Path.is_dir raises for too long a name
    hint = f"; if the folders in it are the classes, use {str(inner)!r}" if nested else ""
    raise LayaError(f"There are pictures of one class only to train on, {names[0]!r}; a model needs two{hint}.")
