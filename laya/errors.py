"""The one exception that is meant for a person."""

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 200  # most signs of a value that a message quotes
LISTED = 50  # most names that a message lists


class LayaError(Exception):
    """Something that a person did or gave cannot be used; the message is one sentence that says what to do."""


class GpuFullError(LayaError):
    """The GPU has no memory left for it; the CPU may have."""


def unknown(what: str, name: object, known: Iterable[str]) -> LayaError:
    """An error for a name that is not in a registry: names it, offers the closest one and lists all valid ones."""
    names = [str(item) for item in known]
    close = get_close_matches(str(name)[:SHOWN], names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    rest = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return LayaError(
        f"There is no {what} called {shown(name)}.{hint} Known: {', '.join(names[:LISTED]) or 'none'}{rest}."
    )


def shown(value: object) -> str:
    """Somebody's value as a message quotes it: of a long one the beginning."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def check_width(value: int, what: str) -> int:
    """The size itself, if a layer can have it.

    Raises
    ------
    LayaError
        Not a whole number from 1 to 65,536.
    """
    if type(value) is not int or not 1 <= value <= 65_536:
        raise LayaError(f"{what[0].upper()}{what[1:]} must be a whole number from 1 to 65536, not {shown(value)}.")
    return value
