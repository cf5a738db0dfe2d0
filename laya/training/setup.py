"""What a recipe asks for: the backbone with its first weights, and how pictures are prepared for it."""

import logging

import torch

from laya.backbones import Backbone, build_backbone
from laya.checkpoints import backbone_file, read_backbone_weights
from laya.data import KNOWN
from laya.inputs.preprocessing import Preprocessing
from laya.training.config import TrainingConfig

_LOGGER = logging.getLogger(__name__)


def make_backbone(config: TrainingConfig) -> Backbone:
    """The backbone of a recipe with the weights it begins with; what was done to weights to make them fit is logged.

    Raises
    ------
    LayaError
        The options do not fit, or the weights cannot be had or do not fit.
    """
    options = dict(config.backbone_options)
    if config.backbone.startswith(("timm", "torchvision")) and config.pretrained and not config.weights:
        options["pretrained"] = True
    backbone = build_backbone(config.backbone, options)
    if config.weights:
        module = backbone.weights_module
        tensors, _ = read_backbone_weights(
            backbone_file(config.weights), module.state_dict(), backbone, on_note=_LOGGER.warning
        )
        module.load_state_dict(tensors)
    return backbone


def preprocessing_for(config: TrainingConfig) -> Preprocessing:
    """How pictures are prepared: a known data set's own way where a new backbone can read that, or the backbone's.

    Raises
    ------
    LayaError
        The backbone's name or options cannot be used.
    """
    with torch.device("meta"):  # the architecture alone, without weights
        backbone = build_backbone(config.backbone, config.backbone_options)
    trained = config.backbone.startswith(("timm", "torchvision")) and (config.pretrained or config.weights)
    if config.data in KNOWN and not trained:  # weights that were trained want pictures as they were trained on
        known = KNOWN[config.data].preprocessing
        if backbone.accepts(known.channels, known.size):
            return known
    return backbone.preprocessing
