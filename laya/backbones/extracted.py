"""Backbones cut out of somebody else's network: torchvision's classifiers by name, any module with a list of layers."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.fx.proxy import TraceError

from laya.backbones.base import Backbone
from laya.errors import LayaError, unknown
from laya.inputs.preprocessing import Preprocessing


class Extracted(Backbone):
    """The values at some nodes of a module's graph, without hooks (``torchvision.models.feature_extraction``).

    Feature maps (B, C, H, W) are pooled by their spatial mean, tokens (B, N, C) by their mean, vectors stay.

    Parameters
    ----------
    module : torch.fx must be able to trace it.
    layers : nodes, shallow to deep; a module's name, such as ``"layer1"``, is its output.
    preprocessing : of its pictures.
    options : the constructor's arguments of the class that builds this again.
    channels_last : feature maps are (B, H, W, C) in this module.

    Raises
    ------
    LayaError
        The module cannot be traced, has no such node, or a node's value is no feature map, tokens or vector.
    """

    def __init__(
        self,
        module: nn.Module,
        layers: Sequence[str],
        preprocessing: Preprocessing,
        options: dict[str, Any],
        *,
        channels_last: bool = False,
    ) -> None:
        super().__init__()
        from torchvision.models.feature_extraction import create_feature_extractor

        if not layers:
            raise LayaError("A backbone needs at least one layer; name them, shallow to deep.")
        self.options = options
        self.channels_last = channels_last
        self._preprocessing = preprocessing
        self._nodes = tuple(layers)
        try:
            self.model = create_feature_extractor(module, {node: node for node in layers})
        except TraceError as error:
            raise LayaError("The network cannot be traced by torch.fx, so its layers cannot be read.") from error
        except ValueError as error:
            raise LayaError(f"The network has no layer of one of the names {', '.join(map(repr, layers))}.") from error
        except Exception as error:  # what a foreign module raises while it is traced is its own
            raise LayaError("The network cannot be traced by torch.fx, so its layers cannot be read.") from error
        self._unread = frozenset(module.state_dict().keys() - self.model.state_dict().keys())
        with torch.no_grad():
            device = next(
                (each.device for each in self.model.parameters()), None
            )  # a builder need not heed the default
            blank = torch.zeros(1, preprocessing.channels, *preprocessing.size, device=device)
            training = self.model.training
            activations = self.eval()(blank)
            self.train(training)
        for node, activation in zip(layers, activations, strict=True):
            if not isinstance(activation, Tensor) or activation.dim() not in (2, 3, 4):
                raise LayaError(f"The layer {node!r} gives no feature map, tokens or vector.")
        self.widths = tuple(self.pool(activation).shape[1] for activation in activations)
        self.layers = tuple(f"{node}, {width} channels" for node, width in zip(layers, self.widths, strict=True))

    @property
    def preprocessing(self) -> Preprocessing:
        """As it was given."""
        return self._preprocessing

    @property
    def weights_module(self) -> nn.Module:
        """The network itself, whose names are those of its makers."""
        return cast(nn.Module, self.model)

    @property
    def unread(self) -> frozenset[str]:
        """What was cut off: the classifier, and all that comes after the last layer."""
        return self._unread

    @property
    def layer_modules(self) -> list[nn.Module]:
        """There are none to hook: a traced graph has operations.

        Raises
        ------
        LayaError
            Always.
        """
        raise LayaError("The total effects need modules to hook, which a traced network does not have.")

    def accepts(self, channels: int, size: tuple[int, int]) -> bool:
        """Pictures with the right channels, not smaller than a seventh of its own size."""
        own = self._preprocessing
        return channels == own.channels and all(edge * 7 >= best for edge, best in zip(size, own.size, strict=True))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images (B, C, H, W) to one value a layer."""
        found = self.model(x)
        values = [found[node] for node in self._nodes]
        if self.channels_last:
            values = [value.permute(0, 3, 1, 2) if value.dim() == 4 else value for value in values]
        return tuple(values)

    def pool(self, activation: Tensor) -> Tensor:
        """One value to its hidden state (B, d_i)."""
        return activation.mean(1) if activation.dim() == 3 else super().pool(activation)


