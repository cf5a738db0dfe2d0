"""Any vision transformer of timm, by name."""

from typing import Any, Literal, cast, get_args

import torch
from torch import Tensor, nn

from laya.backbones.base import Backbone
from laya.errors import LayaError, unknown
from laya.images import Preprocessing

Tokens = Literal["class+patches", "patches", "class"]


class Timm(Backbone):
    """A vision transformer from timm, read out after every block, without hooks (``forward_intermediates``).

    Parameters
    ----------
    model : timm's name of the architecture, such as ``"vit_small_patch14_dinov2"``.
    tokens : what a block's hidden state is: the mean of the patch tokens, the class token, or the two joined. A mean of
        tokens splits exactly over places; the class token has no place.
    pretrained : load timm's weights from the hub. Never true in a checkpoint, which has its own.

    Raises
    ------
    LayaError
        timm does not know the name, the architecture has no blocks of tokens, or its weights cannot be had.
    """

    name = "timm"
    model: Any  # timm's models are typed as plain modules, without the attributes that vision transformers have

    def __init__(self, model: str, tokens: Tokens = "class+patches", *, pretrained: bool = False) -> None:
        super().__init__()
        import timm  # here, because it takes long and most checkpoints do without

        if not timm.is_model(model):
            raise unknown("timm model", model, timm.list_models(f"{model[:3]}*"))
        if tokens not in get_args(Tokens):
            raise unknown("choice of tokens", tokens, get_args(Tokens))
        try:
            self.model = timm.create_model(model, pretrained=pretrained, num_classes=0, dynamic_img_size=True)
        except TypeError as error:
            raise LayaError(f"The timm model {model!r} is not a plain vision transformer, which it must be.") from error
        except (OSError, RuntimeError) as error:
            raise LayaError(
                f"The weights of {model!r} are not on this machine and the hub cannot be reached; give a local file "
                "with --weights, or train from scratch with --no-pretrained."
            ) from error
        prefix = self.model.num_prefix_tokens
        if "class" in tokens and prefix == 0:
            raise LayaError(f"The timm model {model!r} has no class token; choose tokens = 'patches'.")
        self.options = {"model": model, "tokens": tokens}
        self.tokens = tokens
        self.prefix = prefix  # tokens before the patches: the class token, then registers
        depth, width = len(self.model.blocks), int(self.model.embed_dim)
        self.layers = tuple(f"block {i} of {depth}" for i in range(1, depth + 1))
        self.widths = (width * (1 + (tokens == "class+patches")),) * depth
        self.patch = self.model.patch_embed.patch_size

    @property
    def preprocessing(self) -> Preprocessing:
        """timm's own mean, standard deviation and interpolation, at about 224 pixels; a larger size is only slower."""
        config = self.model.pretrained_cfg
        height, width = (max(patch, 224 // patch * patch) for patch in self.patch)
        kind: Any = (
            config["interpolation"] if config["interpolation"] in ("bilinear", "bicubic", "lanczos") else "bicubic"
        )
        return Preprocessing((height, width), 3, tuple(config["mean"]), tuple(config["std"]), kind)

    @property
    def weights_module(self) -> nn.Module:
        """timm's own model."""
        return cast(nn.Module, self.model)

    @property
    def layer_modules(self) -> list[nn.Module]:
        """The blocks."""
        return list(self.model.blocks)

    def grid(self, size: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of patches."""
        return (size[0] // self.patch[0], size[1] // self.patch[1])

    def accepts(self, channels: int, size: tuple[int, int]) -> bool:
        """Colour pictures whose edges are multiples of the patch."""
        return channels == 3 and all(edge % patch == 0 for edge, patch in zip(size, self.patch, strict=True))

    def places(self, activation: Tensor, size: tuple[int, int]) -> Tensor | None:
        """The patch tokens on their grid, each its share of the mean; zeros where the class token's units are."""
        if self.tokens == "class":
            return None
        patches = activation[:, self.prefix :]
        maps = patches.transpose(1, 2).reshape(len(patches), -1, *self.grid(size)) / patches.shape[1]
        return maps if self.tokens == "patches" else torch.cat([torch.zeros_like(maps), maps], dim=1)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images (B, 3, H, W) to the tokens after every block: L times (B, prefix + patches, width)."""
        blocks = self.model.forward_intermediates(
            x, intermediates_only=True, output_fmt="NLC", return_prefix_tokens=True
        )
        if not self.prefix:
            return tuple(blocks)
        return tuple(torch.cat([prefix, patches], dim=1) for patches, prefix in blocks)

    def pool(self, activation: Tensor) -> Tensor:
        """Tokens (B, N, width) to the hidden state (B, d)."""
        patches = activation[:, self.prefix :].mean(1)
        if self.tokens == "patches":
            return patches
        return activation[:, 0] if self.tokens == "class" else torch.cat([activation[:, 0], patches], dim=-1)
