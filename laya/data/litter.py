"""What lies among pictures and is none: what systems and programs leave behind, and files of other kinds."""

from collections.abc import Callable, Sequence
from pathlib import PurePath

from PIL import Image

from laya.data.labels import few
from laya.inputs.images import FORMATS

_FOLDERS = ("__MACOSX", "@eaDir", "$RECYCLE.BIN", "System Volume Information", "lost+found")
# Of formats that are read here, and of photographs that are not: a person wants to be told about those.
_ENDINGS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".gif", ".bmp", ".dib", ".avif"),
    *(".heic", ".heif", ".tif", ".tiff"),
)
BEGIN = 16  # bytes by which the formats are told apart


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is for the system, not for people."""
    return name.startswith(".") or name in _FOLDERS


def is_picture(name: str, begin: Callable[[], bytes]) -> bool:
    """Whether a file is meant as a picture: by its ending, or else by its first :data:`BEGIN` bytes.

    Parameters
    ----------
    begin : reads them; called only where the ending does not tell.
    """
    if is_hidden(name):
        return False
    return PurePath(name).suffix.lower() in _ENDINGS or _begins_like_one(begin())


def _begins_like_one(data: bytes) -> bool:
    Image.init()
    return any(accept and accept(data) for _, accept in (Image.OPEN.get(name, (None, None)) for name in FORMATS))


def passed_over(names: Sequence[str]) -> tuple[str, ...]:
    """The note on files that are no pictures; none where there are none."""
    if not names:
        return ()
    what = "1 file is no picture and is" if len(names) == 1 else f"{len(names):,} files are no pictures and are"
    return (f"{what} passed over: {few(names)}.",)
