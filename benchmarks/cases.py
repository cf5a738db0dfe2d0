"""What is measured. Every case gives a ratio of two sides on the same model, images and machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch
from captum.attr import IntegratedGradients, LayerGradCam, LayerGradientXActivation, LayerIntegratedGradients
from torch import Tensor, nn

from benchmarks.timing import Ratio, compare, seconds
from laya import checkpoints, comparison, datasets, images, profiles
from laya.attribution import Settings
from laya.attribution.total import pixel_gradients
from laya.backbones import build_backbone
from laya.checkpoints import Checkpoint
from laya.datasets import ImageSet
from laya.evaluation import BATCH
from laya.explanation import explain_trace
from laya.heads import build_head
from laya.images import Preprocessing
from laya.model import LayaClassifier, Trace

CLASSES = 21  # of the synthetic model
STEPS = 50  # of Integrated Gradients, ours and Captum's


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Attributes
    ----------
    name : what is compared with what.
    model : on which model.
    target : the limit for the ratio.
    at_least : the ratio is to be above the limit, not below.
    run : measures it; ``quick`` takes fewer repetitions.
    """

    name: str
    model: str
    target: float
    at_least: bool
    run: Callable[[bool], Ratio]


def models() -> Iterator[Checkpoint]:
    """The shipped checkpoints, and a ViT-B/14 of random weights with a LAYA head."""
    for entry in checkpoints.available():
        if entry.problem is None:
            yield checkpoints.load(entry.name)
    yield synthetic()


def synthetic(name: str = "vit_base_patch14_dinov2") -> Checkpoint:
    """A deep backbone of random weights."""
    torch.manual_seed(0)
    backbone = build_backbone(f"timm:{name}", {"tokens": "class+patches"})
    head = build_head("laya", backbone.widths, CLASSES, {"dim": 96})
    model = LayaClassifier(backbone, head).eval().requires_grad_(False)
    names = tuple(f"class {i}" for i in range(CLASSES))
    preprocessing = Preprocessing((224, 224), 3, (0.5,) * 3, (0.5,) * 3)
    return Checkpoint(f"random {name}", model, names, preprocessing, "", "", torch.device("cpu"), Path())


