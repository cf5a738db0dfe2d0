"""Any model of timm, by name."""

import sys
from contextlib import suppress
from inspect import signature
from typing import Any, Literal, cast, get_args

import torch
from torch import Tensor, nn

from laya.backbones.base import Backbone
from laya.errors import LayaError, unknown
from laya.inputs.preprocessing import Preprocessing

Tokens = Literal["class+patches", "patches", "class"]


class Timm(Backbone):
    """Any timm model that hands out intermediate results, without hooks (``forward_intermediates``).

    Vision transformers are read out after every block; everything else (ResNet, ConvNeXt, EfficientNet, Swin, ...)
    after every stage, as feature maps.

    Parameters
    ----------
    model : timm's name of the architecture, such as ``"vit_small_patch14_dinov2"`` or ``"resnet18"``.
    tokens : what a transformer block's hidden state is: the mean of the patch tokens, the class token, or the two
        joined; None is the two joined where there is a class token, else the patches. A mean of tokens splits exactly
        over places; the class token has no place, and other tokens without one (registers, a distillation token) are
        not read. Without effect where the layers are feature maps.
    pretrained : load timm's weights from the hub. Never true in a checkpoint, which has its own.

    Raises
    ------
    LayaError
        timm does not know the name, the architecture hands nothing out, its weights cannot be had, or the class token
        is asked for where there is none.
    """

    name = "timm"
    model: Any  # timm's models are typed as plain modules, without the attributes that they share

    def __init__(self, model: str, tokens: Tokens | None = None, *, pretrained: bool = False) -> None:
        super().__init__()
        import timm  # here, because it takes long and most checkpoints do without

        if not isinstance(model, str) or not timm.is_model(model):
            raise unknown("timm model", model, timm.list_models(f"{str(model)[:3]}*"))
        if tokens is not None and tokens not in get_args(Tokens):
            raise unknown("choice of tokens", tokens, get_args(Tokens))
        try:
            try:
                self.model = timm.create_model(model, pretrained=pretrained, num_classes=0, dynamic_img_size=True)
                dynamic = True
            except TypeError:  # an architecture without that option
                self.model = timm.create_model(model, pretrained=pretrained, num_classes=0)
                dynamic = False
        except (OSError, RuntimeError) as error:
            if not pretrained:
                raise LayaError(f"The timm model {model!r} cannot be built by the timm that is installed.") from error
            raise LayaError(
                f"The weights of {model!r} are not on this machine and the hub cannot be reached; give a local file "
                "with --weights, or train from scratch with --no-pretrained."
            ) from error
        if not hasattr(self.model, "forward_intermediates") or not hasattr(self.model, "feature_info"):
            raise LayaError(f"The timm model {model!r} does not hand out its layers; choose another.")
        # Tokens where timm can hand out those before the patches as well; all else comes as feature maps.
        hands_out = signature(self.model.forward_intermediates).parameters
        self.maps = "return_prefix_tokens" not in hands_out or not hasattr(self.model, "patch_embed")
        # Before the patches stand the class token, where there is one, and then what else has no place.
        self.prefix = 0 if self.maps else self.model.num_prefix_tokens
        classified = not self.maps and getattr(self.model, "cls_token", None) is not None
        self.fixed = bool(self.model.pretrained_cfg.get("fixed_input_size")) and (self.maps or not dynamic)
        if tokens is None:
            tokens = "class+patches" if classified else "patches"
        if "class" in tokens and not classified and not self.maps:
            raise LayaError(f"The timm model {model!r} has no class token; choose tokens = 'patches'.")
        self.options = {"model": model, "tokens": tokens}
        self.tokens = tokens
        widths = [int(each["num_chs"]) for each in self.model.feature_info]
        depth = len(widths)
        if self.maps:
            self.layers = tuple(f"stage {i} of {depth}, {width} channels" for i, width in enumerate(widths, start=1))
            self.widths = tuple(widths)
            self.patch = (1, 1)
        else:
            self.layers = tuple(f"block {i} of {depth}" for i in range(1, depth + 1))
            self.widths = tuple(width * (1 + (tokens == "class+patches")) for width in widths)
            self.patch = tuple(self.model.patch_embed.feat_ratio(as_scalar=False))  # in pixels, with a stem before it

    @property
    def preprocessing(self) -> Preprocessing:
        """timm's own mean, standard deviation, interpolation and size; a transformer that takes any size gets 224."""
        config = self.model.pretrained_cfg
        channels, *size = config["input_size"]
        if not self.fixed and not self.maps:
            size = [max(patch, 224 // patch * patch) for patch in self.patch]
        kind: Any = (
            config["interpolation"] if config["interpolation"] in ("bilinear", "bicubic", "lanczos") else "bicubic"
        )
        return Preprocessing((size[0], size[1]), channels, tuple(config["mean"]), tuple(config["std"]), kind)

    @property
    def weights_module(self) -> nn.Module:
        """timm's own model."""
        return cast(nn.Module, self.model)

    def converted(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Weights as their authors published them, or for another picture size, through timm's own filter for them."""
        convert = getattr(sys.modules[type(self.model).__module__], "checkpoint_filter_fn", None)
        if convert is not None:
            with suppress(Exception):  # what a filter raises on names and shapes that it does not know is its own
                return dict(convert(dict(tensors), self.model))
        return tensors

    @property
    def layer_modules(self) -> list[nn.Module]:
        """The blocks, or the stages."""
        try:
            return [self.model.get_submodule(each["module"]) for each in self.model.feature_info]
        except (AttributeError, KeyError) as error:
            raise LayaError(f"The layers of {self.options['model']!r} cannot be reached one by one.") from error

    def grid(self, size: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of patches; (0, 0) where the layers are feature maps."""
        return (0, 0) if self.maps else (size[0] // self.patch[0], size[1] // self.patch[1])

    def accepts(self, channels: int, size: tuple[int, int]) -> bool:
        """Pictures with the right channels whose edges are multiples of the patch, or of the one size that it takes."""
        own = self.model.pretrained_cfg["input_size"]
        if channels != own[0] or (self.fixed and tuple(size) != tuple(own[1:])):
            return False
        if self.maps:
            return min(size) >= 32
        return all(edge % patch == 0 for edge, patch in zip(size, self.patch, strict=True))

    def feature_map(self, activation: Tensor, size: tuple[int, int]) -> Tensor | None:
        """The patches' tokens by their places, or a feature map as it is: (B, C, H_i, W_i)."""
        if self.maps:
            return super().feature_map(activation, size)
        patches = activation[:, self.prefix :].transpose(1, 2)
        return patches.reshape(len(patches), -1, *self.grid(size))  # a view

    def places(self, activation: Tensor, size: tuple[int, int]) -> Tensor | None:
        """The feature map; None where the class token alone is read."""
        if self.tokens == "class" and not self.maps:
            return None
        return self.feature_map(activation, size)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images (B, C, H, W) to tokens (B, prefix + patches, width) or feature maps (B, C_i, H_i, W_i): L of them."""
        if self.maps:
            return tuple(self.model.forward_intermediates(x, intermediates_only=True, output_fmt="NCHW"))
        # Some architectures fail when they are asked for the prefix and have none.
        blocks = self.model.forward_intermediates(
            x, intermediates_only=True, output_fmt="NLC", return_prefix_tokens=self.prefix > 0
        )
        if not self.prefix:
            return tuple(blocks)
        return tuple(torch.cat([prefix, patches], dim=1) for patches, prefix in blocks)

    def pool(self, activation: Tensor) -> Tensor:
        """Tokens (B, N, width) or a feature map to the hidden state (B, d)."""
        if self.maps:
            return super().pool(activation)
        patches = activation[:, self.prefix :].mean(1)
        if self.tokens == "patches":
            return patches
        return activation[:, 0] if self.tokens == "class" else torch.cat([activation[:, 0], patches], dim=-1)
