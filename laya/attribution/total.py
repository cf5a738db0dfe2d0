"""Total effects: Captum through the later blocks as well, one layer at a time. Slow, so only on request.

Everything else in :mod:`laya.attribution` is a direct effect, through the head alone. Captum's layer methods hook
modules while they run, and whoever else runs these modules meanwhile, runs the hooks: every run has modules of its own.
"""

from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from captum.attr import IntegratedGradients, LayerGradientXActivation, LayerIntegratedGradients
from numpy.typing import NDArray
from torch import Tensor, nn

from laya.attribution.spatial import VECTOR
from laya.attribution.target import check_target
from laya.device import within_memory
from laya.errors import LayaError
from laya.model import LayaClassifier, evaluating
from laya.progress import OnProgress, silent

SMALL = 64  # pixels
# A block may hand out more than later blocks use; the gradient of what nobody uses is 0.
UNUSED = {"allow_unused": True, "materialize_grads": True}


@dataclass(frozen=True)
class TotalEffects:
    """What Captum says about every layer of one image, through all that comes after it.

    Attributes
    ----------
    integrated_gradients : L sums of LayerIntegratedGradients, in logits, signed.
    convergence : L differences between what Integrated Gradients adds up to and what it should, in logits.
    grad_cam : L sums of Grad-CAM's map, negative places cut off at 0.
    maps : L Grad-CAM maps (H_i, W_i) before the cut; None where the layer has no places.
    pixels : (H, W), Integrated Gradients at the pixels, summed over the colours, in logits.
    empty : L; where there is no map, or one of zeros, one sentence that says why and where else to look; else None.
    """

    integrated_gradients: tuple[float, ...]
    convergence: tuple[float, ...]
    grad_cam: tuple[float, ...]
    maps: tuple[NDArray[np.float64] | None, ...]
    pixels: NDArray[np.float64]
    empty: tuple[str | None, ...]


@within_memory()
def total_effects(
    model: LayaClassifier, x: Tensor, target: int, *, steps: int = 20, on_progress: OnProgress = silent
) -> TotalEffects:
    """Run Captum on every layer of the backbone.

    Parameters
    ----------
    model : nothing of it is changed, and other threads may use it meanwhile.
    x : one image (1, C, H, W), preprocessed; the baseline of Integrated Gradients is 0, the mean colour.
    target : the index of the class to explain.
    steps : of Integrated Gradients.
    on_progress : called before every pass through the network; an exception that it raises ends the run.

    Raises
    ------
    LayaError
        The target is no class, or the backbone has no module for some layer.

    References
    ----------
    Sundararajan et al., ICML 2017 (Integrated Gradients); Selvaraju et al., ICCV 2017 (Grad-CAM).
    """
    (target,) = check_target(target, model.head.classes, len(x))
    model = _apart(model).eval()
    layers = model.backbone.layer_modules
    named = ("pixels", *model.layers)
    at = 0  # in named

    def forward(images: Tensor) -> Tensor:
        on_progress(named[at], at, len(named))
        logits: Tensor = model(images)
        return logits

    integrated, deltas = [], []
    cams, maps, empty = _grad_cams(model, forward, x, target)
    pixels = _pixel_gradients(forward, x, target, steps)
    for at, layer in enumerate(layers, start=1):  # noqa: B007  # forward tells it
        values, delta = LayerIntegratedGradients(forward, layer).attribute(
            x,
            target=target,
            n_steps=steps,
            internal_batch_size=_at_once(x),
            return_convergence_delta=True,
            grad_kwargs=UNUSED,
        )
        parts = values if isinstance(values, tuple) else (values,)
        integrated.append(sum(part.detach().sum().item() for part in parts))
        deltas.append(delta.detach().item())
    return TotalEffects(tuple(integrated), tuple(deltas), cams, maps, pixels, empty)


@within_memory()
def pixel_gradients(
    model: LayaClassifier, x: Tensor, target: int, *, steps: int, tau: float | None = None
) -> NDArray[np.float64]:
    """Captum's Integrated Gradients at the pixels of one image (1, C, H, W), summed over the colours: (H, W), logits.

    The baseline is 0, the mean colour; ``tau`` replaces the head's own temperature.

    Raises
    ------
    LayaError
        The target is no class.
    """
    (target,) = check_target(target, model.head.classes, len(x))
    with evaluating(model):
        return _pixel_gradients(
            lambda images: model.read(model.hidden_states(images), tau=tau).logits, x, target, steps
        )


