"""Labelled pictures in memory's reach: what every source of data becomes."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from PIL import Image

from laya.data.labels import clean
from laya.errors import LayaError
from laya.inputs import images
from laya.inputs.preprocessing import Preprocessing, prepare

Split = Literal["train", "val", "test"]


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
    notes : what a person should know about the reading, one sentence each.
    """

    name: str
    classes: tuple[str, ...]
    labels: np.ndarray
    raw: Callable[[int], bytes | np.ndarray]
    sources: Sequence[str]
    split: Split | None = None
    notes: tuple[str, ...] = ()

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
        """SHA-256 of all stored pictures in their order, hexadecimal; labels and names do not count.

        A picture whose file cannot be read counts by the reason.
        """
        total = hashlib.sha256()
        for index in range(len(self)):
            try:
                stored = self.raw(index)
            except LayaError as error:
                stored = str(error).encode()
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
        slugs, by_slug = Counter(map(_slug, given)), defaultdict(list)
        for name in rest:
            by_slug[_slug(name)].append(name)
        surplus = [name for name in given if _slug(name) not in by_slug]
        if any(slugs[slug] > 1 or len(names) > 1 for slug, names in by_slug.items() if slug in slugs):
            raise LayaError(
                f"The classes {', '.join(map(repr, [*given, *rest]))} cannot be told apart; name them exactly."
            )
        matched = {name: by_slug[_slug(name)][0] for name in given if name not in surplus}
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
        """These pictures and then those of another set, matched to these classes, of which it may lack some.

        Raises
        ------
        LayaError
            The other set has a class that this one has not.
        """
        other = other.matched_to(self.classes, partly=True)
        return replace(
            self,
            labels=np.concatenate([self.labels, other.labels]),
            raw=lambda index: self.raw(index) if index < len(self) else other.raw(index - len(self)),
            sources=[*self.sources, *other.sources],
        )


def _slug(name: str) -> str:
    """A class name as a folder may carry it: "T-shirt/top" and "t_shirt_top" are the same."""
    return re.sub(r"[\W_]+", "-", clean(name).casefold()).strip("-")


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
                prepared.append(prepare(data.load(index), preprocessing).image)
                indices.append(index)
            except LayaError as error:
                on_skip(f"{data.sources[index]}: {error}")
        yield np.array(indices, dtype=np.int64), prepared
