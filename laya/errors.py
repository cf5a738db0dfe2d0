"""The one exception that is meant for a person."""

from collections.abc import Iterable
from difflib import get_close_matches


class LayaError(Exception):
    """Something that a person did or gave cannot be used; the message is one sentence that says what to do."""


def unknown(what: str, name: str, known: Iterable[str]) -> LayaError:
    """An error for a name that is not in a registry: names it, offers the closest one and lists all valid ones."""
    names = [str(item) for item in known]
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return LayaError(f"There is no {what} called {name!r}.{hint} Known: {', '.join(names) or 'none'}.")


def check_width(value: int, what: str) -> int:
    """The size itself, if a layer can have it.

    Raises
    ------
    LayaError
        Not a whole number from 1 to 65,536.
    """
    if type(value) is not int or not 1 <= value <= 65_536:
        raise LayaError(f"{what[0].upper()}{what[1:]} must be a whole number from 1 to 65536, not {value!r}.")
    return value
