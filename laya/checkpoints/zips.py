"""A checkpoint from a zip of anybody's."""

from pathlib import Path, PurePosixPath

from laya.checkpoints.layout import CARD, CONFIG, METRICS, WEIGHTS
from laya.checkpoints.metadata import JSON_BYTES
from laya.checkpoints.store import load
from laya.errors import LayaError
from laya.files import write
from laya.inputs.archives import Archive

ARCHIVE_BYTES = 500 * 2**20  # most bytes of a checkpoint's files together
_WELCOME = (WEIGHTS, CONFIG, METRICS, CARD)


def unpack(data: bytes, name: str, place: Path) -> Path:
    """A checkpoint folder from a zip archive, its files checked before anything is written, and the model after.

    Parameters
    ----------
    data : the archive: the files of one checkpoint, perhaps inside one folder. Samples and what else is in it is left.
    name : what the archive is called.
    place : an empty folder to write into.

    Raises
    ------
    LayaError
        No zip, no checkpoint in it, more than :data:`ARCHIVE_BYTES` unpacked, or see :func:`load`.
    """
    archive = Archive(data, name)
    entries = {
        PurePosixPath(entry.filename).name: entry
        for entry in archive.entries
        if len(PurePosixPath(entry.filename).parts) <= 2 and PurePosixPath(entry.filename).name in _WELCOME
    }
    if not {WEIGHTS, CONFIG} <= entries.keys():
        raise LayaError(f"{name!r} holds no checkpoint: pack {WEIGHTS} and {CONFIG}, which training writes.")
    archive.check_open(list(entries.values()))
    files, left = {}, ARCHIVE_BYTES
    for file, entry in entries.items():
        most = left if file == WEIGHTS else min(left, JSON_BYTES)
        try:
            files[file] = archive.read(entry, most + 1)
        except LayaError as error:
            raise LayaError(f"The {file} in {name!r} is damaged; pack it again.") from error
        left -= len(files[file])
        if len(files[file]) > most:
            raise LayaError(
                f"{name!r} unpacks to more than the limit: {ARCHIVE_BYTES >> 20} MB in all, of which "
                f"{JSON_BYTES >> 20} MB for a file of text."
            )
    stem = "".join(sign for sign in PurePosixPath(name).stem if sign.isalnum() or sign in "-_") or "model"
    folder = place / stem
    for file, content in files.items():
        write(folder / file, content)
    load(str(folder))
    return folder
