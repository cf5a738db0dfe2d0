"""One image in, one :class:`Explanation` out: the only thing that pages and the command line show."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from laya.attribution import ATTRIBUTIONS, LEAVE_ONE_OUT, Settings, baseline_logits
from laya.checkpoints import Card, Checkpoint
from laya.device import within_memory
from laya.errors import LayaError, unknown
from laya.explanation.faithfulness import coarseness, deletion_at_1, spearman, verdict
from laya.explanation.headline import headline, noun
from laya.inputs import images
from laya.inputs.preprocessing import prepare, to_tensor
from laya.model import Trace, evaluating
from laya.scores import LayerScores


@dataclass(frozen=True)
class Faithfulness:
    """How well one method's layer scores fit the measured effects on one image."""

    spearman: float | None  # [-1, 1]; None where scores or effects are constant and no rank exists
    deletion_at_1: float  # [-1, 1]; drop of the target's probability without the top-ranked layer


@dataclass(frozen=True)
class Seconds:
    """Wall-clock time."""

    forward: float  # the one forward pass through backbone and head
    attribution: float  # all methods, effects and measures
    total: float


@dataclass(frozen=True)
class Explanation:
    """Everything that is shown about one image, as plain values: ``dataclasses.asdict`` gives lossless JSON.

    Attributes
    ----------
    model : the checkpoint's name.
    weights : SHA-256 of its weights.
    settings : what was set; ``tau`` is the value that was used.
    layers : L names, shallow to deep.
    classes : K names in label order.
    probabilities : K, in label order.
    target : the explained class, an index into ``classes``.
    attributions : method id to L scores.
    effect : L drops of the target's probability when a layer is removed.
    faithfulness : method id to its agreement with ``effect``.
    completeness_error : absolute difference of the target's logit to bias plus contributions.
    path_error : relative difference of the sum of Integrated Gradients to what it should sum to.
    seconds : how long it took.
    card : what the checkpoint's card says of the methods; None where it has none, or was measured with other settings.
    """

    model: str
    weights: str
    settings: Settings
    layers: tuple[str, ...]
    classes: tuple[str, ...]
    probabilities: tuple[float, ...]
    target: int
    attributions: dict[str, tuple[float, ...]]
    effect: tuple[float, ...]
    faithfulness: dict[str, Faithfulness]
    completeness_error: float
    path_error: float
    seconds: Seconds
    card: Card | None = None

    @property
    def target_name(self) -> str:
        """The explained class."""
        return self.classes[self.target]

    @property
    def predictions(self) -> list[tuple[str, float]]:
        """All classes with their probabilities, most likely first."""
        return sorted(zip(self.classes, self.probabilities, strict=True), key=lambda pair: -pair[1])

    @property
    def scores(self) -> list[LayerScores]:
        """The attributions with all that a chart needs to draw them, in the order of the registry."""
        return [ATTRIBUTIONS[method].scores(values) for method, values in self.attributions.items()]

    @property
    def measured(self) -> LayerScores:
        """The leave-one-out effects with all that a chart needs to draw them."""
        return LEAVE_ONE_OUT.scores(self.effect)

    def to_dict(self) -> dict[str, Any]:
        """The object that ``python -m laya explain --json`` prints."""
        return {
            "model": self.model,
            "target": self.target_name,
            "layers": list(self.layers),
            "predictions": [{"class": name, "probability": p} for name, p in self.predictions],
            "attributions": {method: list(scores) for method, scores in self.attributions.items()},
            "leave_one_out": {"mode": self.settings.removal, "effect": list(self.effect)},
            "faithfulness": {method: asdict(value) for method, value in self.faithfulness.items()},
            "completeness_error": self.completeness_error,
            "seconds": asdict(self.seconds),
            "summary": self.summary(),
            "trust": self._trust(),
            "note": coarseness(len(self.layers)),
        }

    def _trust(self) -> dict[str, Any] | None:
        """The figures on the card, with what they say of each method."""
        if self.card is None:
            return None
        known = {
            method: self.card.faithfulness[method] for method in self.attributions if method in self.card.faithfulness
        }
        return {
            "split": self.card.split,
            "methods": {method: {"verdict": verdict(each), **asdict(each)} for method, each in known.items()},
        }

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON text; numbers that are none cannot occur in it."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def summary(self) -> str:
        """One or two sentences in plain words: where the weight lies, and whether that layer really matters."""
        return headline(self.layers, self.scores, self.effect, self.target_name, self.card)

    def trust(self) -> str | None:
        """Whether the model's own word can be believed, in a phrase; None where its card does not say."""
        leader = self.scores[0]
        known = None if self.card is None else self.card.faithfulness.get(leader.method)
        if self.card is None or known is None or (found := verdict(known)) is None:
            return None
        return f"{noun(leader).capitalize()}: {found} on {self.card.images} ({known.mean:.2f})"


