"""From a chosen image to its explanation, doing again only what has changed."""

import hashlib
import io
import time
from dataclasses import dataclass

from PIL import Image

from laya import images
from laya.attribution import Settings
from laya.checkpoints import Checkpoint
from laya.explanation import Explanation, explain_trace, trace_image
from laya.images import Picture, Prepared
from laya.model import Trace
from laya.ui.picker import Choice
from laya.ui.state import keep

SHOWN = 640  # longest edge, in pixels, of a picture that is sent to the browser


@dataclass(frozen=True)
class Analysis:
    """An image on its way through the model, before any question is asked."""

    key: str  # of image, preparation and checkpoint; whatever belongs to this image carries it
    picture: Picture
    prepared: Prepared
    trace: Trace
    seconds: float  # of the forward pass
    thumbnails: tuple[bytes, bytes]  # PNG of the picture and of what the model sees


def analyse(checkpoint: Checkpoint, choice: Choice, *, recipe: bool) -> Analysis:
    """Decode, prepare and run the model once; kept for this session until one of them changes.

    Raises
    ------
    LayaError
        The image cannot be used.
    """
    digest = hashlib.sha256(choice.data).hexdigest()
    key = f"{digest}-{checkpoint.name}-{checkpoint.identity}-{recipe}"

    def build() -> Analysis:
        picture = keep("picture", digest, lambda: images.read(choice.data))
        prepared = images.prepare(picture.image, checkpoint.preprocessing, recipe=recipe)
        begin = time.perf_counter()
        trace = trace_image(checkpoint, prepared.image)
        seconds = time.perf_counter() - begin
        thumbnails = (_thumbnail(picture.image), _thumbnail(prepared.image))
        return Analysis(key, picture, prepared, trace, seconds, thumbnails)

    return keep("analysis", key, build)


def predicted(checkpoint: Checkpoint, analysis: Analysis) -> str:
    """The class that the model predicts at its own temperature."""
    return checkpoint.classes[int(analysis.trace.logits[0].argmax())]


def explanation_of(checkpoint: Checkpoint, analysis: Analysis, target: str | None, settings: Settings) -> Explanation:
    """Explain an analysed image; kept for this session until the question changes."""
    return keep(
        "explanation",
        (analysis.key, target, settings),
        lambda: explain_trace(
            checkpoint, analysis.trace, target=target, settings=settings, forward_seconds=analysis.seconds
        ),
    )


def _thumbnail(image: Image.Image) -> bytes:
    """A picture for the browser as PNG: a large one made small, a tiny one enlarged with its pixels kept square."""
    if max(image.size) < SHOWN // 2:
        factor = SHOWN // 2 // max(image.size)
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    else:
        image = image.copy()
        image.thumbnail((SHOWN, SHOWN))
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()
