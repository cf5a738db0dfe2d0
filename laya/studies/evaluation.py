"""Accuracy, attention and faithfulness of a checkpoint over a data set, in one streamed pass."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from laya.attribution import ATTRIBUTIONS, LEAVE_ONE_OUT, Settings
from laya.checkpoints import Checkpoint
from laya.data import ImageSet, batches
from laya.errors import LayaError
from laya.explanation.faithfulness import coarseness, controls, deletion_at_1, spearman
from laya.heads import Removal
from laya.inputs.preprocessing import Preprocessing, to_tensor
from laya.intervals import Floats, mean_interval
from laya.model import LayaClassifier, Trace, evaluating
from laya.progress import OnProgress, silent
from laya.training.hidden_states import hidden_states, split

BATCH = 256  # images at once; a sixteenth of it where they are larger than SMALL
SMALL = 64  # pixels


def evaluate(
    checkpoint: Checkpoint,
    data: ImageSet,
    *,
    settings: Settings | None = None,
    limit: int | None = None,
    seed: int = 0,
    cached: bool = False,
    on_progress: OnProgress = silent,
    on_skip: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure a checkpoint; the target of every explanation is the class that the model predicts.

    Parameters
    ----------
    checkpoint : the model.
    data : labelled pictures; classes are matched by name, and some may have no pictures.
    settings : temperature, meaning of "removed", integration steps.
    limit : use only so many pictures, drawn at random with ``seed``; None uses all.
    seed : of the draw, the random control and the bootstrap.
    cached : read the backbone's hidden states from the cache, and keep them there (:mod:`laya.training.hidden_states`).
    on_skip : told what could not be read; such pictures are left out.

    Returns
    -------
    The object that ``python -m laya evaluate --json`` prints. Intervals are 95 % bootstrap intervals of the mean.
    A Spearman's ``n`` counts the images for which it is defined. Macro-F1 is over the classes that occur in the data;
    ``missing_classes`` are the others.

    Raises
    ------
    LayaError
        The data has a class that the checkpoint does not know, or no picture can be read.
    """
    settings = settings or Settings()
    rng = np.random.default_rng(seed)
    data = data.matched_to(checkpoint.classes, partly=True)
    if limit is not None and limit < len(data):
        data = data.subset(np.sort(rng.permutation(len(data))[:limit]))
    seen = traces(
        checkpoint.model,
        data,
        checkpoint.preprocessing,
        tau=settings.tau,
        cached=cached,
        on_progress=on_progress,
        on_skip=on_skip,
    )
    measured = measure(checkpoint.model, seen, settings, [settings.removal])
    if not len(measured.kept):
        raise LayaError(f"None of the {len(data)} pictures can be read.")
    truth = data.labels[measured.kept]
    effect = measured.effects[settings.removal]
    table = measured.scores | controls(len(effect), len(checkpoint.model.layers), rng)
    faithfulness = {}
    for name, values in table.items():
        deletion = asdict(mean_interval(deletion_at_1(values, effect), rng))
        del deletion["n"]
        faithfulness[name] = {
            "spearman": asdict(mean_interval(spearman(values, effect), rng)),
            "deletion_at_1": deletion,
        }
    alpha = measured.scores.get("alpha")
    return {
        "model": checkpoint.name,
        "n": len(truth),
        "accuracy": float(np.mean(truth == measured.predicted)),
        "macro_f1": macro_f1(truth, measured.predicted),
        "faithfulness": faithfulness,
        "alpha_mean": None if alpha is None else alpha.mean(0).tolist(),
        "alpha_mutual_information": None if alpha is None else mutual_information(alpha),
        "layers": list(checkpoint.model.layers),
        "note": coarseness(len(checkpoint.model.layers)),
        "missing_classes": [name for index, name in enumerate(data.classes) if index not in truth],
    }


@dataclass(frozen=True)
class Measurement:
    """What a model says about N images, and what happens to them when layers are taken away.

    Attributes
    ----------
    kept : (N,), which images of the data these are.
    predicted : (N,), the predicted classes, which are also the targets.
    scores : method id to (N, L).
    effects : meaning of "removed" to leave-one-out effects (N, L).
    """

    kept: np.ndarray
    predicted: np.ndarray
    scores: dict[str, Floats]
    effects: dict[Removal, Floats]


