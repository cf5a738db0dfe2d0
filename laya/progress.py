"""How long work tells what it has done."""

from collections.abc import Callable

OnProgress = Callable[[str, int, int], None]
"""Called with what is being done, in words, the number of steps done, and the number of steps in all."""


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""
