"""Train a model."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from laya.cli.output import progress_bar, say


def train(
    out: Annotated[Path, typer.Option(help="The checkpoint folder to write.")],
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings; flags go before it.")] = None,
    data: Annotated[
        str | None, typer.Option(help="A known data set's name, an image folder, or a parquet or CSV file.")
    ] = None,
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
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a picture that cannot be read, instead of leaving it out.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted training stopped.")] = False,
) -> None:
    """Train a model and write it as a checkpoint with figures and a model card."""
    from laya.recipe import run
    from laya.training.config import read_settings

    settings: dict[str, Any] = read_settings(config) if config else {}
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
    with progress_bar() as on_progress:
        run(
            *(settings, out),
            command=command,
            resume=resume,
            strict=strict,
            on_progress=on_progress,
            on_complaint=say,
        )
    typer.echo(f"The checkpoint {out.name!r} is ready: python -m laya explain IMAGE --model {shlex.quote(str(out))}")