def cases(checkpoint: Checkpoint) -> Iterator[Case]:
    """The table's lines for one model."""
    model, name = checkpoint.model, checkpoint.name
    x = pictures(checkpoint, 1)
    deep = x.shape[-1] > 64
    repeats = 15 if deep else 60

    def bare() -> object:
        with torch.inference_mode():
            return model.backbone(x)

    linear = LayaClassifier(
        model.backbone, build_head("last_layer", model.backbone.widths, len(checkpoint.classes), {})
    ).eval()

    def one_linear_head() -> object:
        with torch.inference_mode():
            return linear(x)

    def predict() -> object:
        return model.trace(x)

    def everything() -> object:
        trace = model.trace(x)
        result = explain_trace(checkpoint, trace, settings=Settings(steps=STEPS))
        return comparison.where(checkpoint, trace, result.target_name)

    yield Case(
        "prediction and alpha / prediction with a linear head",
        name,
        1.03,
        False,
        lambda quick: compare(predict, one_linear_head, repeats=5 if quick else repeats),
    )
    yield Case(
        "full explanation / bare forward pass",
        name,
        1.25,
        False,
        lambda quick: compare(everything, bare, repeats=5 if quick else repeats),
    )
    if not checkpoint.weights:  # the synthetic model: what takes minutes is measured on the shipped ones
        return
    target = int(model(x).argmax())
    layers = list(range(len(model.layers)))
    some = [0, len(layers) // 2, len(layers) - 1] if deep else layers  # the others cost as much; all would take minutes
    yield Case(
        f"Captum layer by layer ({len(some)} layers, times {len(layers) / len(some):g}) / our layer scores",
        name,
        500,
        True,
        lambda quick: scaled(
            compare(
                lambda: layer_by_layer(model, x, target, some),
                lambda: scores(checkpoint, x),
                repeats=1 if quick or deep else 5,
                warm=not deep,
            ),
            len(layers) / len(some),
        ),
    )
    data = labelled(checkpoint, 64 if deep else 2048)

    def profile() -> object:
        table = profiles.collect(checkpoint, data, kept=False)
        return profiles.Sums.of([table]).report()

    def batches() -> None:
        size = BATCH // 16 if deep else BATCH
        for _, prepared in datasets.batches(data, checkpoint.preprocessing, size, lambda *_: None):
            with torch.inference_mode():
                model.backbone(images.to_tensor(prepared, checkpoint.preprocessing))

    yield Case(
        "Integrated Gradients at the pixels / Captum's own call",
        *(name, 1.0, False),
        lambda quick: compare(
            lambda: pixel_gradients(model, x, target, steps=STEPS),
            lambda: IntegratedGradients(model).attribute(x, target=target, n_steps=STEPS),
            repeats=1 if quick or deep else 5,
            warm=not deep,
        ),
    )
    if deep:
        yield head_training(checkpoint)
    yield Case(
        "profile building / bare backbone over the same batches",
        name,
        1.1,
        False,
        lambda quick: compare(profile, batches, repeats=1 if quick else 3 if deep else 5),
    )


def head_training(checkpoint: Checkpoint) -> Case:
    """One step of training a head: with the frozen backbone in the loop, and on hidden states from the cache."""
    model = checkpoint.model
    x = pictures(checkpoint, 16)
    labels = torch.randint(len(checkpoint.classes), (16,), generator=torch.Generator().manual_seed(0))
    head = build_head("laya", model.backbone.widths, len(checkpoint.classes), {"dim": 96})
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

    return Case(
        "head training with the backbone in the loop / on cached states",
        *(checkpoint.name, 100, True),
        lambda quick: compare(in_the_loop, lambda: step(kept), repeats=3 if quick else 10),
    )


def growth(quick: bool) -> Iterator[tuple[str, list[int], list[float]]]:
    """Seconds of all layer scores of one image against depth L (10 classes) and classes K (12 layers)."""
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
        yield what, list(sizes), taken


def scores(checkpoint: Checkpoint, x: Tensor) -> object:
    """Integrated Gradients and Grad-CAM of every layer, with the forward pass that they need."""
    return explain_trace(checkpoint, checkpoint.model.trace(x), settings=Settings(steps=STEPS))


def layer_by_layer(model: LayaClassifier, x: Tensor, target: int, layers: Sequence[int]) -> object:
    """What a person would write with Captum: LayerIntegratedGradients and LayerGradCam for each layer in turn."""
    found = []
    modules = model.backbone.layer_modules
    for layer in (modules[i] for i in layers):
        found.append(
            LayerIntegratedGradients(model, layer).attribute(x, target=target, n_steps=STEPS, internal_batch_size=10)
        )
        shape = activation(model, layer, x).dim()
        method = LayerGradCam if shape == 4 else LayerGradientXActivation  # Captum's Grad-CAM takes maps alone
        found.append(method(model, layer).attribute(x, target=target))
    return found


def scaled(ratio: Ratio, factor: float) -> Ratio:
    """The ratio if our side had taken ``factor`` times as long."""
    return replace(
        ratio,
        ratio=ratio.ratio * factor,
        low=ratio.low * factor,
        high=ratio.high * factor,
        ours=ratio.ours * factor,
    )


def activation(model: nn.Module, layer: nn.Module, x: Tensor) -> Tensor:
    """The layer's output for x."""
    kept: list[Tensor] = []
    hook = layer.register_forward_hook(lambda *given: kept.append(given[-1]))
    try:
        model(x)
    finally:
        hook.remove()
    return kept[0]


def pictures(checkpoint: Checkpoint, count: int) -> Tensor:
    """Random input (count, C, H, W)."""
    shape = (count, checkpoint.preprocessing.channels, *checkpoint.preprocessing.size)
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def labelled(checkpoint: Checkpoint, count: int) -> ImageSet:
    """Random pictures of the model's own size, so that preparing them is next to nothing."""
    rng = np.random.default_rng(0)
    channels, size = checkpoint.preprocessing.channels, checkpoint.preprocessing.size
    pixels = rng.integers(0, 256, (count, *size, channels), dtype=np.uint8)
    if channels == 1:
        pixels = pixels[..., 0]
    labels = rng.integers(0, len(checkpoint.classes), count)
    return ImageSet("noise", checkpoint.classes, labels, lambda i: pixels[i], [f"picture {i}" for i in range(count)])
