"""Files that are replaced in one step."""

import json
import os
from pathlib import Path
from typing import Any

from laya.errors import LayaError


def write_json(file: Path, value: Any, *, indent: int | None = 2) -> None:
    """Write JSON atomically; NaN and infinity are refused."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    write(file, (text + "\n").encode())


def write(file: Path, data: bytes) -> None:
    """Replace a file in one step: a reader sees the old one or the new one, never a part.

    Raises
    ------
    LayaError
        It cannot be written there.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise LayaError(f"{file.name!r} cannot be written there: {error.strerror or error}.") from error


def cache() -> Path:
    """Where downloads and computed states are kept: LAYA_CACHE, or ``~/.cache/laya``."""
    return Path(os.environ.get("LAYA_CACHE") or Path.home() / ".cache" / "laya")
