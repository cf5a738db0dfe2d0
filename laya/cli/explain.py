"""Predict one image and show how much each layer counted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from laya.cli.options import Json, Model, Removed
from laya.cli.output import make_table
from laya.errors import LayaError
from laya.files import write

if TYPE_CHECKING:
    from laya.explanation import Explanation


def explain(
    image: Annotated[Path, typer.Argument(help="An image file.", show_default=False)],
    model: Model,
    target: Annotated[str | None, typer.Option(help="The class to explain; the predicted one if left out.")] = None,
    tau: Annotated[float | None, typer.Option(help="Softmax temperature of the attention; the model's own.")] = None,
    removed: Removed = "zero-term",
    steps: Annotated[int, typer.Option(help="Steps of Integrated Gradients.")] = 50,
    recipe: Annotated[bool, typer.Option(help="Apply the data set's own preparation to the picture.")] = True,
    as_json: Json = False,
    out: Annotated[Path | None, typer.Option(help="Write the JSON (.json) or the chart (.html) to a file.")] = None,
) -> None:
    """Predict one image and show how much each layer counted."""
    if out is not None and out.suffix not in (".json", ".html"):
        raise LayaError(f"--out takes a file that ends in .json or .html, not {out.name!r}.")
    from laya import checkpoints
    from laya.attribution import Settings
    from laya.explanation import explanation
    from laya.explanation.faithfulness import coarseness
    from laya.inputs import images

    data = images.read_bytes(image)
    result = explanation.explain(
        checkpoints.load(model),
        data,
        target=target,
        settings=Settings(tau=tau, removal=removed, steps=steps),  # type: ignore[arg-type]  # checked there
        recipe=recipe,
    )
    if out is not None:
        _write_explanation(out, result)
    if as_json:
        typer.echo(result.to_json())
        return
    console = Console()
    name, probability = result.predictions[0]
    lines = [f"{name}, {probability:.1%}. {result.summary()}", *filter(None, [result.trust()]), ""]
    console.print(*lines, sep="\n", highlight=False, markup=False)
    columns = [*result.scores, result.measured]
    table = make_table("layer", *(scores.label for scores in columns))
    for i, layer in enumerate(result.layers):
        table.add_row(escape(layer), *(f"{scores.values[i]:.3f}" for scores in columns))
    ranks = [result.faithfulness[scores.method].spearman for scores in result.scores]
    table.add_section()
    table.add_row("faithfulness", *("not defined" if rank is None else f"{rank:.2f}" for rank in ranks), "")
    console.print(table)
    if note := coarseness(len(result.layers)):
        console.print(note, highlight=False)


def _write_explanation(file: Path, result: "Explanation") -> None:
    from laya import plots

    if file.suffix == ".json":
        write(file, (result.to_json() + "\n").encode())
    else:
        chart = plots.depth_chart(result.layers, result.scores, result.measured, title=result.summary())
        write(file, chart.to_html(include_plotlyjs=True).encode())
