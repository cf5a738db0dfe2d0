"""A zip of pictures with a folder for each class, or with such a folder for each part."""

import zipfile
from collections import defaultdict
from functools import partial
from pathlib import PurePosixPath

from laya.data.image_set import ImageSet, Split
from laya.data.labels import Names, classify, few
from laya.data.litter import BEGIN, is_hidden, is_picture, passed_over
from laya.data.parts import Source, part_of, parts_among, refuse_within
from laya.errors import LayaError
from laya.inputs import images
from laya.inputs.archives import Archive

ZIP_FILES = 5000  # most files in an archive
ZIP_BYTES = 200 * 2**20  # most bytes of an archive


def open_zip(data: bytes, name: str, split: Split = "test") -> ImageSet:
    """A zip archive of pictures with one folder a class; nothing of it is ever unpacked to disk.

    Folders around the class folders, hidden files and macOS's own entries do not count; folders called like parts, of
    which there are several, are parts (:func:`laya.data.parts.parts_among`).

    Raises
    ------
    LayaError
        Not a zip, encrypted, no pictures in class folders, no such part, or more than :data:`ZIP_FILES` files.
    """
    archive = Archive(data, name)
    entries = {_names(entry): entry for entry in archive.entries if not entry.filename.endswith("\\")}
    entries.pop((), None)
    shown = {names: entry for names, entry in entries.items() if not any(map(is_hidden, names))}
    if len(shown) > ZIP_FILES:
        raise LayaError(f"{name!r} holds {len(shown):,} files, more than the limit of {ZIP_FILES:,}; pack fewer.")
    archive.check_open(list(shown.values()))
    pictures = [names for names, entry in shown.items() if is_picture(names[-1], partial(_begin, archive, entry))]
    inside = sorted(names for names in pictures if len(names) > 1)
    loose: list[Names] = [names for names in pictures if len(names) == 1]
    if not inside:
        raise LayaError(f"{name!r} has no folders with pictures; put those of each class into a folder of its name.")
    top = _depth(inside)
    parts, notes = parts_among(
        dict.fromkeys(names[top] for names in inside),
        lambda folder: all(len(names) > top + 2 for names in inside if names[top] == folder),
        name,
    )
    chosen: dict[Split | None, list[Names]] = {
        part: [names for names in inside if names[top] == folder and len(names) > top + 2]
        for part, folder in parts.items()
    }
    if not all(chosen.values()):
        raise LayaError(f"{name!r} has a part without class folders; put the pictures of each class into one.")
    loose += [names for names in inside if names[top] in parts.values() and len(names) == top + 2]
    if parts.keys() <= {"train"}:  # without parts, or in one, which is but a folder around the class folders
        chosen = {None: chosen.get("train", inside)}
        _refuse_inner_parts(chosen[None], top)
    if loose:
        lying = few(["/".join(names) for names in sorted(loose)])
        notes += (f"Pictures that lie in no class folder and are passed over: {lying}.",)
    taken = set(pictures)
    notes += passed_over(["/".join(names) for names in entries if names not in taken])

    def opened(those: list[Names]) -> ImageSet:
        classes, labels, spelled = classify([names[-2] for names in those])
        return ImageSet(
            name=PurePosixPath(name).stem,
            classes=classes,
            labels=labels,
            raw=lambda index: archive.read(shown[those[index]], images.MAX_BYTES + 1),
            sources=["/".join(names[-2:]) for names in those],
            notes=spelled,
        )

    return Source(name, {part: partial(opened, those) for part, those in chosen.items()}, notes).open(split)


def _names(entry: zipfile.ZipInfo) -> Names:
    """The parts of an entry's path; some programs on Windows write backslashes, against the format."""
    return tuple(name for name in entry.filename.replace("\\", "/").split("/") if name not in ("", ".", ".."))


def _begin(archive: Archive, entry: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(entry, BEGIN)
    except LayaError:
        return b""


def _depth(inside: list[Names]) -> int:
    """How many folders lie around everything."""
    depth = 0
    while len({names[depth] for names in inside}) == 1 and all(len(names) > depth + 2 for names in inside):
        if part_of(inside[0][depth]):
            break
        depth += 1
    return depth


def _refuse_inner_parts(inside: list[Names], top: int) -> None:
    folders: dict[Names, set[str]] = defaultdict(set)
    for names in inside:
        if len(names) > top + 2:
            folders[names[:-2]].add(names[-2])
    for path, within in folders.items():
        refuse_within(path[-1], within)
