"""Check checkpoints against their own figures."""

from pathlib import Path
from typing import Annotated

import typer

from laya.cli.output import progress_bar
from laya.errors import LayaError


def verify(
    name: Annotated[str | None, typer.Argument(help="A checkpoint; all if left out.", show_default=False)] = None,
) -> None:
    """Load checkpoints and check them against their own figures."""
    from laya import checkpoints
    from laya.studies.verification import verify

    names = [name] if name else [entry.name for entry in checkpoints.available()]
    if not names:
        raise LayaError("There are no checkpoints to verify; make one with: python -m laya train --help")
    failed = []
    for each in names:
        with progress_bar() as on_progress:
            checks = verify(each, on_progress=on_progress)
        for check in checks:
            mark = {True: "ok", False: "FAILED", None: "skipped"}[check.passed]
            typer.echo(f"{Path(each).name}: {mark}: {check.text}")
        if any(check.passed is False for check in checks):
            failed.append(Path(each).name)
    if failed:
        raise LayaError(f"Not as their cards say: {', '.join(failed)}.")
