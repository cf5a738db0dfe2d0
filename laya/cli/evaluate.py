"""Measure a checkpoint on a data set."""

from typing import Annotated

import typer
from rich.console import Console

from laya.cli.options import Data, Json, Model, Removed
from laya.cli.output import make_table, print_json, progress_bar, say, tell_skipped


def evaluate(
    model: Model,
    data: Data,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only so many images, drawn at random.")] = None,
    removed: Removed = "zero-term",
    seed: Annotated[int, typer.Option(min=0, help="Of the draw, the random control and the bootstrap.")] = 0,
    as_json: Json = False,
) -> None:
    """Measure accuracy, attention and faithfulness on a data set."""
    from laya import checkpoints
    from laya.attribution import Settings
    from laya.data import open_dataset
    from laya.intervals import Interval
    from laya.studies.evaluation import evaluate

    checkpoint, pictures = checkpoints.load(model), open_dataset(data)
    for note in pictures.notes:
        say(note)
    skipped: list[str] = []
    with progress_bar() as on_progress:
        result = evaluate(
            checkpoint,
            pictures,
            settings=Settings(removal=removed),  # type: ignore[arg-type]  # checked there
            limit=limit,
            seed=seed,
            on_progress=on_progress,
            on_skip=skipped.append,
        )
    tell_skipped(skipped)
    if result["missing_classes"]:
        say(
            f"There are no pictures of {', '.join(result['missing_classes'])}; macro-F1 is over the classes that occur."
        )
    if as_json:
        print_json(result)
        return
    console = Console()
    console.print(
        f"{result['model']} on {result['n']:,} images: accuracy {result['accuracy']:.4f}, "
        f"macro-F1 {result['macro_f1']:.4f}\n",
        highlight=False,
        markup=False,
    )
    table = make_table("layer scores", "faithfulness (Spearman)", "images with a rank", "Deletion@1", caption=removed)
    for method, row in result["faithfulness"].items():
        rank, deletion = Interval(**row["spearman"]), Interval(**row["deletion_at_1"], n=result["n"])
        table.add_row(method, str(rank), f"{rank.n:,}", str(deletion))
    console.print(table)
    if result["note"]:
        console.print(result["note"], highlight=False)
