"""The arithmetic: ratios of two sides on the same model, images and machine, and the growth with depth and classes."""

import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from captum.attr import IntegratedGradients, LayerGradCam, LayerGradientXActivation, LayerIntegratedGradients
from torch import Tensor, nn

from benchmarks.timing import Row, compare, peak, seconds
from laya import checkpoints
from laya.attribution import Settings
from laya.attribution.total import layer_output, pixel_gradients, total_effects
from laya.backbones import build_backbone
from laya.checkpoints import Checkpoint
from laya.data import ImageSet, batches
from laya.device import pick_device
from laya.explanation import comparison, explain_trace
from laya.heads import build_head
from laya.inputs.preprocessing import Preprocessing, to_tensor
from laya.model import LayaClassifier, Trace
from laya.studies import profiles
from laya.studies.evaluation import BATCH
from laya.training import TrainingConfig
from laya.training.optimisation import precision

CLASSES = 21  # of the synthetic model
STEPS = 50  # of Integrated Gradients, ours and the peers'


def models() -> Iterator[Checkpoint]:
    """The shipped checkpoints, and a ViT-B/14 of random weights with a LAYA head."""
    for entry in checkpoints.available():
        if entry.problem is None:
            yield checkpoints.load(entry.name)
    yield synthetic()


def synthetic(name: str = "vit_base_patch14_dinov2") -> Checkpoint:
    """A deep backbone of random weights."""
    torch.manual_seed(0)
    device = pick_device()
    backbone = build_backbone(f"timm:{name}", {"tokens": "class+patches"})
    head = build_head("laya", backbone.widths, CLASSES, {"dim": 96})
    model = LayaClassifier(backbone, head).eval().requires_grad_(False).to(device)
    names = tuple(f"class {i}" for i in range(CLASSES))
    preprocessing = Preprocessing((224, 224), 3, (0.5,) * 3, (0.5,) * 3)
    return Checkpoint(f"random {name}", model, names, preprocessing, "", "", device, Path())


