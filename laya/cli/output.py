"""How results, progress and errors are written."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from laya.progress import OnProgress

errors = Console(stderr=True)


def say(text: str) -> None:
    """One line on standard error."""
    errors.print(text, highlight=False, markup=False)


def print_json(value: Any) -> None:
    """One object on standard output; NaN and infinity cannot occur in it."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def make_table(*columns: str, caption: str | None = None) -> Table:
    """An empty table whose columns but the first are numbers."""
    table = Table(caption=caption)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def tell_skipped(skipped: list[str]) -> None:
    """Name every picture that was left out, with the reason, and how many there are."""
    for source in skipped:
        say(f"skipped {source}")
    if skipped:
        say(f"{len(skipped)} unreadable files were left out.")


@contextmanager
def progress_bar() -> Iterator[OnProgress]:
    """A bar with the time left on standard error; where that is a file, a line at every tenth of the way."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=errors
    )
    task = bar.add_task("", total=None)
    said = -1

    def on_progress(what: str, done: int, total: int) -> None:
        nonlocal said
        if errors.is_terminal:
            bar.start()
            bar.update(task, description=what, completed=done, total=total)
        elif (tenth := done * 10 // total) != said:
            said = tenth
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

    try:
        yield on_progress
    finally:
        if bar.live.is_started:
            bar.stop()