def explain(
    checkpoint: Checkpoint,
    image: bytes | str | Path | Image.Image,
    *,
    target: str | None = None,
    settings: Settings | None = None,
    recipe: bool = True,
) -> Explanation:
    """Predict an image and explain the prediction over the layers.

    Parameters
    ----------
    checkpoint : from :func:`laya.load`.
    image : an image file's bytes or path, or a PIL image.
    target : the class to explain; None is the predicted one.
    settings : temperature, meaning of "removed", integration steps.
    recipe : apply the data set's own preparation to the picture.

    Raises
    ------
    LayaError
        The image cannot be read, the class is unknown, or a setting is out of range.

    Examples
    --------
    >>> checkpoint = laya.load("fashion-mnist-mlp")
    >>> laya.explain(checkpoint, "boot.png").attributions["alpha"]
    """
    prepared = prepare_image(checkpoint, image, recipe=recipe)
    begin = time.perf_counter()
    trace = trace_image(checkpoint, prepared)
    return explain_trace(
        checkpoint, trace, target=target, settings=settings, forward_seconds=time.perf_counter() - begin
    )


def prepare_image(
    checkpoint: Checkpoint, image: bytes | str | Path | Image.Image, *, recipe: bool = True
) -> Image.Image:
    """What the checkpoint's model sees of an image; for parameters and errors see :func:`explain`."""
    if isinstance(image, (str, Path)):
        image = images.read_bytes(Path(image))
    picture = images.read(image).image if isinstance(image, bytes) else images.upright(image)
    return prepare(picture, checkpoint.preprocessing, recipe=recipe).image


def trace_image(checkpoint: Checkpoint, prepared: Image.Image) -> Trace:
    """The one forward pass that everything about an image is worked out from."""
    x = to_tensor([prepared], checkpoint.preprocessing)
    return checkpoint.model.trace(x.to(checkpoint.device))


@within_memory()
def explain_trace(
    checkpoint: Checkpoint,
    trace: Trace,
    *,
    target: str | None = None,
    settings: Settings | None = None,
    forward_seconds: float = 0.0,
) -> Explanation:
    """Explain a traced image (B = 1); the backbone does not run again, whatever is asked.

    Parameters
    ----------
    trace : from :func:`trace_image`, at the checkpoint's own temperature.
    forward_seconds : how long the trace took, for the record.

    Raises
    ------
    LayaError
        The class is unknown, or the head has no layer weights to renormalise.
    """
    settings = settings or Settings()
    begin = time.perf_counter()
    model = checkpoint.model
    if settings.tau is not None:
        trace = model.at_temperature(trace, settings.tau)
    if not trace.logits.isfinite().all():
        raise LayaError(f"The model {checkpoint.name!r} gives values that are not numbers for this image.")
    # The card's figures are of the model's own temperature and the default removal, and say nothing of others.
    as_measured = settings.removal == Settings.removal and trace.head.tau == model.head.tau
    probabilities = trace.logits.double().softmax(-1)[0]
    index = int(probabilities.argmax()) if target is None else _index(checkpoint, target)
    chosen = torch.tensor([index], device=trace.logits.device)

    with evaluating(model.head):  # the backbone does not run
        scores = {
            method.id: _row(method.compute(model, trace, chosen, settings))
            for method in ATTRIBUTIONS.values()
            if model.head.attends or not method.needs_weights
        }
        effect = _row(LEAVE_ONE_OUT.compute(model, trace, chosen, settings))
        with torch.no_grad():
            rise = float((trace.logits - baseline_logits(model, trace))[0, index])
    rebuilt = float(model.head.bias[index]) + sum(scores["contribution"])
    rows, effects = np.array(list(scores.values())), np.tile(effect, (len(scores), 1))
    faithfulness = {
        method: Faithfulness(None if np.isnan(rank) else float(rank), float(deletion))
        for method, rank, deletion in zip(scores, spearman(rows, effects), deletion_at_1(rows, effects), strict=True)
    }

    seconds = time.perf_counter() - begin
    return Explanation(
        model=checkpoint.name,
        weights=checkpoint.weights,
        settings=Settings(trace.head.tau, settings.removal, settings.steps),
        layers=model.layers,
        classes=checkpoint.classes,
        probabilities=tuple(probabilities.tolist()),
        target=index,
        attributions=scores,
        effect=effect,
        faithfulness=faithfulness,
        completeness_error=abs(float(trace.logits[0, index]) - rebuilt),
        path_error=abs(sum(scores["integrated_gradients"]) - rise) / max(abs(rise), 1e-12),
        seconds=Seconds(forward_seconds, seconds, forward_seconds + seconds),
        card=checkpoint.card if as_measured else None,
    )


def _index(checkpoint: Checkpoint, target: str) -> int:
    if target not in checkpoint.classes:
        raise unknown("class", target, checkpoint.classes)
    return checkpoint.classes.index(target)


def _row(scores: torch.Tensor) -> tuple[float, ...]:
    return tuple(scores[0].double().tolist())
