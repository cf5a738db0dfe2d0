"""What the axes of all charts share."""

from collections.abc import Sequence

FEW = 6  # up to so many layers stand as groups of bars on one axis; more become a row a method


def wrapped(names: Sequence[str]) -> list[str]:
    """Layer names over two lines: "hidden layer 2, 256 units" breaks at the comma."""
    return [name.replace(", ", "<br>") for name in names]
