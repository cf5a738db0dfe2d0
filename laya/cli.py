"""The command line: results on standard output, progress on standard error, errors as one line and exit status 2."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from laya.errors import LayaError
from laya.progress import OnProgress

if TYPE_CHECKING:
    from laya.explanation import Explanation

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
)
errors = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Model = Annotated[str, typer.Option("--model", help="A checkpoint's name under checkpoints/, or its folder's path.")]
Data = Annotated[
    str,
    typer.Option("--data", help="A known data set's name, a parquet file, or an image folder with a folder a class."),
]
Removed = Annotated[str, typer.Option(help="What removing a layer means; an unknown word lists the meanings.")]


@app.callback()
def everywhere(
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option(exists=True, file_okay=False, help="A folder of checkpoints, beside ours; may be given again."),
    ] = None,
) -> None:
    """See how deep in the network an image classifier made its decision."""
    if checkpoints:
        more = [*map(str, checkpoints), os.environ.get("LAYA_CHECKPOINTS", "")]
        os.environ["LAYA_CHECKPOINTS"] = os.pathsep.join(filter(None, more))


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the checkpoints."""
    from laya import checkpoints

    entries = checkpoints.available()
    if as_json:
        fields = ("name", "title", "backbone", "head", "classes", "accuracy", "megabytes", "problem")
        _print([{field: getattr(entry, field) for field in fields} for entry in entries])
        return
    table = _table("checkpoint", "what", "classes", "accuracy", "MB")
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


@app.command()
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
    from laya import checkpoints, explanation, images
    from laya.attribution import Settings

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
    console.print(f"{name}, {probability:.1%}. {result.summary()}\n", highlight=False, markup=False)
    columns = [*result.scores, result.measured]
    table = _table("layer", *(scores.label for scores in columns))
    for i, layer in enumerate(result.layers):
        table.add_row(escape(layer), *(f"{scores.values[i]:.3f}" for scores in columns))
    ranks = [result.faithfulness[scores.method].spearman for scores in result.scores]
    table.add_section()
    table.add_row("faithfulness", *("not defined" if rank is None else f"{rank:.2f}" for rank in ranks), "")
    console.print(table)


@app.command()
def evaluate(
    model: Model,
    data: Data,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only so many images, drawn at random.")] = None,
    removed: Removed = "zero-term",
    seed: Annotated[int, typer.Option(min=0, help="Of the draw, the random control and the bootstrap.")] = 0,
    as_json: Json = False,
) -> None:
    """Measure accuracy, attention and faithfulness on a data set."""
    from laya import checkpoints, evaluation
    from laya.attribution import Settings
    from laya.datasets import open_dataset
    from laya.faithfulness import Interval

    checkpoint = checkpoints.load(model)
    skipped: list[str] = []
    with _progress() as on_progress:
        result = evaluation.evaluate(
            checkpoint,
            open_dataset(data),
            settings=Settings(removal=removed),  # type: ignore[arg-type]  # checked there
            limit=limit,
            seed=seed,
            on_progress=on_progress,
            on_skip=skipped.append,
        )
    _tell_skipped(skipped)
    if as_json:
        _print(result)
        return
    console = Console()
    console.print(
        f"{result['model']} on {result['n']:,} images: accuracy {result['accuracy']:.4f}, "
        f"macro-F1 {result['macro_f1']:.4f}\n",
        highlight=False,
        markup=False,
    )
    table = _table("layer scores", "faithfulness (Spearman)", "images with a rank", "Deletion@1", caption=removed)
    for method, row in result["faithfulness"].items():
        rank, deletion = Interval(**row["spearman"]), Interval(**row["deletion_at_1"], n=result["n"])
        table.add_row(method, str(rank), f"{rank.n:,}", str(deletion))
    console.print(table)


@app.command()
def check(data: Data, as_json: Json = False) -> None:
    """Look at every picture of a data set before training: counts, unreadable files, copies, missing classes."""
    from laya import checks

    with _progress() as on_progress:
        report = checks.check(data, on_progress=on_progress)
    if as_json:
        _print(report.to_dict() | {"complaints": report.complaints()})
        return
    parts = list(next(iter(report.classes.values())))
    table = _table("class", *parts)
    for name, counts in report.classes.items():
        table.add_row(escape(name), *(f"{counts[part]:,}" for part in parts))
    Console().print(table)
    for complaint in report.complaints() or ["Nothing to complain about."]:
        typer.echo(complaint)


