"""One row of figures a picture, made in one pass and resumable."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from laya.checkpoints import Checkpoint
from laya.data import ImageSet
from laya.data.rows import Rows, read
from laya.errors import LayaError
from laya.files import cache
from laya.intervals import Floats
from laya.progress import OnProgress, silent
from laya.studies.evaluation import traces

CHUNK = 4096  # rows that are summed at once


@dataclass(frozen=True)
class Table:
    """One row of figures a picture; N pictures, L layers.

    Attributes
    ----------
    data : whose pictures these are, in the checkpoint's class order.
    values : (N, 2 + 3 L): predicted class, its probability, alpha, contribution to the true class, contribution to the
        predicted class. A row of NaN is a picture that could not be read; alpha is NaN where a head has no weights.
    layers : L names.
    """

    data: ImageSet
    values: NDArray[np.float32]
    layers: tuple[str, ...]

    def chunks(self) -> Iterator[tuple[np.ndarray, Floats]]:
        """Indices (n,) and float64 rows (n, 2 + 3 L) of the pictures that could be read, some at a time."""
        for start in range(0, len(self.values), CHUNK):
            block = np.asarray(self.values[start : start + CHUNK], dtype=np.float64)
            readable = ~np.isnan(block[:, 0])
            yield start + np.flatnonzero(readable), block[readable]


def collect(
    checkpoint: Checkpoint,
    data: ImageSet,
    *,
    kept: bool = True,
    cached: bool = False,
    on_progress: OnProgress = silent,
    on_skip: Callable[[str], None] = lambda _: None,
) -> Table:
    """Run a checkpoint over labelled pictures.

    Parameters
    ----------
    data : classes are matched by name; some may have no pictures.
    kept : keep the rows in the cache while they are made, so that an interrupted run goes on; False for the pictures
        of a visitor, of whom nothing may be left.
    cached : read the backbone's hidden states from the cache (:mod:`laya.training.hidden_states`).
    on_skip : told what could not be read; such pictures are left out.

    Raises
    ------
    LayaError
        The data has a class that the checkpoint does not know, or no picture can be read.
    """
    data = data.matched_to(checkpoint.classes, partly=True)
    layers = checkpoint.model.layers
    shape = (len(data), 2 + 3 * len(layers))
    if not kept:
        values = np.full(shape, np.nan, dtype=np.float32)
        for indices, block in _measured(checkpoint, data, 0, cached, on_progress, on_skip):
            values[indices] = block
    else:
        file = cache() / "profiles" / f"{_key(checkpoint, data)}.npy"
        if not file.exists():
            table = Rows(file, shape)
            for indices, block in _measured(checkpoint, data, table.done, cached, on_progress, on_skip):
                table.array[table.done : indices[-1] + 1] = np.nan
                table.array[indices] = block
                table.advance(int(indices[-1]) + 1)
            table.array[table.done :] = np.nan
            table.finish()
        values = read(file)
    if np.isnan(values[:, 0]).all():
        raise LayaError(f"None of the {len(data)} pictures can be read.")
    return Table(data, values, layers)


def _measured(
    checkpoint: Checkpoint,
    data: ImageSet,
    begin: int,
    cached: bool,
    on_progress: OnProgress,
    on_skip: Callable[[str], None],
) -> Iterator[tuple[np.ndarray, NDArray[np.float32]]]:
    """Indices (b,) and rows (b, 2 + 3 L) from picture ``begin`` on."""
    model = checkpoint.model
    rest = data.subset(np.arange(begin, len(data))) if begin else data

    def tell(what: str, done: int, total: int) -> None:
        on_progress(what, begin + done, begin + total)

    for local, trace in traces(
        model, rest, checkpoint.preprocessing, cached=cached and not begin, on_progress=tell, on_skip=on_skip
    ):
        if not trace.logits.isfinite().all():
            raise LayaError("The model gives values that are not numbers.")
        confidence, predicted = trace.probabilities.max(-1)
        truth = torch.from_numpy(rest.labels[local]).to(predicted.device)
        with torch.no_grad():
            terms = model.head.terms(trace.head)  # (b, L, K)
        picture = torch.arange(len(predicted), device=predicted.device)
        alpha = torch.full(terms.shape[:2], torch.nan) if trace.alpha is None else trace.alpha
        parts = (
            *(predicted.unsqueeze(1), confidence.unsqueeze(1), alpha),
            *(terms[picture, :, truth], terms[picture, :, predicted]),
        )
        yield begin + local, torch.cat([part.float().cpu() for part in parts], dim=1).numpy()


def _key(checkpoint: Checkpoint, data: ImageSet) -> str:
    labels = hashlib.sha256(data.labels.astype("<i8").tobytes()).hexdigest()
    parts = [checkpoint.identity, data.digest(), labels, torch.__version__]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
