"""What classes are called: one name for what looks the same, and a list of what is hard to tell apart."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

# Signs without a width that no word needs: soft hyphen, zero-width space, word joiner, byte order mark, directions.
_INVISIBLE = dict.fromkeys(
    (0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF)
)
_JOINERS = dict.fromkeys((0x200C, 0x200D))  # some scripts and emoji need these, so names keep them
_LATIN = str.maketrans(  # Cyrillic and Greek letters to the Latin ones that look like them
    "АВЕІЈКМНОРСЅТУХаеіјорсѕухΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEIJKMHOPCSTYXaeijopcsyxABEZHIKMNOPTYXo"
)

Names = tuple[str, ...]


def clean(name: str) -> str:
    """A name without what cannot be seen: composed (Unicode's NFC), single spaces, none at the ends, no empty signs."""
    return " ".join(unicodedata.normalize("NFC", name).translate(_INVISIBLE).split())


def classify(names: Sequence[str], *, ordered: bool = False) -> tuple[Names, NDArray[np.int64], Names]:
    """The classes that names stand for; those that differ in what cannot be seen are one class.

    Parameters
    ----------
    names : N names, as they are written.
    ordered : the classes come in the order of the names instead of sorted.

    Returns
    -------
    Class names, the label of each name (N,), and notes for a person.
    """
    spellings: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        spellings[clean(name) or name].append(name)
    classes = tuple(spellings) if ordered else tuple(sorted(spellings))
    label = {name: index for index, each in enumerate(classes) for name in spellings[each]}
    merged = [" = ".join(map(repr, each)) for each in spellings.values() if len(each) > 1]
    notes = (f"Labels that differ only in what cannot be seen are one class: {few(merged)}.",) if merged else ()
    return classes, np.array([label[name] for name in names], dtype=np.int64), notes


def alike(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of names that differ in case, spacing, a ``.0``, or letters of another alphabet alone."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        groups[_looks(name)].append(name)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _looks(name: str) -> str:
    text = unicodedata.normalize("NFKC", clean(name)).translate(_JOINERS | _LATIN).casefold()
    return re.sub(r"(?<=^\d)(\d*)\.0+$", r"\1", re.sub(r"[-_\s]+", " ", text).strip())


def few(names: Sequence[str], most: int = 5) -> str:
    """The first names of a list, and how many there are besides."""
    shown = "; ".join(name.rstrip(".") for name in names[:most])
    return f"{shown}; and {len(names) - most:,} more" if len(names) > most else shown
