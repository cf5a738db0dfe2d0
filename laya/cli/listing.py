"""List the checkpoints."""

from rich.console import Console
from rich.markup import escape

from laya.cli.options import Json
from laya.cli.output import make_table, print_json


def list_(as_json: Json = False) -> None:
    """List the checkpoints."""
    from laya import checkpoints

    entries = checkpoints.available()
    if as_json:
        fields = ("name", "title", "backbone", "head", "classes", "accuracy", "megabytes", "problem")
        print_json([{field: getattr(entry, field) for field in fields} for entry in entries])
        return
    table = make_table("checkpoint", "what", "classes", "accuracy", "MB")
    for entry in entries:
        accuracy = "" if entry.accuracy is None else f"{entry.accuracy:.4f} ({entry.split})"
        table.add_row(
            escape(entry.name),
            escape(entry.problem or entry.title),
            str(entry.classes or ""),
            accuracy,
            f"{entry.megabytes:.1f}",
        )
    Console().print(table if entries else "No checkpoints yet; make one with: python -m laya train --help")
