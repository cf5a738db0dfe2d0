"""A folder of pictures with a sub-folder for each class, or with such a folder for each part."""

import os
from functools import partial
from pathlib import Path

import numpy as np

from laya.data.image_set import ImageSet
from laya.data.labels import classify, few
from laya.data.litter import BEGIN, is_hidden, is_picture, passed_over
from laya.data.parts import Source, parts_among, refuse_within
from laya.errors import LayaError
from laya.inputs import images


def folder_source(folder: Path) -> Source:
    """An image folder as a whole, or the parts that lie in it.

    Raises
    ------
    LayaError
        See :func:`laya.data.parts.parts_among`.
    """
    parts, notes = parts_among(subfolders(folder), lambda name: _holds_classes(folder / name), folder.name)
    if not parts:
        return Source(folder.name, {None: partial(open_folder, folder)}, notes)
    return Source(folder.name, {part: partial(open_folder, folder / name) for part, name in parts.items()}, notes)


def open_folder(folder: Path) -> ImageSet:
    """An image folder by torchvision's convention: the folders in it are the classes, with pictures at any depth.

    Hidden folders are passed over, a link that leads back is not followed, and a class may be empty.

    Raises
    ------
    LayaError
        There are no class folders, no pictures, or parts within a class; or a folder cannot be read.
    """
    names = subfolders(folder)
    if not names:
        raise LayaError(f"The folder {folder.name!r} has no sub-folders; give each class one.")
    classes, label_of, notes = classify(names)
    files: list[Path] = []
    labels: list[int] = []
    others: list[str] = []
    for name, label in zip(names, label_of.tolist(), strict=True):
        for file in _files(folder / name, {folder.resolve()}):
            if is_picture(file.name, partial(_begin, file)):
                files.append(file)
                labels.append(label)
            else:
                others.append(str(file.relative_to(folder)))
    if not files:
        raise LayaError(f"The folder {folder.name!r} holds no pictures.")
    deeper = dict.fromkeys(str(file.parent.relative_to(folder)) for file in files if file.parent.parent != folder)
    if deeper:
        notes += (f"Pictures in folders within a class folder count to that class: {few(list(deeper))}.",)
    loose = sorted(each.name for each in os.scandir(folder) if each.is_file() and _is_picture(each))
    if loose:
        notes += (f"Pictures that lie in no class folder and are passed over: {few(loose)}.",)
    return ImageSet(
        name=folder.name,
        classes=classes,
        labels=np.array(labels, dtype=np.int64),
        raw=lambda index: images.read_bytes(files[index]),
        sources=[str(file.relative_to(folder)) for file in files],
        notes=(*notes, *passed_over(others)),
    )


def subfolders(folder: Path) -> list[str]:
    """The names of the folders directly in a folder, but for hidden ones; sorted."""
    return sorted(each.name for each in os.scandir(folder) if each.is_dir() and not is_hidden(each.name))


def _files(top: Path, seen: set[Path]) -> list[Path]:
    """All files of a class; ``seen`` are real paths of folders that are not entered (again)."""
    found = []
    for place, folders, files in os.walk(top, followlinks=True, onerror=_refuse):
        real = Path(place).resolve()
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not is_hidden(name)]
        if place == str(top):
            refuse_within(top.name, folders)
        found += [(place, name) for name in files]
    return [Path(place, name) for place, name in sorted(found)]


def _refuse(error: OSError) -> None:
    raise LayaError(f"The folder {Path(error.filename).name!r} cannot be read: {error.strerror}.") from error


def _holds_classes(folder: Path) -> bool:
    entries = list(os.scandir(folder))
    if any(_is_picture(each) for each in entries if each.is_file()):
        return False
    return any(each.is_dir() and not is_hidden(each.name) for each in entries)


def _is_picture(entry: "os.DirEntry[str]") -> bool:
    return is_picture(entry.name, partial(_begin, Path(entry)))


def _begin(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(BEGIN)
    except OSError:
        return b""
