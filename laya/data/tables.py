"""Parquet and CSV files of labelled pictures."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from laya.data.image_set import ImageSet, Split
from laya.errors import LayaError
from laya.inputs import images


def open_parquet(file: Path, split: Split) -> ImageSet:
    """A parquet file as Hugging Face writes image data sets: ``image`` (bytes, or a struct with bytes), ``label``."""
    table = read_columns(file, None)
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


def read_columns(file: Path, columns: list[str] | None) -> Any:
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


def open_csv(file: Path, split: Split) -> ImageSet:
    """A CSV file of pictures beside it; the paths stay below its folder."""
    rows = read_csv(file)
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


def read_csv(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with the columns path and label, each a dictionary.

    Raises
    ------
    LayaError
        It cannot be read, or a column is missing or not filled.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LayaError(f"{file.name!r} cannot be read as a CSV file in UTF-8.") from error
    if not rows or not all(row.get("path") and row.get("label") and None not in row.values() for row in rows):
        raise LayaError(f"{file.name!r} needs the columns path and label, both filled in every row.")
    return rows