def _pixel_gradients(forward: Callable[[Tensor], Tensor], x: Tensor, target: int, steps: int) -> NDArray[np.float64]:
    values = IntegratedGradients(forward).attribute(x, target=target, n_steps=steps, internal_batch_size=_at_once(x))
    places: NDArray[np.float64] = values[0].sum(0).detach().double().cpu().numpy()
    return places


def _at_once(x: Tensor) -> int:
    """Integration steps that run at once, so that memory does not grow with the steps."""
    return 8 if max(x.shape[2:]) > SMALL else 20


def _apart(model: LayaClassifier) -> LayaClassifier:
    """The same weights in memory under new modules."""
    return deepcopy(model, {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())})


def _grad_cams(
    model: LayaClassifier, forward: Callable[[Tensor], Tensor], x: Tensor, target: int
) -> tuple[tuple[float, ...], tuple[NDArray[np.float64] | None, ...], tuple[str | None, ...]]:
    """Grad-CAM's sum and map at every layer (its equations 1 and 2), and why a map is empty."""
    size = (x.shape[2], x.shape[3])
    cams: list[float] = []
    maps: list[NDArray[np.float64] | None] = []
    empty: list[str | None] = []
    seen = ""  # the deepest layer so far whose map shows something
    with torch.no_grad():
        activations = model.backbone(x)
    gradients = _gradients(model, forward, x, target)
    for name, activation, gradient in zip(model.layers, activations, gradients, strict=True):
        places, slopes = (model.backbone.feature_map(each, size) for each in (activation, gradient))
        if places is None or slopes is None:  # a vector: gradient times activation, nothing to average over
            cams.append((gradient * activation).sum().relu().item())
            maps.append(None)
            empty.append(VECTOR)
            continue
        values = (slopes.mean((2, 3), keepdim=True) * places).sum(1)[0]
        cams.append(values.relu().sum().item())
        maps.append(values.double().cpu().numpy())
        if values.any():
            seen = name
            empty.append(None)
            continue
        if slopes.any():
            reason = "What the class looks for is nowhere in this layer for this picture"
        elif model.backbone.places(activation, size) is None:
            reason = "The head reads the class token alone, so after this layer no place has an influence any more"
        else:
            reason = "The class does not depend on this layer for this picture"
        empty.append(f"{reason}; look at {seen} or earlier." if seen else f"{reason}.")
    return tuple(cams), tuple(maps), tuple(empty)


def _gradients(model: LayaClassifier, forward: Callable[[Tensor], Tensor], x: Tensor, target: int) -> list[Tensor]:
    """The gradients of the target's logit at what the layers' modules give, each laid out like the layer's activation.

    How a module's output becomes an activation (channels first or last, tokens, windows, one of several), the backbone
    alone knows. So the modules once give consecutive numbers, and the activations show where each number went.
    """
    layers = model.backbone.layer_modules
    unreachable = LayaError("The layers of this network cannot be reached one by one, so it has no total effects.")

    def number(layer: nn.Module, given: tuple[object, ...], output: object) -> object:
        parts = output if isinstance(output, tuple) else (output,)
        if not all(isinstance(part, Tensor) and len(part) == len(x) for part in (*given[:1], *parts)):
            raise unreachable  # Captum hooks modules from images to images
        sizes = [part.numel() for part in parts]
        numbers = torch.split(torch.arange(sum(sizes), dtype=x.dtype, device=x.device), sizes)
        numbered = tuple(each.view(part.shape) for each, part in zip(numbers, parts, strict=True))
        return numbered if isinstance(output, tuple) else numbered[0]

    with torch.no_grad(), ExitStack() as hooks:
        for layer in layers:
            hooks.enter_context(layer.register_forward_hook(number))
        numbered = model.backbone(x)
    indices = [numbers.long() for numbers in numbered]
    for numbers, index in zip(numbered, indices, strict=True):
        if not (numbers == index).all() or index.unique().numel() < index.numel():
            raise unreachable  # the activation is something else than what its module gave
    method = LayerGradientXActivation(forward, layers, multiply_by_inputs=False)
    gradients = []
    for gradient, index in zip(method.attribute(x, target=target, grad_kwargs=UNUSED), indices, strict=True):
        parts = gradient if isinstance(gradient, tuple) else (gradient,)
        gradients.append(torch.cat([part.flatten() for part in parts])[index])
    return gradients


def layer_output(model: LayaClassifier, layer: nn.Module, x: Tensor) -> Tensor:
    """The raw activation that a layer gives for x."""
    index = [each is layer for each in model.backbone.layer_modules].index(True)
    activation: Tensor = model.backbone(x)[index]
    return activation
