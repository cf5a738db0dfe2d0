"""What a page is asked, the right answer, and the answer that its charts show."""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import v2

from laya import checkpoints
from laya.attribution import Settings
from laya.attribution.total import total_effects
from laya.explanation import explain_trace, prepare_image, trace_image
from laya.inputs.preprocessing import to_tensor
from laya.model import Trace

STEPS = 20  # of Integrated Gradients in a total-effect run of the page Compare
TOLERANCE = 1e-5  # relative and absolute
VARIED = v2.Compose([v2.RandomAffine(30, scale=(1.0, 1.6)), v2.ColorJitter(brightness=0.4)])

Answer = dict[str, tuple[float, ...]]
"""The numbers of a page, under the names that its charts give them."""


@dataclass(frozen=True)
class Question:
    """What a page is to show.

    Attributes
    ----------
    model : the checkpoint's name.
    picture : the model whose samples it comes from, and its number; see :func:`picture`.
    target : the explained class; None is the one that the model predicts.
    settings : temperature, meaning of "removed" and steps.
    total : ask for the total effects, too.
    """

    model: str
    picture: tuple[str, int]
    target: str | None = None
    settings: Settings = field(default_factory=Settings)
    total: bool = False


@cache
def picture(family: str, number: int) -> bytes:
    """An image file: the samples of a model first, then turned, enlarged, brighter or darker copies, all different."""
    files = sorted(checkpoints.samples(family).values())
    file = files[number % len(files)]
    if number < len(files):
        return file.read_bytes()
    with Image.open(file) as opened, torch.random.fork_rng(devices=[]):
        torch.manual_seed(number)
        image = VARIED(opened.convert("RGB"))
    stream = io.BytesIO()
    image.save(stream, "PNG" if max(image.size) < 200 else "JPEG")
    return stream.getvalue()


load = cache(checkpoints.load)


@lru_cache(4)
def traced(model: str, source: tuple[str, int]) -> tuple[torch.Tensor, Trace]:
    """The model's input for a picture, and the trace of its forward pass."""
    prepared = prepare_image(load(model), picture(*source))
    return to_tensor([prepared], load(model).preprocessing), trace_image(load(model), prepared)


@cache
def answer(question: Question) -> Answer:
    """What the library says, in this process."""
    x, trace = traced(question.model, question.picture)
    checkpoint = load(question.model)
    target = question.target or checkpoint.classes[int(trace.logits[0].argmax())]
    result = explain_trace(checkpoint, trace, target=target, settings=question.settings)
    found: Answer = {scores.label: scores.values for scores in (*result.scores, result.measured)}
    if question.total:
        total = total_effects(checkpoint.model, x, result.target, steps=STEPS)
        found |= {"LayerIntegratedGradients": total.integrated_gradients, "LayerGradCam": total.grad_cam}
    else:
        likely = dict(result.predictions[:10])
        if target not in likely:
            likely.popitem()
            likely[target] = dict(result.predictions)[target]
        found |= {f"p({name})": (value,) for name, value in likely.items()}
    return found


def shown(specs: Sequence[str]) -> Answer:
    """The numbers in Plotly charts: the raw values of layer scores, and the probabilities of classes."""
    found: Answer = {}
    for trace in (trace for spec in specs for trace in json.loads(spec)["data"]):
        if trace.get("orientation") == "h":
            values = dict(zip(_array(trace["y"]), _array(trace["x"]), strict=True))
            found |= {f"p({name})": (float(value),) for name, value in values.items()}
        elif "customdata" in trace:
            found[trace["name"]] = tuple(float(value) for _, value in _array(trace["customdata"]))
    return found


def _array(value: Any) -> list[Any]:
    """A list as it is, or as Plotly packs it; the library itself packs, and leaves unpacking to the browser."""
    if not isinstance(value, dict):
        return list(value)
    packed = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    shape = [int(side) for side in str(value["shape"]).split(",")] if "shape" in value else [-1]
    return list(packed.reshape(shape).tolist())


def difference(got: Answer, right: Answer) -> str | None:
    """How an answer differs from the right one, in words; None where it does not."""
    try:
        torch.testing.assert_close(got, right, rtol=TOLERANCE, atol=TOLERANCE)
    except AssertionError as error:
        return " ".join(str(error).split())
    return None
