"""``python -m benchmarks``: the table of ratios and times, with targets and verdicts."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import app, cases
from benchmarks.timing import Row
from laya.device import machine
from laya.files import write_json


def run(
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions: to see that it works.")] = False,
    model: Annotated[str | None, typer.Option(help="Measure the arithmetic of one model, by its name, alone.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the JSON to a file, completed row by row.")] = None,
) -> None:
    """Measure LAYA against the bare backbone, Captum and grad-cam in the same run, and the app against the clock."""
    found: dict[str, Any] = {"machine": machine(), "rows": [], "growth": []}
    progress, console = Console(stderr=True), Console()
    table = Table("what", "model", "median", "quartiles", "sides", "target", "", title=machine())
    for each in chain(_ratios(model, quick), *([] if model else [app.starts(quick), app.pages(quick)])):
        found["rows"].append(asdict(each) | {"met": each.met})
        table.add_row(*_cells(each))
        progress.print(" · ".join(filter(None, _cells(each))), highlight=False, markup=False)
        _keep(out, found)
    for line in [] if model else cases.growth(quick):
        found["growth"].append(line)
        _keep(out, found)
    if as_json:
        console.print_json(data=found)
        return
    console.print(table)
    for line in found["growth"]:
        console.print(_growth(line), highlight=False)


def markdown(found: dict[str, Any]) -> str:
    """The results of a run as they stand in docs/performance.md."""
    rows = [Row(**{name: value for name, value in row.items() if name != "met"}) for row in found["rows"]]
    lines = [f"Machine: {found['machine']}.", "", "| what | model | median | quartiles | sides | target | |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |", *(f"| {' | '.join(_cells(row))} |" for row in rows), ""]
    return "\n".join([*lines, *(f"- {_growth(line)}" for line in found["growth"])]) + "\n"


def _growth(line: dict[str, Any]) -> str:
    measured = ", ".join(f"{s}: {1000 * t:.1f} ms" for s, t in zip(line["sizes"], line["seconds"], strict=True))
    return (
        f"All layer scores of one image: {1000 * line['intercept']:.1f} ms + {1000 * line['slope']:.4f} ms for each of "
        f"the {line['against']}, off by {line['largest_relative_error']:.0%} at most ({measured})."
    )


def _ratios(model: str | None, quick: bool) -> Iterator[Row]:
    for checkpoint in cases.models():
        if model in (None, checkpoint.name):
            yield from cases.ratios(checkpoint, quick)


def _cells(row: Row) -> tuple[str, ...]:
    sides = "" if row.sides is None else " / ".join(f"{side:.3g}" for side in row.sides)
    target = "" if row.target is None else f"<= {_number(row.target, row.unit)}"
    verdict = {None: "", True: "met", False: "NOT MET"}[row.met]
    spread = f"{_number(row.low, row.unit)} to {_number(row.high, row.unit)}"
    return row.what, row.model, _number(row.value, row.unit), spread, sides, target, verdict


def _number(value: float, unit: str) -> str:
    if unit == "x":
        return f"1/{1 / value:.0f}" if 0 < value < 0.05 else f"{value:.2f}"
    return f"{value:.2f} {unit}"


def _keep(out: Path | None, found: dict[str, Any]) -> None:
    if out is not None:
        write_json(out, found)


if __name__ == "__main__":
    typer.run(run)
