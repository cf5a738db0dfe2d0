"""Accuracy, attention and faithfulness of a checkpoint over a data set, in one streamed pass."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score

from laya import images
from laya.attribution import ATTRIBUTIONS, LEAVE_ONE_OUT, Settings
from laya.checkpoints import Checkpoint, find, load, read_metrics
from laya.datasets import ImageSet, batches, open_dataset
from laya.errors import LayaError
from laya.faithfulness import Floats, controls, deletion_at_1, mean_interval, spearman
from laya.model import evaluating
from laya.progress import OnProgress, silent

BATCH = 256
FIGURES = ("accuracy", "macro_f1")


def evaluate(
    checkpoint: Checkpoint,
    data: ImageSet,
    *,
    settings: Settings | None = None,
    limit: int | None = None,
    seed: int = 0,
    on_progress: OnProgress = silent,
    on_skip: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure a checkpoint; the target of every explanation is the class that the model predicts.

    Parameters
    ----------
    checkpoint : the model.
    data : labelled pictures; classes are matched by name.
    settings : temperature, meaning of "removed", integration steps.
    limit : use only so many pictures, drawn at random with ``seed``; None uses all.
    seed : of the draw, the random control and the bootstrap.
    on_skip : told what could not be read; such pictures are left out.

    Returns
    -------
    The object that ``python -m laya evaluate --json`` prints. Intervals are 95 % bootstrap intervals of the mean.
    A Spearman's ``n`` counts the images for which it is defined. Macro-F1 is over the classes that occur in the data.

    Raises
    ------
    LayaError
        The classes differ from the checkpoint's, or no picture can be read.
    """
    settings = settings or Settings()
    rng = np.random.default_rng(seed)
    data = data.matched_to(checkpoint.classes)
    if limit is not None and limit < len(data):
        data = data.subset(np.sort(rng.permutation(len(data))[:limit]))
    model = checkpoint.model
    methods = [m for m in ATTRIBUTIONS.values() if model.head.attends or not m.needs_weights]
    kept: list[np.ndarray] = []
    predicted: list[np.ndarray] = []
    scores: dict[str, list[Floats]] = {method.id: [] for method in methods}
    effects: list[Floats] = []
    seen = 0
    with evaluating(model):
        for indices, prepared in batches(data, checkpoint.preprocessing, BATCH, on_skip):
            if prepared:
                x = images.to_tensor(prepared, checkpoint.preprocessing).to(checkpoint.device)
                trace = model.trace(x, tau=settings.tau)
                if not trace.logits.isfinite().all():
                    raise LayaError(f"The model {checkpoint.name!r} gives values that are not numbers.")
                target = trace.logits.argmax(-1)
                for method in methods:
                    scores[method.id].append(_numpy(method.compute(model, trace, target, settings)))
                effects.append(_numpy(LEAVE_ONE_OUT.compute(model, trace, target, settings)))
                predicted.append(target.cpu().numpy())
                kept.append(indices)
            seen = min(seen + BATCH, len(data))
            on_progress("measuring", seen, len(data))
    if not kept:
        raise LayaError(f"None of the {len(data)} pictures can be read.")

    truth, guess = data.labels[np.concatenate(kept)], np.concatenate(predicted)
    effect = np.concatenate(effects)
    table = {name: np.concatenate(parts) for name, parts in scores.items()}
    table |= controls(len(effect), len(model.layers), rng)
    faithfulness = {}
    for name, values in table.items():
        deletion = asdict(mean_interval(deletion_at_1(values, effect), rng))
        del deletion["n"]
        faithfulness[name] = {
            "spearman": asdict(mean_interval(spearman(values, effect), rng)),
            "deletion_at_1": deletion,
        }
    alpha = table.get("alpha")
    return {
        "model": checkpoint.name,
        "n": len(truth),
        "accuracy": float(accuracy_score(truth, guess)),
        "macro_f1": float(f1_score(truth, guess, labels=np.unique(truth), average="macro")),
        "faithfulness": faithfulness,
        "alpha_mean": None if alpha is None else alpha.mean(0).tolist(),
        "alpha_mutual_information": None if alpha is None else mutual_information(alpha),
        "layers": list(model.layers),
    }


@dataclass(frozen=True)
class Check:
    """One thing that was verified; ``passed`` is None where it could not be tried."""

    text: str
    passed: bool | None


def verify(name: str, *, on_progress: OnProgress = silent, tolerance: float = 2e-3) -> list[Check]:
    """Load a checkpoint and measure it again: its figures must be those of its metrics.json.

    Parameters
    ----------
    name : a checkpoint.
    tolerance : on each figure; another machine's arithmetic may turn a few images.

    Raises
    ------
    LayaError
        There is no such checkpoint. One that exists but is damaged is a failed check.
    """
    folder = find(name)
    try:
        checkpoint = load(name)
        card = read_metrics(folder)
    except LayaError as error:
        return [Check(str(error), False)]
    checks = [Check(f"loads strictly, weights {checkpoint.weights[:12]}", True)]
    try:
        stated = {name: card[name] for name in ("data", "split", *FIGURES, "alpha_mean", "faithfulness")}
    except KeyError as error:
        return [*checks, Check(f"has no metrics.json of these weights with {error} to compare with", None)]
    if stated["split"] != "test":
        text = "figures are from held-back training images, which are not told apart afterwards"
        return [*checks, Check(text, None)]
    try:
        data = open_dataset(stated["data"])
    except LayaError as error:
        return [*checks, Check(f"figures not measured again: {error}", None)]
    try:
        again = evaluate(checkpoint, data, on_progress=on_progress)
    except LayaError as error:
        return [*checks, Check(str(error), False)]
    for name in FIGURES:
        text = f"{name} {again[name]:.4f} on {again['n']:,} images, {stated[name]:.4f} on the card"
        checks.append(Check(text, abs(again[name] - stated[name]) <= tolerance))
    if stated["alpha_mean"]:
        off = max(abs(a - b) for a, b in zip(again["alpha_mean"], stated["alpha_mean"], strict=True))
        checks.append(Check(f"mean attention within {off:.1e} of the card", off <= tolerance))
    ranks = [
        (row["spearman"]["mean"], stated["faithfulness"][method]["spearman"]["mean"])
        for method, row in again["faithfulness"].items()
    ]
    off = max(abs(a - b) for a, b in ranks if a is not None and b is not None)
    checks.append(Check(f"faithfulness within {off:.1e} of the card", off <= tolerance))
    return checks


def mutual_information(alpha: Floats) -> float:
    """Mutual information between input and layer, in nats: ``H(mean alpha) - mean H(alpha)``.

    In [0, log L]; 0 means that the attention is the same for every input, so it explains nothing about one of them.

    Parameters
    ----------
    alpha : (N, L), rows sum to 1.
    """

    def entropy(p: Floats) -> Floats:
        terms = np.zeros_like(p)
        np.log(p, out=terms, where=p > 0)
        total: Floats = -(p * terms).sum(-1)
        return total

    return max(0.0, float(entropy(alpha.mean(0)) - entropy(alpha).mean()))


def _numpy(tensor: torch.Tensor) -> Floats:
    return tensor.double().cpu().numpy()