class Torchvision(Extracted):
    """Any of torchvision's classifiers, read out where it goes over to another resolution.

    Parameters
    ----------
    model : torchvision's name, such as ``"resnet18"``.
    layers : nodes to read out; None: the last of each resolution, or every block of a transformer.
    pretrained : load torchvision's weights. Never true in a checkpoint, which has its own.

    Raises
    ------
    LayaError
        torchvision does not know the name, a layer does not exist, or the weights cannot be had.
    """

    name = "torchvision"

    def __init__(self, model: str, layers: Sequence[str] | None = None, *, pretrained: bool = False) -> None:
        from torchvision import models

        names = models.list_models(module=models)
        if model not in names:
            raise unknown("torchvision model", model, [name for name in names if name[:3] == model[:3]] or names)
        weights = models.get_model_weights(model).DEFAULT
        try:
            network = models.get_model(model, weights=weights if pretrained else None)
        except (OSError, RuntimeError) as error:
            if not pretrained:
                raise LayaError(f"The torchvision model {model!r} cannot be used here; try timm:{model}.") from error
            raise LayaError(
                f"The weights of {model!r} are not on this machine and cannot be downloaded; give a local file with "
                "--weights, or train from scratch with --no-pretrained."
            ) from error
        known = weights.transforms()
        size = known.crop_size[0]
        preprocessing = Preprocessing((size, size), 3, tuple(known.mean), tuple(known.std), known.interpolation.value)
        channels_last = model.startswith("swin")
        if layers is None:
            layers = _stages(network, preprocessing, channels_last)
        options = {"model": model, "layers": list(layers)}
        super().__init__(network, layers, preprocessing, options, channels_last=channels_last)


def _stages(network: nn.Module, preprocessing: Preprocessing, channels_last: bool) -> list[str]:
    """The last feature map of each resolution above 1 x 1; the blocks of a transformer that keeps one resolution."""
    from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

    blocks = [name for name, module in network.named_modules() if type(module).__name__ == "EncoderBlock"]
    if blocks:
        return blocks
    nodes = get_graph_node_names(network, suppress_diff_warning=True)[1]
    with torch.no_grad(), torch.device("meta"):
        every = create_feature_extractor(deepcopy(network), return_nodes=nodes, suppress_diff_warning=True)
        every = every.to("meta").eval()
        values = every(torch.zeros(1, preprocessing.channels, *preprocessing.size))
    last: dict[tuple[int, ...], str] = {}
    for node in nodes[1:]:  # the first is the input
        value = values[node]
        if isinstance(value, Tensor) and value.dim() == 4 and not node.startswith("classifier"):
            size = tuple(value.shape[1:3] if channels_last else value.shape[2:])
            if size[0] == size[1] and size[0] > 1:
                last[size] = node
    return [last[size] for size in sorted(last, reverse=True)]


def register(
    name: str,
    build: Callable[[], nn.Module],
    layers: Sequence[str],
    *,
    size: tuple[int, int],
    channels: int = 3,
    mean: Sequence[float] = (0.485, 0.456, 0.406),
    std: Sequence[float] = (0.229, 0.224, 0.225),
) -> type[Backbone]:
    """Make a network of one's own known as a backbone, for recipes, checkpoints and the app of this process.

    A checkpoint stores the name and the weights, never code: register the same name before it is loaded.

    Parameters
    ----------
    name : under which recipes ask for it.
    build : gives the network, with new weights.
    layers : names of modules or graph nodes, shallow to deep.
    size : height and width of its pictures in pixels.
    channels, mean, std : of its pictures.

    Raises
    ------
    LayaError
        The name is taken, or see :class:`Extracted`.

    Examples
    --------
    >>> register("mine", MyNetwork, ["stem", "stage1", "stage2"], size=(64, 64))
    >>> laya.recipe.run({"data": "my-folder", "backbone": "mine"}, Path("checkpoints/mine"), command="...")
    """
    from laya.backbones import BACKBONES

    if name in BACKBONES:
        raise LayaError(f"There is a backbone called {name!r} already; choose another name.")
    preprocessing = Preprocessing(size, channels, tuple(mean[:channels]), tuple(std[:channels]))

    class Registered(Extracted):
        def __init__(self) -> None:
            super().__init__(build(), layers, preprocessing, {})

    Registered.name = name
    Registered()  # what does not work is said now
    BACKBONES[name] = Registered
    return Registered
