"""The whole report of a data set."""

from collections.abc import Callable
from typing import Any

from laya.checkpoints import Checkpoint
from laya.data import ImageSet
from laya.progress import OnProgress, silent
from laya.studies.profiles.outliers import outliers
from laya.studies.profiles.sums import Sums
from laya.studies.profiles.table import collect


def build(
    checkpoint: Checkpoint,
    data: ImageSet,
    *,
    kept: bool = True,
    cached: bool = False,
    on_progress: OnProgress = silent,
    on_skip: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The object that ``python -m laya profile --json`` prints; for the parameters see :func:`collect`."""
    table = collect(checkpoint, data, kept=kept, cached=cached, on_progress=on_progress, on_skip=on_skip)
    sums = Sums.of([table])
    result = {"model": checkpoint.name, **sums.report(), "outliers": outliers(table, sums)}
    return result | {"skipped": len(table.values) - result["n"], "weights_sha256": checkpoint.weights}
