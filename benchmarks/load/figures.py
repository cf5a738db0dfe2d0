"""The figures of a crowd, and their table."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.load.steps import Outcome
from laya.device import machine


def tally(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many pictures were explained, and what went wrong."""
    return {
        "explanations": sum(each.kind == "picture" for each in outcomes),
        "errors": sum(each.fault is not None for each in outcomes),
        "wrong": sum(each.wrong is not None for each in outcomes),
        "bad": [each.bad for each in outcomes if each.bad][:20],
    }


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """A crowd's figures; "quick" is everything but the total-effect runs."""
    runs = [each for each in outcomes if each.kind == "total"]
    quick = [each for each in outcomes if each.kind in ("picture", "model", "setting")]
    begin = min((each.begin for each in quick), default=0.0)
    heavy_from = min((each.begin for each in runs), default=math.inf)
    heavy_to = max((each.end for each in runs), default=math.inf)
    alone = [each for each in quick if each.end <= heavy_from]
    beside = [each for each in quick if each.end > heavy_from and each.begin < heavy_to]
    last = max((each.end for each in quick), default=0.0)
    return tally(outcomes) | {
        "answers": len(quick),
        "alone": _speed(alone, min(heavy_from, last) - begin),
        "beside_total_effects": _speed(beside, min(heavy_to, last) - heavy_from) if runs else None,
        "total_effects": [
            {"model": each.model, "seconds": round(each.seconds, 2), "finished": each.got is not None} for each in runs
        ],
    }


def _speed(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any] | None:
    """Answers a second, and how long a new picture takes: all, and model by model."""
    taken: dict[str, list[float]] = {}
    for each in outcomes:
        if each.kind == "picture":
            taken.setdefault("all", []).append(each.seconds)
            taken.setdefault(each.model, []).append(each.seconds)
    if not taken or seconds <= 0:
        return None
    spread = {
        name: dict(zip(("median", "p95"), np.quantile(values, (0.5, 0.95)).round(3).tolist(), strict=True))
        for name, values in taken.items()
    }
    return {"answers_a_second": round(len(outcomes) / seconds, 3), "seconds": spread}


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """The levels as a table."""
    found = Table("users", "explained", "answers/s", "median s", "p95 s", title=machine())
    for name in ("beside: answers/s", "median s", "p95 s", "total effects, s", "errors", "wrong", "CPU s/answer", "MB"):
        found.add_column(name)
    for row in rows:
        cells = [str(row["users"]), f"{row['explanations']} of {row['planned']}"]
        for speed in (row["alone"], row["beside_total_effects"]):
            every = speed and speed["seconds"]["all"]
            cells += [f"{v:.2f}" for v in (speed["answers_a_second"], *every.values())] if speed else ["-"] * 3
        runs = [f"{'' if each['finished'] else 'over '}{each['seconds']:.0f}" for each in row["total_effects"]]
        cells.append(", ".join(runs) or "-")
        cells += [str(row["errors"]), str(row["wrong"]), f"{row['cpu_seconds'] / max(1, row['answers']):.2f}"]
        found.add_row(*cells, " to ".join(f"{mb:.0f}" for mb in row["memory_mb"].values()))
    return found
