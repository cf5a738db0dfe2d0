"""Parquet and CSV files of labelled pictures."""

import csv
import io
import json
import math
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from laya.data.image_set import ImageSet, Split
from laya.data.labels import classify, clean, few
from laya.data.parts import Source, part_of, parts_called, parts_in_column
from laya.errors import LayaError
from laya.inputs import images

# What columns are called, without case, spaces and underscores; the first name wins over the others.
PATHS = ("path", "filepath", "filename", "file", "imagepath", "imagefile", "imagename", "image", "imgpath", "img")
LABELS = ("label", "labelname", "class", "classname", "category", "target")
PICTURES = ("image", "img", "picture")
SPLITS = ("split", "subset", "partition", "set")
SEPARATORS = ",;\t|"


def _column(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """The column that is called by one of ``names``; None if there is none, or if it is not clear which."""
    plain = [re.sub(r"[\W_]+", "", clean(column).casefold()) for column in columns]
    for allowed in (names[:1], names):
        found = [column for column, name in zip(columns, plain, strict=True) if name in allowed]
        if len(found) == 1:
            return found[0]
    return None


def _table_source(
    name: str,
    columns: Sequence[str],
    read: Callable[[str], Sequence[object]],
    open_rows: Callable[[list[int] | None], ImageSet],
) -> Source:
    """A table as a whole, or the parts that its column ``split`` names.

    Parameters
    ----------
    read : a column's values.
    open_rows : opens the rows of these numbers; None means all.
    """
    column = _column(columns, SPLITS)
    values = [] if column is None else read(column)
    if not any(map(part_of, values)) and column != _column(columns, SPLITS[:1]):
        column = None  # a column "set" may be about other things
    if column is None:
        return Source(name, {None: partial(open_rows, None)})
    parts, notes = parts_in_column(values, name)
    rows: dict[Split, list[int]] = {part: [] for part in parts}
    for number, value in enumerate(values):
        if part := part_of(value):
            rows[part].append(number)
    return Source(name, {part: partial(open_rows, each) for part, each in rows.items()}, notes)


# --- parquet ----------------------------------------------------------------------------------------------------------


def open_parquet(file: Path, split: Split) -> ImageSet:
    """A part of a parquet file; see :func:`parquet_source`."""
    return parquet_source(file).open(split)


def parquet_source(file: Path) -> Source:
    """A parquet file as Hugging Face writes image data sets: ``image`` (bytes, or a struct with bytes), ``label``.

    Raises
    ------
    LayaError
        It is damaged, or its parts cannot be told.
    """
    return _table_source(
        file.name,
        _schema(file).names,
        lambda column: _read([file], [column])[column].to_pylist(),
        partial(_open_table, [file], file.stem),
    )


def shards(folder: Path) -> list[Path]:
    """The parquet files of a data set that lies in several, in the folder or in its sub-folder ``data``."""
    for place in (folder, folder / "data"):
        found = sorted(file for file in place.glob("*") if file.suffix.lower() == ".parquet" and file.is_file())
        if found:
            return found
    return []


def shards_source(files: Sequence[Path], name: str) -> Source:
    """Parquet files that are called like parts ("train-00000-of-00002.parquet"); without a part, those are one whole.

    Raises
    ------
    LayaError
        Two names stand for one part.
    """
    words = {file: [word for word in re.split(r"[\W_\d]+", file.stem) if part_of(word)] for file in files}
    named = {file: found[0].casefold() for file, found in words.items() if len({*map(part_of, found)}) == 1}
    if not named:
        return Source(name, {None: partial(_open_table, files, name, None)})
    parts = parts_called(named.values(), name)
    others = [file.name for file in files if file not in named]
    notes = (f"Files that are in no known part and are passed over: {few(others)}.",) if others else ()
    chosen = {part: [file for file in files if named.get(file) == called] for part, called in parts.items()}
    return Source(name, {part: partial(_open_table, each, name, None) for part, each in chosen.items()}, notes)


def _schema(file: Path) -> Any:
    try:
        return parquet.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        raise LayaError(f"{file.name!r} is not a parquet file with the columns image and label.") from error


def _read(files: Sequence[Path], columns: list[str] | None) -> Any:
    try:
        return pa.concat_tables([parquet.read_table(file, columns=columns) for file in files])
    except (pa.ArrowException, OSError) as error:
        names = few([repr(file.name) for file in files])
        raise LayaError(f"{names} cannot be read as parquet files with the same columns; make them again.") from error


def _open_table(files: Sequence[Path], name: str, rows: list[int] | None) -> ImageSet:
    called = files[0].name
    columns = _schema(files[0]).names
    picture, label = _column(columns, PICTURES), _column(columns, LABELS)
    if picture is None or label is None:
        raise LayaError(
            f"{called!r} is not a parquet file with the columns image and label; "
            f"its columns are {few([*map(repr, columns)], 20)}."
        )
    table = _read(files, [picture, label])
    numbers = list(range(len(table))) if rows is None else rows
    if not numbers:
        raise LayaError(f"{called!r} has no pictures.")
    if rows is not None:  # a mask, for taking rows would join chunks that may be too large for it
        table = table.filter(pa.array(np.isin(np.arange(len(table)), rows)))
    stored = table[picture]
    if pa.types.is_struct(stored.type) and "bytes" in {field.name for field in stored.type}:
        stored = pa.compute.struct_field(stored, "bytes")
    if not (pa.types.is_binary(stored.type) or pa.types.is_large_binary(stored.type)):
        raise LayaError(f"The column {picture!r} of {called!r} holds {stored.type}, no files' bytes; store those.")
    classes, labels, notes = _labels(table[label].to_pylist(), _class_names(table.schema, label), called)

    def raw(index: int) -> bytes:
        data = stored[index].as_py()
        if data is None:
            raise LayaError("The row has no picture.")
        return bytes(data)

    return ImageSet(
        name=name,
        classes=classes,
        labels=labels,
        raw=raw,
        sources=[f"row {number}" for number in numbers],
        notes=notes,
    )


def _class_names(schema: Any, label: str) -> list[str]:
    """Class names from a parquet schema: our key ``classes``, or what the library ``datasets`` writes."""
    words = schema.metadata or {}
    try:
        if b"classes" in words:
            return [str(name) for name in json.loads(words[b"classes"])]
        return [str(name) for name in json.loads(words[b"huggingface"])["info"]["features"][label]["names"]]
    except (KeyError, TypeError, ValueError):
        return []


def _labels(values: list[Any], names: list[str], called: str) -> tuple[tuple[str, ...], np.ndarray, tuple[str, ...]]:
    """Classes, labels (N,) and notes, from the values of a column and the class names of the schema, if it has any."""
    if missing := sum(value is None or (isinstance(value, float) and math.isnan(value)) for value in values):
        raise LayaError(f"{missing:,} rows of {called!r} have no label; fill them or take them away.")
    if all(isinstance(value, float) and value.is_integer() for value in values):
        values = [int(value) for value in values]  # numbers with gaps become 0.0, 1.0, ... on their way through pandas
    if not names:
        return classify([str(value) for value in values])
    classes, position, notes = classify(names, ordered=True)
    index = {clean(name): int(label) for name, label in zip(names, position, strict=True)}
    index |= dict(enumerate(position.tolist()))  # type: ignore[arg-type]  # labels are names or numbers
    try:
        keys = [clean(value) if isinstance(value, str) else value for value in values]
        return classes, np.array([index[key] for key in keys], dtype=np.int64), notes
    except (KeyError, TypeError) as error:
        raise LayaError(f"{called!r} has rows with a label that has no class name.") from error


# --- CSV --------------------------------------------------------------------------------------------------------------


def csv_source(file: Path) -> Source:
    """A CSV file of pictures beside it; the paths stay below its folder.

    Raises
    ------
    LayaError
        See :func:`read_csv`; or its parts cannot be told.
    """
    rows = read_csv(file)
    return _table_source(
        file.name, list(rows[0]), lambda column: [row[column] for row in rows], partial(_open_rows, file, rows)
    )


def _open_rows(file: Path, rows: list[dict[str, str]], numbers: list[int] | None) -> ImageSet:
    picture, label = _named_columns(list(rows[0]))
    rows = rows if numbers is None else [rows[number] for number in numbers]
    folder = file.parent.resolve()
    files = [_locate(folder, row[picture]).resolve() for row in rows]
    for row, each in zip(rows, files, strict=True):
        if not each.is_relative_to(folder) or PureWindowsPath(row[picture]).is_absolute():
            raise LayaError(
                f"{file.name!r} names a picture outside its own folder: {row[picture]!r}; "
                "put the pictures beside it and write paths relative to it."
            )
    classes, labels, notes = classify([row[label] for row in rows])
    return ImageSet(
        name=file.stem,
        classes=classes,
        labels=labels,
        raw=lambda index: images.read_bytes(files[index]),
        sources=[row[picture] for row in rows],
        notes=notes,
    )


def _locate(folder: Path, path: str) -> Path:
    """The file that a row means: as it is written, or with slashes for backslashes, or in Unicode's other form."""
    plain = path.strip().replace("\\", "/")
    forms = (path, plain, unicodedata.normalize("NFC", plain), unicodedata.normalize("NFD", plain))
    return next((folder / form for form in forms if os.path.lexists(folder / form)), folder / plain)


def _named_columns(columns: Sequence[str]) -> tuple[str, str]:
    """The columns of paths and of labels; empty where there is none."""
    return _column(columns, PATHS) or "", _column(columns, LABELS) or ""


def read_csv(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by column, at least one; the separator is the one that gives columns of paths and labels.

    Raises
    ------
    LayaError
        It cannot be read, no columns can be told to be those, or one of them is not filled.
    """
    text = _text(file)
    hint = re.match(r'"?sep=(.)"?[ ,;\t]*\r?\n', text, re.IGNORECASE)  # Excel's own first line
    text, skipped = (text[hint.end() :], 1) if hint else (text, 0)
    headers = {separator: next(_records(file, text, separator, strict=False), (0, []))[1] for separator in SEPARATORS}
    fitting = [separator for separator in SEPARATORS if all(_named_columns(headers[separator]))]
    if not fitting:
        found = max(headers.values(), key=len)
        there = f"; its columns are {few([*map(repr, found)], 20)}" if found else "; it is empty"
        raise LayaError(f"{file.name!r} needs the columns path and label{there}.")
    records = _records(file, text, fitting[0])
    _, header = next(records)
    picture, label = _named_columns(header)
    rows = []
    for number, fields in records:
        where = f"line {number + skipped}"
        if any(field.strip() for field in fields[len(header) :]):
            raise LayaError(
                f"{file.name!r} has more fields in {where} than columns; put quotes around one with commas."
            )
        row = dict(zip(header, fields + [""] * len(header), strict=False))
        if lacking := [column for column in (picture, label) if not clean(row[column])]:
            raise LayaError(
                f"{file.name!r} needs the columns path and label, both filled in every row; {where} lacks {lacking[0]}."
            )
        rows.append(row)
    if not rows:
        raise LayaError(f"{file.name!r} needs the columns path and label, and rows below them.")
    return rows


def _records(file: Path, text: str, separator: str, *, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every record that is not empty; ``strict`` refuses quotes that do not match."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=strict)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise LayaError(f"{file.name!r} cannot be read as a CSV file: line {reader.line_num}: {error}.") from error


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except OSError as error:
        raise LayaError(f"{file.name!r} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise LayaError(f"{file.name!r} cannot be read as a CSV file in UTF-8; save it so (in Excel: CSV UTF-8).")
    return text
