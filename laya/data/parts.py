"""The parts of a data set, for training, choosing and testing, whatever they are called."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from laya.data.image_set import ImageSet, Split
from laya.data.labels import clean, few
from laya.errors import LayaError

# Those that the library ``datasets`` understands.
SPELLINGS: dict[Split, tuple[str, ...]] = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_PART = {spelling: part for part, spellings in SPELLINGS.items() for spelling in spellings}


@dataclass(frozen=True)
class Source:
    """A data set as somebody keeps it: one whole, or in parts.

    Attributes
    ----------
    name : what to call it in a message.
    parts : part to what opens it; the only key of a whole is None.
    notes : what a person should know about how it is split.
    """

    name: str
    parts: Mapping[Split | None, Callable[[], ImageSet]]
    notes: tuple[str, ...] = ()

    @property
    def splits(self) -> tuple[Split, ...]:
        """The parts that there are; empty for a whole."""
        return tuple(part for part in SPELLINGS if part in self.parts)

    def open(self, split: Split) -> ImageSet:
        """A part; without a part ``test`` that is ``val`` in its place, and a whole is all that there is.

        Raises
        ------
        LayaError
            There is no such part, or it cannot be opened.
        """
        part = "val" if split == "test" and split not in self.parts and "val" in self.parts else split
        if None not in self.parts and part not in self.parts:
            there = ", ".join(map(repr, self.splits))
            raise LayaError(" ".join((f"{self.name!r} has no part called {split!r}, only {there}.", *self.notes)))
        found: Split | None = None if None in self.parts else part
        data = self.parts[found]()
        return replace(data, split=found, notes=(*self.notes, *self._lacking(), *data.notes))

    def _lacking(self) -> tuple[str, ...]:
        if self.splits == ("train",):
            return ("There is no part but train; a training holds a share of it back and is measured on that.",)
        if "val" in self.parts and "test" not in self.parts:
            return ("There is no part test; the part val is used in its place, though it also chooses the epoch.",)
        return ()


def part_of(name: object) -> Split | None:
    """The part that is called so, in any case; None for other names."""
    return _PART.get(clean(str(name)).casefold())


def parts_called(names: Iterable[str], where: str) -> dict[Split, str]:
    """Part to the one name for it among ``names``; other names do not count.

    Raises
    ------
    LayaError
        Two names stand for one part.
    """
    found: dict[Split, str] = {}
    for name in names:
        part = part_of(name)
        if part is not None and found.setdefault(part, name) != name:
            raise LayaError(f"{where!r} has {found[part]!r} and {name!r} for one part; join them or take one away.")
    return found


def parts_among(
    folders: Iterable[str], holds_classes: Callable[[str], bool], where: str
) -> tuple[dict[Split, str], tuple[str, ...]]:
    """Which of the topmost folders are the parts, and notes for a person; no part where they are the classes.

    Folders that are all called like parts are parts. Among others, those are that hold folders and no pictures, as a
    class does not: so a class may be called "test".

    Parameters
    ----------
    folders : their names.
    holds_classes : whether the folder of a name holds folders and no pictures.

    Raises
    ------
    LayaError
        Two folders stand for one part, or it is not clear whether the folders are parts or classes.
    """
    folders = list(folders)
    named = [name for name in folders if part_of(name)]
    nested = [name for name in named if holds_classes(name)]
    rest = [name for name in folders if name not in named]
    if not named or (rest and not nested):
        taken = f"The folders {few([*map(repr, named)])} are taken for classes, for pictures lie right in them."
        return {}, (taken,) if len(named) > 1 else ()
    if rest and len(named) == 1:
        raise LayaError(
            f"In {where!r} the folder {named[0]!r} looks like a part with class folders in it, but "
            f"{few([*map(repr, rest)])} beside it does not; call parts train, val and test, and put the pictures of a "
            "class right into its folder."
        )
    found = parts_called(named, where)
    notes = []
    if rest:
        notes.append(f"Folders that are no part of the data and are passed over: {few([*map(repr, rest)])}.")
    if nested and len(nested) < len(named):
        flat = [name for name in named if name not in nested]
        notes.append(f"Parts without class folders, which are passed over: {few([*map(repr, flat)])}.")
        found = {part: name for part, name in found.items() if name in nested}
    return found, tuple(notes)


def refuse_within(class_name: str, folders: Iterable[str]) -> None:
    """Refuse a class folder that has parts in it: train and test pictures would be mixed.

    Raises
    ------
    LayaError
        Two of the ``folders`` in it are called like parts.
    """
    inner = {part_of(name): name for name in folders if part_of(name)}
    if len(inner) > 1:
        raise LayaError(
            f"The class folder {class_name!r} has the parts {few([*map(repr, inner.values())])} in it; name that "
            "folder as the data, or put the class folders into the parts."
        )


def parts_in_column(values: Iterable[object], where: str) -> tuple[tuple[Split, ...], tuple[str, ...]]:
    """The parts that a column names, and notes for a person.

    Raises
    ------
    LayaError
        Two values stand for one part, or none stands for any.
    """
    counts = Counter("" if value is None else clean(str(value)).casefold() for value in values)
    found = parts_called(counts, where)
    others = [value for value in counts if value not in found.values()]
    named = few([*map(repr, others)])
    if not found:
        raise LayaError(f"The parts of {where!r} are called {named}; call them train, val and test.")
    rows = sum(counts[value] for value in others)
    return tuple(found), (f"{rows:,} rows are in no known part and are passed over: {named}.",) if rows else ()
