"""What the epochs of a training reached."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Epoch:
    """One line of the training history."""

    epoch: int  # counted from 1
    loss: float  # mean training loss
    validation_accuracy: float
    seconds: float  # wall clock


def best_epoch(history: list[Epoch]) -> Epoch:
    """The first epoch with the highest validation accuracy."""
    return max(history, key=lambda epoch: epoch.validation_accuracy)


def is_over(history: list[Epoch], patience: int) -> bool:
    """Whether the validation accuracy has not risen for ``patience`` epochs; 0 never ends a training."""
    return bool(history) and patience > 0 and len(history) - best_epoch(history).epoch >= patience


def standing(number: int, epochs: int, history: list[Epoch]) -> str:
    """Where a training stands, in words."""
    reached = f", best validation accuracy {best_epoch(history).validation_accuracy:.4f}" if history else ""
    return f"epoch {number} of {epochs}{reached}"
