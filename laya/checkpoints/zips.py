"""A checkpoint from a zip of anybody's."""

from pathlib import Path, PurePosixPath
from zipfile import ZipInfo

from laya.checkpoints.layout import CARD, CONFIG, METRICS, WEIGHTS
from laya.checkpoints.metadata import JSON_BYTES, checked_config
from laya.checkpoints.store import load
from laya.checkpoints.weights import PICKLES
from laya.errors import LayaError, shown
from laya.files import write
from laya.inputs.archives import Archive

ARCHIVE_BYTES = 500 * 2**20  # most bytes of a checkpoint's files together
_WELCOME = (WEIGHTS, CONFIG, METRICS, CARD)


def unpack(data: bytes, name: str, place: Path) -> Path:
    """A checkpoint folder from a zip archive, its files checked before anything is written, and the model after.

    Parameters
    ----------
    data : the archive: the files of one checkpoint, perhaps inside folders, and the backbone weights that its config
        names. Samples and what else is in it is left.
    name : what the archive is called.
    place : an empty folder to write into.

    Raises
    ------
    LayaError
        No zip, no checkpoint in it, more than :data:`ARCHIVE_BYTES` unpacked, or see :func:`load`.
    """
    archive = Archive(data, name)
    entries = _folder(archive)
    files: dict[str, bytes] = {}

    def take(file: str, most: int) -> None:
        most = min(most, ARCHIVE_BYTES - sum(map(len, files.values())))
        archive.check_open([entries[file]])
        try:
            files[file] = archive.read(entries[file], most + 1)
        except LayaError as error:
            raise LayaError(f"The {file} in {name!r} is damaged; pack it again.") from error
        if len(files[file]) > most:
            raise LayaError(
                f"{name!r} unpacks to more than the limit: {ARCHIVE_BYTES >> 20} MB in all, of which "
                f"{JSON_BYTES >> 20} MB for a file of text."
            )

    for file in _WELCOME:
        if file in entries:
            take(file, ARCHIVE_BYTES if file == WEIGHTS else JSON_BYTES)
    named = checked_config(Path(name), files[CONFIG])["backbone"].get("weights")
    shared = named.get("file") if isinstance(named, dict) else None
    if isinstance(shared, str) and shared.endswith(".safetensors") and shared in entries:
        take(shared, ARCHIVE_BYTES)
    stem = "".join(sign for sign in PurePosixPath(name).stem if sign.isalnum() or sign in "-_") or "model"
    folder = place / stem
    for file, content in files.items():
        write(folder / file, content)
    load(str(folder))
    return folder


def _folder(archive: Archive) -> dict[str, ZipInfo]:
    """The files of the folder that holds a checkpoint, by name: however deep, of several the outermost.

    Raises
    ------
    LayaError
        There is none, or there are several side by side.
    """
    folders: dict[PurePosixPath, dict[str, ZipInfo]] = {}
    for entry in archive.entries:
        path = PurePosixPath(entry.filename.replace("\\", "/"))  # as some programs for Windows write it
        folders.setdefault(path.parent, {})[path.name] = entry
    whole = {folder: files for folder, files in folders.items() if {WEIGHTS, CONFIG} <= files.keys()}
    if not whole:
        what = f"pack {WEIGHTS} and {CONFIG}, which training writes, in one folder"
        if any(file.endswith(PICKLES) for files in folders.values() for file in files):
            what = f"a pickle can run code and is never opened; {what}"
        raise LayaError(f"{archive.name!r} holds no checkpoint: {what}.")
    depth = min(len(folder.parts) for folder in whole)
    outermost = [folder for folder in whole if len(folder.parts) == depth]
    if len(outermost) > 1:
        names = " and ".join(shown(folder.name) for folder in outermost[:2])
        raise LayaError(f"{archive.name!r} holds {len(outermost)} checkpoints, such as {names}; pack one alone.")
    return whole[outermost[0]]
