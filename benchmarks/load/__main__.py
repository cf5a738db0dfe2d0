"""``python -m benchmarks.load``: the command."""

import json
import logging
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import torch
import typer
from rich.console import Console

from benchmarks.load.figures import table
from benchmarks.load.measurements import cold, growth, leaving, level
from benchmarks.load.steps import MIX
from laya.device import machine
from laya.files import write_json
from tests.server import serving


def main(
    users: Annotated[str, typer.Option(help="How many at once, one level after the other.")] = "1,2,4,8,16,32",
    explanations: Annotated[int, typer.Option(help="New pictures for each user.")] = 20,
    total_effects: Annotated[int, typer.Option(help="Total-effect runs beside them at each level.")] = 2,
    limit: Annotated[float, typer.Option(help="Most seconds of a level.")] = 180,
    memory: Annotated[int, typer.Option(help="Instead: memory over so many explanations in 50 sessions.")] = 0,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Instead: many arrive at once; one leaves early.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Everybody uses this model; without, all models.")] = None,
    threads: Annotated[
        int | None, typer.Option(envvar="OMP_NUM_THREADS", help="The app's; torch's own choice without.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--json", help="Write or complete a file of results.")] = None,
) -> None:
    """Many users at once on the real app: right answers, speed, memory."""
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("benchmarks").setLevel(logging.INFO)
    torch.set_num_threads(1)
    console = Console(width=160)
    found: dict[str, Any] = json.loads(out.read_text()) if out is not None and out.exists() else {}

    def keep(**results: Any) -> None:
        found.update(results)
        if out is not None:
            write_json(out, found)

    keep(machine=f"{machine()}; {os.cpu_count()} processors, the app with {threads or 'default'} threads")
    with TemporaryDirectory() as place:
        log = Path(place) / "log"
        if sessions:
            keep(cold=cold(log, 8, threads))
            console.print(found["cold"])
        with serving(log, threads=threads) as server:
            if memory:
                keep(memory=growth(server, memory, 50, limit * 10))
                console.print(found["memory"])
            elif sessions:
                keep(leaving=leaving(server))
                console.print(found["leaving"])
            else:
                rows = []
                level(server, len(MIX), 1, 0, 600, model)  # the first visitors wait for imports and models
                for count in map(int, users.split(",")):
                    rows.append(level(server, count, explanations, total_effects, limit, model))
                    keep(levels=rows)
                console.print(table(rows))


if __name__ == "__main__":
    typer.run(main)
