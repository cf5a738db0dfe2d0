"""What is wrong with a data set, said before hours of training go into it."""

import hashlib
import os
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from laya.data.image_set import ImageSet
from laya.data.known import KNOWN
from laya.data.labels import alike, few
from laya.data.litter import is_hidden
from laya.data.sources import open_dataset, splits
from laya.errors import LayaError
from laya.progress import OnProgress, silent

NAMED = 20  # files of a kind that a report names
NO_LABELS = ("nan", "null", "n/a", "#n/a", "<na>")  # how programs write a label that is missing


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
    hidden : folders that were passed over, for their names begin with a dot or are the system's.
    skipped : part to the positions of its unreadable pictures, which a training leaves out.
    empty : classes without any picture.
    alike : groups of class names that are hard to tell apart.
    notes : what the reading of the data has to say.
    """

    classes: dict[str, dict[str, int]]
    unreadable: dict[str, tuple[str, ...]]
    duplicates: tuple[tuple[str, ...], ...]
    twins: int
    missing: tuple[str, ...]
    hidden: tuple[str, ...]
    skipped: dict[str, tuple[int, ...]]
    empty: tuple[str, ...]
    alike: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

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
                found.append(
                    f"{len(names)} pictures of the part {part!r} cannot be read and are left out: {few(names, NAMED)}."
                )
        if self.duplicates:
            groups = [" = ".join(group) for group in self.duplicates]
            found.append(f"{len(groups)} pictures lie in more than one part or class: {few(groups, NAMED)}.")
        if self.twins:
            found.append(f"{self.twins} pictures are exact copies of another of their class and part.")
        if len(self.classes) - len(self.empty) == 1:
            found.append("There are pictures of one class only; a model needs two or more.")
        if self.empty:
            found.append(f"Classes without pictures: {few(self.empty, NAMED)}.")
        if self.missing:
            found.append(f"Classes without pictures in a part: {few(self.missing, NAMED)}.")
        if self.alike:
            groups = [" = ".join(map(_spelled, group)) for group in self.alike]
            found.append(
                f"Classes that are hard to tell apart, which should be one or bear other names: {few(groups, NAMED)}."
            )
        if none := [name for name in self.classes if name.casefold() in NO_LABELS]:
            found.append(f"Classes that look like missing labels: {few(none)}.")
        counts = sorted(count for parts in self.classes.values() if (count := sum(parts.values())))
        if counts and counts[0] * 10 < counts[-1]:
            found.append(
                f"The classes are very uneven, from {counts[0]:,} to {counts[-1]:,} pictures; "
                "balance = true lets each count the same."
            )
        if "val" not in next(iter(self.classes.values())):
            single = [name for name, parts in self.classes.items() if parts.get("train", parts.get("all")) == 1]
            if single:
                found.append(f"Classes of one picture, so that a training can hold none back: {few(single, NAMED)}.")
        if self.hidden:
            found.append(f"Folders that were passed over: {few(self.hidden, NAMED)}.")
        return [*found, *self.notes]

    def refuse_unreadable(self) -> None:
        """Refuse the data set if a picture cannot be read.

        Raises
        ------
        LayaError
            The message names the pictures.
        """
        if names := [name for each in self.unreadable.values() for name in each]:
            raise LayaError(f"{len(names)} pictures cannot be read: {few(names)}; mend them or take them away.")


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
    skipped: dict[str, list[int]] = {part: [] for part in parts}
    places: dict[str, list[tuple[str, str, str]]] = {}
    done, total = 0, sum(len(data) for data in parts.values())
    for part, data in parts.items():
        for label, count in Counter(data.labels.tolist()).items():
            classes[data.classes[label]][part] = count
        for index in range(len(data)):
            try:
                pixels = np.asarray(data.load(index))
                digest = hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest()
                where = (part, data.classes[int(data.labels[index])], f"{part}: {data.sources[index]}")
                places.setdefault(digest, []).append(where)
            except LayaError as error:
                unreadable[part].append(f"{data.sources[index]} ({error})")
                skipped[part].append(index)
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
        skipped={part: tuple(each) for part, each in skipped.items()},
        empty=tuple(name for name, counts in classes.items() if not any(counts.values())),
        alike=alike(names),
        notes=tuple(dict.fromkeys(note for data in parts.values() for note in data.notes)),
    )


def _hidden(path: str) -> tuple[str, ...]:
    if path in KNOWN:
        return ()
    folders = [Path(place, name) for place, names, _ in os.walk(path) for name in names if is_hidden(name)]
    return tuple(sorted(str(each.relative_to(path)) for each in folders))


def _spelled(name: str) -> str:
    """A class name with the signs that may be another alphabet's written out."""
    return name if name.isascii() else f"{name} ({name!a})"
