"""What is wrong with a data set, said before hours of training go into it."""

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from laya.data.image_set import ImageSet
from laya.data.known import KNOWN
from laya.data.sources import open_dataset, splits
from laya.errors import LayaError
from laya.progress import OnProgress, silent

NAMED = 20  # files of a kind that a report names


@dataclass(frozen=True)
class DataReport:
    """What a look at every picture found.

    Attributes
    ----------
    classes : class name to part to number of pictures; the part of a data set that is not split is ``all``.
    unreadable : part to the pictures that cannot be read, with the reason.
    duplicates : groups of the same picture, as ``part: name``, of which at least two lie in different parts or classes.
    twins : how many pictures are exact copies of another one of the same class and part.
    missing : classes that have pictures in one part and none in another, as ``class: part``.
    hidden : folders that were passed over, for their names begin with a dot.
    """

    classes: dict[str, dict[str, int]]
    unreadable: dict[str, tuple[str, ...]]
    duplicates: tuple[tuple[str, ...], ...]
    twins: int
    missing: tuple[str, ...]
    hidden: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many pictures there are, readable or not."""
        return sum(sum(parts.values()) for parts in self.classes.values())

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def complaints(self) -> list[str]:
        """One sentence for each thing that should be looked at; an empty list where all is well."""
        found = []
        for part, names in self.unreadable.items():
            if names:
                found.append(f"{len(names)} pictures of the part {part!r} cannot be read: {_few(names)}.")
        if self.duplicates:
            groups = [" = ".join(group) for group in self.duplicates]
            found.append(f"{len(groups)} pictures lie in more than one part or class: {_few(groups)}.")
        if self.twins:
            found.append(f"{self.twins} pictures are exact copies of another of their class and part.")
        if self.missing:
            found.append(f"Classes without pictures in a part: {_few(self.missing)}.")
        counts = sorted(sum(parts.values()) for parts in self.classes.values())
        if counts and counts[0] * 10 < counts[-1]:
            found.append(
                f"The classes are very uneven, from {counts[0]:,} to {counts[-1]:,} pictures; "
                "balance = true lets each count the same."
            )
        if self.hidden:
            found.append(f"Folders that were passed over: {_few(self.hidden)}.")
        return found


def check(path: str, *, on_progress: OnProgress = silent) -> DataReport:
    """Look at every picture of a data set.

    Parameters
    ----------
    path : see :func:`laya.data.sources.open_dataset`.

    Raises
    ------
    LayaError
        The data set cannot be opened.
    """
    parts: dict[str, ImageSet] = {part: open_dataset(path, part) for part in splits(path)}
    parts = parts or {"all": open_dataset(path)}
    names = list(dict.fromkeys(name for data in parts.values() for name in data.classes))
    classes = {name: dict.fromkeys(parts, 0) for name in names}
    unreadable: dict[str, list[str]] = {part: [] for part in parts}
    places: dict[str, list[tuple[str, str, str]]] = {}
    done, total = 0, sum(len(data) for data in parts.values())
    for part, data in parts.items():
        for label, count in Counter(data.labels.tolist()).items():
            classes[data.classes[label]][part] = count
        for index in range(len(data)):
            try:
                digest = hashlib.sha256(np.asarray(data.load(index)).tobytes()).hexdigest()
                where = (part, data.classes[int(data.labels[index])], f"{part}: {data.sources[index]}")
                places.setdefault(digest, []).append(where)
            except LayaError as error:
                unreadable[part].append(f"{data.sources[index]} ({error})")
            done += 1
            on_progress("checking the data", done, total)
    copies = [group for group in places.values() if len(group) > 1]
    crossing = [group for group in copies if len({(part, name) for part, name, _ in group}) > 1]
    return DataReport(
        classes=classes,
        unreadable={part: tuple(each) for part, each in unreadable.items()},
        duplicates=tuple(tuple(where for _, _, where in group) for group in crossing),
        twins=sum(len(group) - len({(part, name) for part, name, _ in group}) for group in copies),
        missing=tuple(
            f"{name}: {part}"
            for name, counts in classes.items()
            if any(counts.values())
            for part in parts
            if not counts[part]
        ),
        hidden=_hidden(path),
    )


def _hidden(path: str) -> tuple[str, ...]:
    folder = Path(path)
    if path in KNOWN or not folder.is_dir():
        return ()
    return tuple(sorted(str(each.relative_to(folder)) for each in folder.rglob(".*") if each.is_dir()))


def _few(names: tuple[str, ...] | list[str]) -> str:
    shown = "; ".join(name.rstrip(".") for name in names[:NAMED])
    return f"{shown}; and {len(names) - NAMED} more" if len(names) > NAMED else shown
