"""Is a checkpoint what its card says?"""

from dataclasses import dataclass

from laya.checkpoints import find, load, read_metrics
from laya.data import open_dataset
from laya.errors import LayaError
from laya.progress import OnProgress, silent
from laya.studies.evaluation import evaluate

FIGURES = ("accuracy", "macro_f1")


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
    if stated["split"] not in ("test", "val"):
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