def measure(
    model: LayaClassifier,
    traces: Iterable[tuple[np.ndarray, Trace]],
    settings: Settings,
    removals: Sequence[Removal],
) -> Measurement:
    """Work out the layer scores and effects of traced images; the target is the class that the model predicts.

    Parameters
    ----------
    traces : indices (b,) of images, with their trace.
    settings : integration steps; its meaning of "removed" is not read.
    removals : the meanings of "removed" to measure the effects in.

    Raises
    ------
    LayaError
        The model gives values that are not numbers.
    """
    methods = [m for m in ATTRIBUTIONS.values() if model.head.attends or not m.needs_weights]
    scores: dict[str, list[Floats]] = {method.id: [] for method in methods}
    effects: dict[Removal, list[Floats]] = {removal: [] for removal in removals}
    kept: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    predicted: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    with evaluating(model):
        for indices, trace in traces:
            if not trace.logits.isfinite().all():
                raise LayaError("The model gives values that are not numbers.")
            target = trace.logits.argmax(-1)
            for method in methods:
                scores[method.id].append(_numpy(method.compute(model, trace, target, settings)))
            for removal, parts in effects.items():
                asked = replace(settings, removal=removal)
                parts.append(_numpy(LEAVE_ONE_OUT.compute(model, trace, target, asked)))
            kept.append(indices)
            predicted.append(target.cpu().numpy())

    def joined(parts: list[Floats]) -> Floats:
        return np.concatenate([np.zeros((0, len(model.layers))), *parts])

    return Measurement(
        np.concatenate(kept),
        np.concatenate(predicted),
        {name: joined(parts) for name, parts in scores.items()},
        {removal: joined(parts) for removal, parts in effects.items()},
    )


def traces(
    model: LayaClassifier,
    data: ImageSet,
    preprocessing: Preprocessing,
    *,
    tau: float | None = None,
    cached: bool = False,
    on_progress: OnProgress = silent,
    on_skip: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[np.ndarray, Trace]]:
    """Run a model over pictures, a batch at a time: the batch's indices (b,) with its trace.

    With ``cached`` the backbone's hidden states come from the cache, so the traces have no activations.
    """
    device = next(model.parameters()).device
    if cached:
        rows = hidden_states(model.backbone, data, preprocessing, on_progress=on_progress)
        for start in range(0, len(rows), BATCH):
            hidden = [h.to(device) for h in split(rows[start : start + BATCH], model.backbone.widths)]
            yield np.arange(start, start + len(hidden[0])), model.trace_of(hidden, tau=tau)
            on_progress("measuring", start + len(hidden[0]), len(rows))
        return
    size = BATCH if max(preprocessing.size) <= SMALL else BATCH // 16
    seen = 0
    for indices, prepared in batches(data, preprocessing, size, on_skip):
        if prepared:
            yield indices, model.trace(to_tensor(prepared, preprocessing).to(device), tau=tau)
        seen = min(seen + size, len(data))
        on_progress("measuring", seen, len(data))


def macro_f1(truth: np.ndarray, guess: np.ndarray) -> float:
    """The mean F1 over the classes that occur in ``truth`` (N,)."""
    from sklearn.metrics import f1_score  # here, because it takes long

    return float(f1_score(truth, guess, labels=np.unique(truth), average="macro"))


def mutual_information(alpha: Floats) -> float:
    """Mutual information between input and layer, in nats: ``H(mean alpha) - mean H(alpha)``.

    In [0, log L]; 0 means that the attention is the same for every input, so it explains nothing about one of them.

    Parameters
    ----------
    alpha : (N, L), rows sum to 1.
    """

    return max(0.0, float(entropy(alpha.mean(0)) - entropy(alpha).mean()))


def entropy(alpha: Floats) -> Floats:
    """Shannon entropy of distributions over the layers (..., L), in nats: (...,)."""
    terms = np.zeros_like(alpha)
    np.log(alpha, out=terms, where=alpha > 0)
    total: Floats = -(alpha * terms).sum(-1)
    return total


def _numpy(tensor: torch.Tensor) -> Floats:
    return tensor.double().cpu().numpy()
