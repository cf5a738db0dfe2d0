"""Class-average depth profiles."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from laya.cli.options import Data, Json, Model
from laya.cli.output import make_table, print_json, progress_bar, say, tell_skipped
from laya.files import write_json


def profile(
    model: Model,
    data: Data,
    as_json: Json = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the JSON to a file; the app reads profiles.json in the checkpoint.")
    ] = None,
) -> None:
    """Average what each layer counts, class by class; an interrupted run goes on where it stopped."""
    from laya import checkpoints
    from laya.data import KNOWN, open_dataset
    from laya.studies import profiles

    checkpoint, pictures = checkpoints.load(model), open_dataset(data)
    for note in pictures.notes:
        say(note)
    skipped: list[str] = []
    with progress_bar() as on_progress:
        result = profiles.build(checkpoint, pictures, on_progress=on_progress, on_skip=skipped.append)
    result |= {"data": data if data in KNOWN else pictures.name, "split": pictures.split}
    tell_skipped(skipped)
    if out is not None:
        write_json(out, result, indent=None)
    if as_json:
        print_json(result)
        return
    named = {"all": result["overall"]} | {name: each["all"] for name, each in result["classes"].items()}
    what = "alpha" if result["overall"]["alpha_mean"] else "contribution"
    table = make_table("class", "images", *result["layers"], caption=f"mean {what}")
    for name, each in named.items():
        values = each[f"{what}_mean"]
        cells = [f"{value:.3f}" for value in values] if values else ["no samples", *[""] * (len(result["layers"]) - 1)]
        table.add_row(escape(name), f"{each['n']:,}", *cells)
    Console().print(table)
