"""Backbones: a batch of images in, the raw activations of every layer and their pooled hidden states out.

A new backbone is one class that follows :class:`Backbone` and one entry in :data:`BACKBONES`; :func:`register` makes
both of a network and a list of its layers.
"""

from typing import Any

from laya.backbones.base import Backbone
from laya.backbones.cnn import CNN
from laya.backbones.extracted import Extracted, Torchvision, register
from laya.backbones.mlp import MLP
from laya.backbones.timm import Timm
from laya.errors import LayaError, shown, unknown

BACKBONES: dict[str, type[Backbone]] = {backbone.name: backbone for backbone in (MLP, CNN, Timm, Torchvision)}


def build_backbone(name: str, options: dict[str, Any]) -> Backbone:
    """Build a backbone from its registered name and the options of its constructor.

    ``timm:NAME`` is the backbone ``timm`` with the option ``model = NAME``, and ``torchvision:NAME`` likewise.

    Raises
    ------
    LayaError
        The name is not registered, or the options do not fit the constructor.
    """
    name, colon, model = name.partition(":")
    if name not in BACKBONES:
        raise unknown("backbone", name, BACKBONES)
    if colon:
        options = {**options, "model": model}
    try:
        return BACKBONES[name](**options)
    except LayaError:
        raise
    except Exception as error:  # what timm and torchvision raise on options that they do not know is their own
        raise LayaError(f"The options {shown(sorted(options))} do not fit the backbone {name!r}.") from error


__all__ = ["BACKBONES", "CNN", "MLP", "Backbone", "Extracted", "Timm", "Torchvision", "build_backbone", "register"]
