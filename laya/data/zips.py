"""A zip of pictures with a folder for each class."""

from pathlib import PurePosixPath

import numpy as np

from laya.data.image_set import ImageSet
from laya.errors import LayaError
from laya.inputs import images
from laya.inputs.archives import Archive

ZIP_FILES = 5000  # most files in an archive
ZIP_BYTES = 200 * 2**20  # most bytes of an archive


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
