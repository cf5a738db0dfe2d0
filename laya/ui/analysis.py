"""From a chosen image to its explanation, doing again only what has changed."""

import hashlib
import io
import time
from dataclasses import dataclass

from PIL import Image

from laya.attribution import Settings
from laya.attribution.total import TotalEffects, pixel_gradients, total_effects
from laya.checkpoints import Checkpoint
from laya.explanation import Explanation, explain_trace, trace_image
from laya.inputs import images
from laya.inputs.images import Picture
from laya.inputs.preprocessing import Prepared, prepare, to_tensor
from laya.model import Trace
from laya.progress import OnProgress
from laya.ui.cache import keep
from laya.ui.picker import Choice

__all__ = [
    "Analysis",
    "Settings",
    "Trace",
    "analyse",
    "analyse_picture",
    "explanation_of",
    "pixels_of",
    "predicted",
    "total_effects_of",
    "trace_at",
]

SHOWN = 640  # longest edge, in pixels, of a picture that is sent to the browser


@dataclass(frozen=True)
class Analysis:
    """An image on its way through the model, before any question is asked."""

    key: str  # of image, preparation and checkpoint; whatever belongs to this image carries it
    picture: Picture
    prepared: Prepared
    trace: Trace
    seconds: float  # of the forward pass
    thumbnails: tuple[bytes, bytes]  # the picture, as PNG or JPEG, and what the model sees, as PNG


def analyse(checkpoint: Checkpoint, choice: Choice, *, recipe: bool, slot: str = "analysis") -> Analysis:
    """Decode, prepare and run the model once; kept for this session until one of them changes.

    Parameters
    ----------
    slot : what is kept together; another image beside the first needs another.

    Raises
    ------
    LayaError
        The image cannot be used.
    """
    digest = hashlib.sha256(choice.data).hexdigest()
    key = f"{digest}-{checkpoint.name}-{checkpoint.identity}-{recipe}"

    def build() -> Analysis:
        picture = keep(f"{slot}-picture", digest, lambda: images.read(choice.data))
        return _run(checkpoint, picture, key, recipe=recipe)

    return keep(slot, key, build)


def analyse_picture(checkpoint: Checkpoint, image: Image.Image, key: str, *, recipe: bool) -> Analysis:
    """The same for a changed copy of an image; ``key`` says which image and which change."""
    return keep("changed", key, lambda: _run(checkpoint, Picture(image), key, recipe=recipe))


def _run(checkpoint: Checkpoint, picture: Picture, key: str, *, recipe: bool) -> Analysis:
    prepared = prepare(picture.image, checkpoint.preprocessing, recipe=recipe)
    begin = time.perf_counter()
    trace = trace_image(checkpoint, prepared.image)
    seconds = time.perf_counter() - begin
    thumbnails = (_thumbnail(picture.image, exact=False), _thumbnail(prepared.image, exact=True))
    return Analysis(key, picture, prepared, trace, seconds, thumbnails)


def predicted(checkpoint: Checkpoint, analysis: Analysis) -> str:
    """The class that the model predicts at its own temperature."""
    return checkpoint.classes[int(analysis.trace.logits[0].argmax())]


def trace_at(checkpoint: Checkpoint, analysis: Analysis, settings: Settings) -> Trace:
    """The image's trace at the temperature that is set; the backbone does not run again."""
    tau = settings.tau
    if tau is None:
        return analysis.trace
    return keep("trace", (analysis.key, tau), lambda: checkpoint.model.at_temperature(analysis.trace, tau))


def explanation_of(
    checkpoint: Checkpoint, analysis: Analysis, target: str | None, settings: Settings, *, slot: str = "explanation"
) -> Explanation:
    """Explain an analysed image; kept for this session until the question changes."""
    return keep(
        slot,
        (analysis.key, target, settings),
        lambda: explain_trace(
            checkpoint, analysis.trace, target=target, settings=settings, forward_seconds=analysis.seconds
        ),
    )


def total_effects_of(
    checkpoint: Checkpoint, analysis: Analysis, target: int, steps: int, on_progress: OnProgress
) -> TotalEffects:
    """Captum through the whole network for an analysed image."""
    x = to_tensor([analysis.prepared.image], checkpoint.preprocessing).to(checkpoint.device)
    return total_effects(checkpoint.model, x, target, steps=steps, on_progress=on_progress)


def pixels_of(checkpoint: Checkpoint, analysis: Analysis, target: int, settings: Settings) -> list[list[float]]:
    """Captum's Integrated Gradients at the pixels of an analysed image: rows of signed values."""
    x = to_tensor([analysis.prepared.image], checkpoint.preprocessing).to(checkpoint.device)
    values: list[list[float]] = pixel_gradients(
        checkpoint.model, x, target, steps=settings.steps, tau=settings.tau
    ).tolist()
    return values


def _thumbnail(image: Image.Image, *, exact: bool) -> bytes:
    """A picture for the browser: a large one made small, a tiny one enlarged with its pixels kept square.

    PNG where it is tiny or must be ``exact``; a photograph as JPEG is a tenth as long and sooner there.
    """
    stream = io.BytesIO()
    tiny = max(image.size) < SHOWN // 2
    if tiny:
        factor = SHOWN // 2 // max(image.size)
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    else:
        image = image.copy()
        image.thumbnail((SHOWN, SHOWN))
    if tiny or exact:
        image.save(stream, "PNG", compress_level=1)
    else:
        image.save(stream, "JPEG", quality=90)
    return stream.getvalue()
