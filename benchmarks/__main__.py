"""``python -m benchmarks``: the table of ratios with targets and verdicts."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks import cases
from laya import checkpoints
from laya.recipe import machine


def run(
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions: to see that it works.")] = False,
    model: Annotated[str | None, typer.Option(help="Measure one model alone, by its checkpoint's name.")] = None,
    out: Annotated[Path | None, typer.Option("--json", help="Write the result to a file.")] = None,
) -> None:
    """Measure LAYA against the bare backbone and against Captum, as ratios; nothing depends on the machine's speed."""
    console = Console()
    table = Table("what", "model", "ratio", "quartiles", "target", "", title=machine())
    rows: list[dict[str, Any]] = []
    for checkpoint in cases.models():
        if model not in (None, checkpoint.name):
            continue
        for case in cases.cases(checkpoint):
            with console.status(f"{case.name}, {case.model}"):
                found = case.run(quick)
            met = found.ratio >= case.target if case.at_least else found.ratio <= case.target
            rows.append({"what": case.name, "model": case.model, "target": case.target, "at_least": case.at_least})
            rows[-1] |= {"met": met, **asdict(found)}
            sign = ">=" if case.at_least else "<="
            table.add_row(
                *(case.name, case.model, f"{found.ratio:.4g}", f"{found.low:.4g} to {found.high:.4g}"),
                *(f"{sign} {case.target:g}", "met" if met else "NOT MET"),
            )
            _keep(out, rows, [])
    console.print(table)
    scaling = []
    for what, sizes, taken in cases.growth(quick):
        slope, start = np.polyfit(sizes, taken, 1)
        scaling.append({"against": what, "sizes": sizes, "seconds": taken, "slope": slope, "intercept": start})
        console.print(
            f"all layer scores of one image: {1000 * start:.2f} ms + {1000 * slope:.4f} ms for each of the {what}; "
            + ", ".join(f"{size}: {1000 * second:.2f} ms" for size, second in zip(sizes, taken, strict=True))
        )
    _keep(out, rows, scaling)


def _keep(out: Path | None, rows: list[dict[str, Any]], scaling: list[dict[str, Any]]) -> None:
    if out is not None:
        checkpoints.write_json(out, {"machine": machine(), "ratios": rows, "growth": scaling})


if __name__ == "__main__":
    typer.run(run)
