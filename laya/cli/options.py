"""What several commands ask for."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Model = Annotated[str, typer.Option("--model", help="A checkpoint's name under checkpoints/, or its folder's path.")]

Data = Annotated[
    str,
    typer.Option(
        "--data", help="A known data set's name, an image folder with a folder a class, or a parquet or CSV file."
    ),
]

Removed = Annotated[str, typer.Option(help="What removing a layer means; an unknown word lists the meanings.")]
