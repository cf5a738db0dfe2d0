"""Backbones: a batch of images in, the raw activations of every layer and their pooled hidden states out.

A new backbone is one class that follows :class:`Backbone` and one entry in :data:`BACKBONES`.
"""

from typing import Any

from laya.backbones.base import Backbone
from laya.backbones.mlp import MLP
from laya.errors import LayaError, unknown

BACKBONES: dict[str, type[Backbone]] = {MLP.name: MLP}


def build_backbone(name: str, options: dict[str, Any]) -> Backbone:
    """Build a backbone from its registered name and the options of its constructor.

    Raises
    ------
    LayaError
        The name is not registered, or the options do not fit the constructor.
    """
    if name not in BACKBONES:
        raise unknown("backbone", name, BACKBONES)
    try:
        return BACKBONES[name](**options)
    except (TypeError, ValueError, RuntimeError) as error:
        raise LayaError(f"The options {sorted(options)} do not fit the backbone {name!r}.") from error


__all__ = ["BACKBONES", "MLP", "Backbone", "build_backbone"]
