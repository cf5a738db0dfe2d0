"""Zip archives from anybody: nothing that one says of itself is believed, and nothing is unpacked to disk."""

import io
import zipfile

from laya.errors import LayaError

FILES = 20_000  # most files in an archive, which takes well below a second to list
_DIRECTORY = b"PK\1\2"  # every file's entry in the directory begins so


class Archive:
    """A zip archive in memory.

    Parameters
    ----------
    data : the archive.
    name : what it is called, for messages.

    Attributes
    ----------
    entries : its files, without folders; of one name the last.

    Raises
    ------
    LayaError
        Not a zip, damaged, or more than :data:`FILES` files.
    """

    def __init__(self, data: bytes, name: str) -> None:
        if data.count(_DIRECTORY) > FILES:
            raise LayaError(f"{name!r} holds more than {FILES:,} files, the limit; pack fewer.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            found = [entry for entry in self._zip.infolist() if entry.filename and not entry.is_dir()]
        except Exception as error:  # zipfile lets through whatever its parts raise on damage
            raise LayaError(f"{name!r} is not a zip archive, or it is damaged; pack it again.") from error
        self.name = name
        self.entries = list({entry.filename: entry for entry in found}.values())

    def check_open(self, entries: list[zipfile.ZipInfo]) -> None:
        """Refuse files that are locked.

        Raises
        ------
        LayaError
            One of them needs a password.
        """
        if any(entry.flag_bits & 1 for entry in entries):
            raise LayaError(f"{self.name!r} is locked with a password; pack it without one.")

    def read(self, entry: zipfile.ZipInfo, most: int) -> bytes:
        """A file's content, but no more than ``most`` bytes of it, whatever its header says.

        Raises
        ------
        LayaError
            It is damaged, or packed in a way that is not known here.
        """
        try:
            with self._zip.open(entry) as stream:
                return stream.read(most)
        except Exception as error:  # see above
            raise LayaError("The file is damaged in the archive.") from error
