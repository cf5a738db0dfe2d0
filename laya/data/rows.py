"""A table on disk that is filled from top to bottom and goes on where it was interrupted."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from laya.errors import LayaError
from laya.files import write_json


class Rows:
    """A float32 table (N, F), memory-mapped; it has its name only when it is whole.

    Attributes
    ----------
    array : (N, F), to be filled.
    done : how many rows are there already.

    Raises
    ------
    LayaError
        The folder cannot be written.
    """

    def __init__(self, file: Path, shape: tuple[int, int]) -> None:
        self._file, self._partial, self._counter = file, file.with_suffix(".partial.npy"), file.with_suffix(".json")
        self.array: NDArray[np.float32]
        with _writable():
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                self.done = int(json.loads(self._counter.read_text())["done"])
                self.array = np.load(self._partial, mmap_mode="r+", allow_pickle=False)
                if self.array.shape != shape or not 0 <= self.done <= shape[0]:
                    raise ValueError(self.array.shape)
            except (OSError, ValueError, KeyError, TypeError):
                self.done, self.array = 0, open_memmap(self._partial, mode="w+", dtype=np.float32, shape=shape)
            _reserve(self._partial)

    def advance(self, done: int) -> None:
        """Say that the first ``done`` rows are there; they survive what comes."""
        with _writable():
            self.array.flush()  # type: ignore[attr-defined]  # a memmap
        write_json(self._counter, {"done": done})
        self.done = done

    def finish(self) -> None:
        """Give the whole table its name."""
        with _writable():
            self.array.flush()  # type: ignore[attr-defined]
            self._partial.replace(self._file)
            self._counter.unlink(missing_ok=True)


def _reserve(file: Path) -> None:
    """Take the disk space of a table now: a full disk under a memory-mapped file would end the process later."""
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as stream:
            os.posix_fallocate(stream.fileno(), 0, file.stat().st_size)


@contextmanager
def _writable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LayaError(f"The cache cannot be written: {error.strerror or error}.") from error


def read(file: Path) -> NDArray[np.float32]:
    """A whole table, memory-mapped and read-only.

    Raises
    ------
    LayaError
        It is damaged.
    """
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except (OSError, ValueError, EOFError) as error:
        raise LayaError(f"The cached file {file.name!r} is damaged; delete it, and it is made again.") from error
