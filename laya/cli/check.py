"""Look at a data set before training."""

import typer
from rich.console import Console
from rich.markup import escape

from laya.cli.options import Data, Json
from laya.cli.output import make_table, print_json, progress_bar


def check(data: Data, as_json: Json = False) -> None:
    """Look at every picture of a data set before training: counts, unreadable files, copies, missing classes."""
    from laya.data import checks

    with progress_bar() as on_progress:
        report = checks.check(data, on_progress=on_progress)
    if as_json:
        print_json(report.to_dict() | {"complaints": report.complaints()})
        return
    parts = list(next(iter(report.classes.values())))
    table = make_table("class", *parts)
    for name, counts in report.classes.items():
        table.add_row(escape(name), *(f"{counts[part]:,}" for part in parts))
    Console().print(table)
    for complaint in report.complaints() or ["Nothing to complain about."]:
        typer.echo(complaint)
