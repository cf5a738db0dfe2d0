"""A folder of pictures with a sub-folder for each class."""

import os
from pathlib import Path

import numpy as np

from laya.data.image_set import ImageSet
from laya.errors import LayaError
from laya.inputs import images


def open_folder(folder: Path) -> ImageSet:
    """An image folder by torchvision's convention; hidden directories are passed over, and a class may be empty."""
    from torchvision.datasets.folder import make_dataset

    classes = sorted(e.name for e in os.scandir(folder) if e.is_dir() and not e.name.startswith("."))
    if not classes:
        raise LayaError(f"The folder {folder.name!r} has no sub-folders; give each class one.")
    found = make_dataset(
        folder,
        {name: index for index, name in enumerate(classes)},
        is_valid_file=lambda file: not Path(file).name.startswith("."),
        allow_empty=True,
    )
    if not found:
        raise LayaError(f"The folder {folder.name!r} holds no pictures.")
    files = [Path(file) for file, _ in found]
    return ImageSet(
        name=folder.name,
        classes=tuple(classes),
        labels=np.array([label for _, label in found], dtype=np.int64),
        raw=lambda index: images.read_bytes(files[index]),
        sources=[str(file.relative_to(folder)) for file in files],
    )


def subfolders(folder: Path) -> set[str]:
    """The names of the folders directly in a folder."""
    return {child.name for child in folder.iterdir() if child.is_dir()}