@app.command()
def profile(
    model: Model,
    data: Data,
    as_json: Json = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the JSON to a file; the app reads profiles.json in the checkpoint.")
    ] = None,
) -> None:
    """Average what each layer counts, class by class; an interrupted run goes on where it stopped."""
    from laya import checkpoints, profiles
    from laya.datasets import KNOWN, open_dataset

    checkpoint, pictures = checkpoints.load(model), open_dataset(data)
    skipped: list[str] = []
    with _progress() as on_progress:
        result = profiles.build(checkpoint, pictures, on_progress=on_progress, on_skip=skipped.append)
    result |= {"data": data if data in KNOWN else pictures.name, "split": pictures.split}
    _tell_skipped(skipped)
    if out is not None:
        checkpoints.write_json(out, result, indent=None)
    if as_json:
        _print(result)
        return
    named = {"all": result["overall"]} | {name: each["all"] for name, each in result["classes"].items()}
    what = "alpha" if result["overall"]["alpha_mean"] else "contribution"
    table = _table("class", "images", *result["layers"], caption=f"mean {what}")
    for name, each in named.items():
        values = each[f"{what}_mean"]
        cells = [f"{value:.3f}" for value in values] if values else ["no samples", *[""] * (len(result["layers"]) - 1)]
        table.add_row(escape(name), f"{each['n']:,}", *cells)
    Console().print(table)


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="The checkpoint folder to write.")],
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings; flags go before it.")] = None,
    data: Annotated[str | None, typer.Option(help="A known data set's name, or an image folder.")] = None,
    backbone: Annotated[
        str | None, typer.Option(help="The backbone's name, or timm:NAME; an unknown one lists those that exist.")
    ] = None,
    pretrained: Annotated[
        bool | None, typer.Option("--pretrained/--no-pretrained", help="Begin with timm's weights, or at random.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="A safetensors file of the backbone's weights to begin with.")
    ] = None,
    frozen: Annotated[
        bool | None, typer.Option("--frozen", help="Train the head alone, on hidden states that are computed once.")
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="The output head's name; an unknown one lists those that exist.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="At most so many epochs.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything that is random.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="So many runs; the best on held-back images is kept.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted training stopped.")] = False,
) -> None:
    """Train a model and write it as a checkpoint with figures and a model card."""
    from laya import recipe

    settings: dict[str, Any] = recipe.read(config) if config else {}
    flags = {
        "data": data,
        "backbone": backbone,
        "pretrained": pretrained,
        "weights": weights,
        "frozen": frozen,
        "head": head,
        "epochs": epochs,
        "seed": seed,
        "seeds": seeds,
    }
    settings |= {name: value for name, value in flags.items() if value is not None}
    command = shlex.join(["python", "-m", "laya", *(arg for arg in sys.argv[1:] if arg != "--resume")])
    with _progress() as on_progress:
        recipe.run(*(settings, out), resume=resume, command=command, on_progress=on_progress, on_complaint=_say)
    typer.echo(f"The checkpoint {out.name!r} is ready: python -m laya explain IMAGE --model {shlex.quote(str(out))}")


@app.command()
def evidence(
    name: Annotated[str, typer.Argument(help="A checkpoint whose folder has an evidence.toml.", show_default=False)],
    row: Annotated[str | None, typer.Option(help="Measure one row of the table alone, again if need be.")] = None,
    seed: Annotated[int | None, typer.Option(help="Measure one seed alone, again if need be.")] = None,
    as_json: Json = False,
) -> None:
    """Train every head on a checkpoint's task, several seeds each, and write the table; goes on where it stopped."""
    from laya import evidence as table

    with _progress() as on_progress:
        result = table.run(name, row=row, seed=seed, on_progress=on_progress)
    if as_json:
        _print(result)
        return
    shown = _table("head", "seeds", "accuracy", "macro-F1", "difference to last_layer", "parameters", "seconds")
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


@app.command()
def verify(
    name: Annotated[str | None, typer.Argument(help="A checkpoint; all if left out.", show_default=False)] = None,
) -> None:
    """Load checkpoints and check them against their own figures."""
    from laya import checkpoints, evaluation

    names = [name] if name else [entry.name for entry in checkpoints.available()]
    if not names:
        raise LayaError("There are no checkpoints to verify; make one with: python -m laya train --help")
    failed = []
    for each in names:
        with _progress() as on_progress:
            checks = evaluation.verify(each, on_progress=on_progress)
        for check in checks:
            mark = {True: "ok", False: "FAILED", None: "skipped"}[check.passed]
            typer.echo(f"{Path(each).name}: {mark}: {check.text}")
        if any(check.passed is False for check in checks):
            failed.append(Path(each).name)
    if failed:
        raise LayaError(f"Not as their cards say: {', '.join(failed)}.")


def main() -> None:
    """Run the command line; a mistake ends with one line on standard error and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may hold bytes that are no text
    try:
        app(prog_name="python -m laya", standalone_mode=False)
    except LayaError as error:
        _fail(str(error))
    except typer.TyperException as error:  # a wrong option or argument
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "python -m laya"
        _fail(f"{getattr(error, 'format_message', error.__str__)().rstrip('.')}; see {command} --help")
    except (KeyboardInterrupt, typer.Abort):
        _fail("Stopped.", status=130)
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:  # the disk is full, a folder may not be entered, ...
        _fail(f"{error.strerror or error}; check the file, the folder and its permissions.")


def _fail(message: str, status: int = 2) -> None:
    print(f"laya: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(status)


def _tell_skipped(skipped: list[str]) -> None:
    for source in skipped:
        _say(f"skipped {source}")
    if skipped:
        _say(f"{len(skipped)} unreadable files were left out.")


def _say(text: str) -> None:
    errors.print(text, highlight=False, markup=False)


def _print(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _write_explanation(file: Path, result: "Explanation") -> None:
    from laya import checkpoints, plots

    if file.suffix == ".json":
        checkpoints.write(file, (result.to_json() + "\n").encode())
    else:
        chart = plots.depth_chart(result.layers, result.scores, result.measured, title=result.summary())
        checkpoints.write(file, chart.to_html(include_plotlyjs=True).encode())


def _spread(value: dict[str, float | None]) -> str:
    return f"{value['mean']:.4f}" + ("" if value["std"] is None else f" ± {value['std']:.4f}")


def _difference(value: dict[str, float | None]) -> str:
    interval = "" if value["low"] is None else f" [{value['low']:+.4f}, {value['high']:+.4f}]"
    return f"{value['mean']:+.4f}{interval}"


def _table(*columns: str, caption: str | None = None) -> Table:
    table = Table(caption=caption)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


@contextmanager
def _progress() -> Iterator[OnProgress]:
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
