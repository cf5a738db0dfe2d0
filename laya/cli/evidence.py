"""All heads on one task."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from laya.cli.options import Json
from laya.cli.output import make_table, print_json, progress_bar


def evidence(
    name: Annotated[str, typer.Argument(help="A checkpoint whose folder has an evidence.toml.", show_default=False)],
    row: Annotated[str | None, typer.Option(help="Measure one row of the table alone, again if need be.")] = None,
    seed: Annotated[int | None, typer.Option(help="Measure one seed alone, again if need be.")] = None,
    as_json: Json = False,
) -> None:
    """Train every head on a checkpoint's task, several seeds each, and write the table; goes on where it stopped."""
    from laya.studies import evidence as table

    with progress_bar() as on_progress:
        result = table.run(name, row=row, seed=seed, on_progress=on_progress)
    if as_json:
        print_json(result)
        return
    shown = make_table("head", "seeds", "accuracy", "macro-F1", "difference to last_layer", "parameters", "seconds")
    for title, summary in result["rows"].items():
        difference = summary.get("accuracy_difference", {})
        shown.add_row(
            escape(title),
            str(summary["seeds"]),
            _spread(summary["accuracy"]),
            _spread(summary["macro_f1"]),
            "" if difference.get("mean") is None else _difference(difference),
            f"{summary['parameters']:,}",
            f"{summary['seconds']['mean']:.0f}",
        )
    Console().print(shown)


def _spread(value: dict[str, float | None]) -> str:
    return f"{value['mean']:.4f}" + ("" if value["std"] is None else f" ± {value['std']:.4f}")


def _difference(value: dict[str, float | None]) -> str:
    interval = "" if value["low"] is None else f" [{value['low']:+.4f}, {value['high']:+.4f}]"
    return f"{value['mean']:+.4f}{interval}"
