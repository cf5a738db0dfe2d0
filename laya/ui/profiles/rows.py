"""What the parts of the page read from a report."""

from typing import Any

Report = dict[str, Any]
QUANTITIES = {"alpha": "attention α", "contribution": "contribution"}


def quantity_of(report: Report) -> str:
    """What the profiles of a report are of: ``alpha``, or ``contribution`` where the head has no layer weights."""
    return "contribution" if report["overall"]["alpha_mean"] is None else "alpha"


def unit_of(quantity: str) -> str:
    """The unit of a quantity, for an axis."""
    return "weight" if quantity == "alpha" else "logits"


def profile_rows(report: Report, grouping: str, part: str, quantity: str) -> list[tuple[str, list[float] | None]]:
    """Each class with its mean profile; None where there is no picture."""
    key = f"{quantity}_mean"
    if grouping == "predicted":
        return [(name, each[key]) for name, each in report["predicted"].items()]
    if part != "difference":
        return [(name, each[part][key]) for name, each in report["classes"].items()]
    rows: list[tuple[str, list[float] | None]] = []
    for name, each in report["classes"].items():
        right, wrong = each["right"][key], each["wrong"][key]
        rows.append((name, None if None in (right, wrong) else [a - b for a, b in zip(right, wrong, strict=True)]))
    return rows


def outcome(image: dict[str, Any]) -> str:
    """What became of a picture that a report names, after its true class."""
    return "rightly predicted" if image["true"] == image["predicted"] else f"taken for {image['predicted']}"