def ratios(checkpoint: Checkpoint, quick: bool) -> Iterator[Row]:
    """The rows of one model, measured as they are asked for; ``quick`` repeats less."""
    model, name = checkpoint.model, checkpoint.name
    x = pictures(checkpoint, 1)
    deep = x.shape[-1] > 64
    often = 5 if quick else 15 if deep else 60
    seldom = 1 if quick or deep else 5

    def bare() -> object:
        with torch.inference_mode():
            return model.backbone(x)

    linear = LayaClassifier(
        model.backbone, build_head("last_layer", model.backbone.widths, len(checkpoint.classes), {})
    )
    linear = linear.eval().to(checkpoint.device)

    def one_linear_head() -> object:
        with torch.inference_mode():
            return linear(x)

    def everything() -> object:
        trace = model.trace(x)
        result = explain_trace(checkpoint, trace, settings=Settings(steps=STEPS))
        return comparison.where(checkpoint, trace, result.target_name)

    def scores() -> object:
        return explain_trace(checkpoint, model.trace(x), settings=Settings(steps=STEPS))

    yield compare(
        "prediction and alpha / prediction by the same backbone with a linear head",
        *(name, lambda: model.trace(x), one_linear_head),
        repeats=often,
        target=1.03,
    )
    yield compare(
        "full explanation / bare forward pass",
        *(name, everything, bare),
        repeats=often,
        target=1.25 if deep else None,  # the other backbones run for some milliseconds, less than any head's gradients
    )
    if not checkpoint.weights:  # the synthetic model: what takes minutes is measured on the shipped ones
        return
    target = int(model(x).argmax())
    count = len(model.layers)
    some = [count // 2] if deep else list(range(count))  # a gradient stops at its layer: the middle one is the mean
    yield compare(
        f"our layer scores / Captum called layer by layer{f' (the middle one, times {count})' if deep else ''}",
        *(name, scores, lambda: layer_by_layer(model, x, target, some)),
        repeats=seldom,
        target=1 / 500,
        warm=not deep,
        factor=count / len(some),
    )
    if layer_output(model, model.backbone.layer_modules[0], x).dim() > 2:  # vectors have no Grad-CAM there
        yield compare(
            "our layer scores / Grad-CAM alone by the package grad-cam, layer by layer",
            *(name, scores, grad_cam_package(model, x, target)),
            repeats=3 if deep else seldom,
            target=None,
        )
    for what, limit, measure in (("time", 1.0, seconds), ("peak memory", 0.5, peak)):
        yield compare(
            f"Integrated Gradients at the pixels / Captum's own call: {what}",
            *(name, lambda: pixel_gradients(model, x, target, steps=STEPS), lambda: captum_pixels(model, x, target)),
            repeats=seldom,
            target=limit,
            warm=not deep,
            measure=measure,
        )
        if not deep:  # on the ViT this takes over ten minutes
            yield compare(
                f"total effects of all layers / Captum's own calls: {what}",
                name,
                lambda: total_effects(model, x, target, steps=STEPS),
                lambda: (captum_pixels(model, x, target), layer_by_layer(model, x, target, some)),
                repeats=seldom,
                target=limit,
                measure=measure,
            )
    data = labelled(checkpoint, 32 if deep else 2048)

    def profile() -> object:
        table = profiles.collect(checkpoint, data, kept=False)
        return profiles.Sums.of([table]).report()

    def bare_batches() -> None:
        size = BATCH // 16 if deep else BATCH
        for _, prepared in batches(data, checkpoint.preprocessing, size, lambda *_: None):
            with torch.inference_mode():
                model.backbone(to_tensor(prepared, checkpoint.preprocessing).to(checkpoint.device))

    yield compare(
        "profile building / bare backbone over the same batches",
        *(name, profile, bare_batches),
        repeats=1 if quick else 3 if deep else 5,
        target=1.1,
    )
    if deep:
        yield head_training(checkpoint, 3 if quick else 10)
    elif precision(TrainingConfig(""), model, checkpoint.device)._enabled:
        yield mixed_training(checkpoint, 1 if quick else 5)


def mixed_training(checkpoint: Checkpoint, repeats: int) -> Row:
    """Forward and backward pass of 512 pictures through the whole network, as it trains and in single precision."""
    model = copy.deepcopy(checkpoint.model).requires_grad_(True).train()
    x = pictures(checkpoint, 512)

    def step(mixed: bool) -> None:
        with precision(TrainingConfig("", mixed=mixed), model, checkpoint.device):
            logits = model(x)
        logits.sum().backward()

    what = "a step of end-to-end training in bfloat16 / in single precision"
    return compare(what, checkpoint.name, lambda: step(True), lambda: step(False), repeats=repeats, target=None)


def head_training(checkpoint: Checkpoint, repeats: int) -> Row:
    """One step of training a head: on hidden states from the cache, and with the frozen backbone in the loop."""
    model = checkpoint.model
    x = pictures(checkpoint, 16)
    labels = torch.randint(len(checkpoint.classes), (16,), generator=torch.Generator().manual_seed(0)).to(x.device)
    head = build_head("laya", model.backbone.widths, len(checkpoint.classes), {"dim": 96}).to(x.device)
    optimiser = torch.optim.AdamW(head.parameters(), 1e-3)
    with torch.no_grad():
        kept = model.hidden_states(x)

    def step(hidden: Sequence[Tensor]) -> None:
        optimiser.zero_grad()
        nn.functional.cross_entropy(head(hidden).logits, labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    def in_the_loop() -> None:
        with torch.no_grad():
            hidden = model.hidden_states(x)
        step(hidden)

    what = "a step of head training on cached states / with the frozen backbone in the loop"
    return compare(what, checkpoint.name, lambda: step(kept), in_the_loop, repeats=repeats, target=1 / 100)


def growth(quick: bool) -> Iterator[dict[str, Any]]:
    """Seconds of all layer scores of one image against depth L (10 classes) and classes K (12 layers), and the line."""
    for what, sizes in (("layers", (6, 12, 24, 48)), ("classes", (10, 100, 1000, 10000))):
        taken = []
        for size in sizes:
            layers, classes = (size, 10) if what == "layers" else (12, size)
            torch.manual_seed(0)
            model = LayaClassifier(
                build_backbone("mlp", {"input_shape": (1, 8, 8), "units": [384] * layers}),
                build_head("laya", (384,) * layers, classes, {"dim": 96}),
            )
            checkpoint = Checkpoint(
                "",
                model.eval().requires_grad_(False),
                tuple(f"class {i}" for i in range(classes)),
                Preprocessing((8, 8), 1),
                *("", "", torch.device("cpu"), Path()),
            )
            trace = model.trace(torch.rand(1, 1, 8, 8))

            def work(checkpoint: Checkpoint = checkpoint, trace: Trace = trace) -> object:
                return explain_trace(checkpoint, trace, settings=Settings(steps=STEPS))

            work()
            taken.append(median(seconds(work) for _ in range(3 if quick else 15)))
        slope, start = np.polyfit(sizes, taken, 1)
        errors = [abs(start + slope * size - second) / second for size, second in zip(sizes, taken, strict=True)]
        yield {
            "against": what,
            "sizes": list(sizes),
            "seconds": taken,
            "slope": float(slope),
            "intercept": float(start),
            "largest_relative_error": max(errors),
        }


def captum_pixels(model: LayaClassifier, x: Tensor, target: int) -> object:
    """What a person would write with Captum for the pixels."""
    return IntegratedGradients(model).attribute(x, target=target, n_steps=STEPS)


def layer_by_layer(model: LayaClassifier, x: Tensor, target: int, layers: Sequence[int]) -> object:
    """What a person would write with Captum: LayerIntegratedGradients and LayerGradCam for each layer in turn."""
    found = []
    for layer in (model.backbone.layer_modules[i] for i in layers):
        found.append(LayerIntegratedGradients(model, layer).attribute(x, target=target, n_steps=STEPS))
        maps = layer_output(model, layer, x).dim() == 4
        method = LayerGradCam if maps else LayerGradientXActivation  # Captum's Grad-CAM takes maps alone
        found.append(method(model, layer).attribute(x, target=target))
    return found


def grad_cam_package(model: LayaClassifier, x: Tensor, target: int) -> Callable[[], object]:
    """The same of the package grad-cam, Grad-CAM alone; for layers with places."""
    from pytorch_grad_cam import GradCAM  # here, because only who measures needs it: pip install -e '.[bench]'
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    def places(activation: Tensor) -> Tensor:
        if activation.dim() == 4:
            return activation
        rows, columns = model.backbone.grid((x.shape[2], x.shape[3]))
        return activation[:, -rows * columns :].transpose(1, 2).reshape(len(activation), -1, rows, columns)

    def work() -> object:
        found = []
        for layer in model.backbone.layer_modules:
            with GradCAM(model, [layer], reshape_transform=places) as method:
                found.append(method(x.clone().requires_grad_(), [ClassifierOutputTarget(target)]))
        return found

    return work


def pictures(checkpoint: Checkpoint, count: int) -> Tensor:
    """Random input (count, C, H, W)."""
    shape = (count, checkpoint.preprocessing.channels, *checkpoint.preprocessing.size)
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(checkpoint.device)


def labelled(checkpoint: Checkpoint, count: int) -> ImageSet:
    """Random pictures of the model's own size, so that preparing them is next to nothing."""
    rng = np.random.default_rng(0)
    channels, size = checkpoint.preprocessing.channels, checkpoint.preprocessing.size
    pixels = rng.integers(0, 256, (count, *size, channels), dtype=np.uint8)
    if channels == 1:
        pixels = pixels[..., 0]
    labels = rng.integers(0, len(checkpoint.classes), count)
    return ImageSet("noise", checkpoint.classes, labels, lambda i: pixels[i], [f"picture {i}" for i in range(count)])
