"""Total effects: Captum through the later blocks as well, one layer at a time. Slow, so only on request.

Everything else in :mod:`laya.attribution` is a direct effect, through the head alone. Captum's layer methods hook
modules while they run, and whoever else runs these modules meanwhile, runs the hooks: every run has modules of its own.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from captum.attr import IntegratedGradients, LayerGradCam, LayerGradientXActivation, LayerIntegratedGradients
from numpy.typing import NDArray
from torch import Tensor, nn

from laya.device import within_memory
from laya.model import LayaClassifier, evaluating
from laya.progress import OnProgress, silent

SMALL = 64  # pixels


@dataclass(frozen=True)
class TotalEffects:
    """What Captum says about every layer of one image, through all that comes after it.

    Attributes
    ----------
    integrated_gradients : L sums of LayerIntegratedGradients, in logits, signed.
    convergence : L differences between what Integrated Gradients adds up to and what it should, in logits.
    grad_cam : L sums of LayerGradCam's map, negative places cut off at 0.
    maps : L Grad-CAM maps (H_i, W_i) before the cut; None where the layer has no places.
    pixels : (H, W), Integrated Gradients at the pixels, summed over the colours, in logits.
    """

    integrated_gradients: tuple[float, ...]
    convergence: tuple[float, ...]
    grad_cam: tuple[float, ...]
    maps: tuple[NDArray[np.float64] | None, ...]
    pixels: NDArray[np.float64]


@within_memory()
def total_effects(
    model: LayaClassifier, x: Tensor, target: int, *, steps: int = 20, on_progress: OnProgress = silent
) -> TotalEffects:
    """Run Captum on every layer of the backbone.

    Parameters
    ----------
    model : nothing of it is changed, and other threads may use it meanwhile.
    x : one image (1, C, H, W), preprocessed; the baseline of Integrated Gradients is 0, the mean colour.
    target : the class to explain.
    steps : of Integrated Gradients.
    on_progress : called before every pass through the network; an exception that it raises ends the run.

    References
    ----------
    Sundararajan et al., ICML 2017 (Integrated Gradients); Selvaraju et al., ICCV 2017 (Grad-CAM).
    """
    model = _apart(model).eval()
    layers = model.backbone.layer_modules
    named = ("pixels", *model.layers)
    at = 0  # in named

    def forward(images: Tensor) -> Tensor:
        on_progress(named[at], at, len(named))
        logits: Tensor = model(images)
        return logits

    integrated, deltas, cams, maps = [], [], [], []
    pixels = _pixel_gradients(forward, x, target, steps)
    for at, layer in enumerate(layers, start=1):  # noqa: B007  # forward tells it
        values, delta = LayerIntegratedGradients(forward, layer).attribute(
            x, target=target, n_steps=steps, internal_batch_size=_at_once(x), return_convergence_delta=True
        )
        integrated.append(values.detach().sum().item())
        deltas.append(delta.detach().item())
        cam, places = _grad_cam(model, layer, x, target)
        cams.append(cam)
        maps.append(places)
    return TotalEffects(tuple(integrated), tuple(deltas), tuple(cams), tuple(maps), pixels)


@within_memory()
def pixel_gradients(
    model: LayaClassifier, x: Tensor, target: int, *, steps: int, tau: float | None = None
) -> NDArray[np.float64]:
    """Captum's Integrated Gradients at the pixels of one image (1, C, H, W), summed over the colours: (H, W), logits.

    The baseline is 0, the mean colour; ``tau`` replaces the head's own temperature.
    """
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


def _grad_cam(
    model: LayaClassifier, layer: nn.Module, x: Tensor, target: int
) -> tuple[float, NDArray[np.float64] | None]:
    """Grad-CAM's sum and map at one layer: Captum's own for feature maps, its equation for tokens and vectors."""
    size = (x.shape[2], x.shape[3])
    with torch.no_grad():
        activation = layer_output(model, layer, x)
    if activation.dim() == 4:
        values = LayerGradCam(model, layer).attribute(x, target=target)[0, 0]
        return values.detach().relu().sum().item(), values.detach().double().cpu().numpy()
    product = LayerGradientXActivation(model, layer).attribute(x, target=target)
    if activation.dim() == 2:  # a vector: gradient times activation, nothing to average over
        return product.detach().sum().relu().item(), None
    # Tokens: the gradient's mean over the places weighs each channel, as for a feature map (equations 1 and 2). Captum
    # gives gradient times activation; a residual stream is never exactly 0, so the gradient can be had back.
    gradient = torch.where(activation != 0, product / activation, 0.0)
    rows, columns = model.backbone.grid(size)
    first = activation.shape[1] - rows * columns  # class token and registers have no place
    weights = gradient[:, first:].mean(1, keepdim=True)
    values = (weights * activation[:, first:]).sum(-1).reshape(rows, columns)
    return values.detach().relu().sum().item(), values.detach().double().cpu().numpy()


def layer_output(model: LayaClassifier, layer: nn.Module, x: Tensor) -> Tensor:
    """The raw activation that a layer gives for x."""
    index = [each is layer for each in model.backbone.layer_modules].index(True)
    activation: Tensor = model.backbone(x)[index]
    return activation
