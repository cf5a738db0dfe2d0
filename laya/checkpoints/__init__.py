"""Checkpoints: a folder with weights (safetensors) and readable JSON. Nothing is ever unpickled.

    <name>/model.safetensors   weights; those of the head alone where config.json names a file of backbone weights
    <name>/config.json         architecture, preprocessing, class names, recipe, the weights' SHA-256
    <name>/metrics.json        what ``evaluate`` measured on the test set
    <name>/profiles.json       class-average depth profiles over the test set
    <name>/evidence.json       all heads on the same task, several seeds each, if that was measured
    <name>/data.json           what a look at every training picture found, for one's own data
    <name>/README.md           the model card
    <name>/search.md           how the recipe was chosen, for the card, if there was a choice
    <name>/samples/            pictures to try, if there are any
    backbones/<file>           weights of frozen backbones, shared by the checkpoints that name them

Listing reads JSON alone; torch is imported only when a model is loaded or saved.
"""

from laya.checkpoints.layout import BACKBONES, CARD, CONFIG, DATA, EVIDENCE, METRICS, PROFILES, SEARCH, WEIGHTS, roots
from laya.checkpoints.listing import Summary, available, find, samples, summary
from laya.checkpoints.metadata import Card, read_card, read_config, read_evidence, read_metrics, read_profiles
from laya.checkpoints.store import Checkpoint, load, save
from laya.checkpoints.weights import backbone_file, is_shared, read_backbone_weights
from laya.checkpoints.zips import ARCHIVE_BYTES, unpack

__all__ = [
    "ARCHIVE_BYTES",
    "BACKBONES",
    "CARD",
    "CONFIG",
    "DATA",
    "EVIDENCE",
    "METRICS",
    "PROFILES",
    "SEARCH",
    "WEIGHTS",
    "Card",
    "Checkpoint",
    "Summary",
    "available",
    "backbone_file",
    "find",
    "is_shared",
    "load",
    "read_backbone_weights",
    "read_card",
    "read_config",
    "read_evidence",
    "read_metrics",
    "read_profiles",
    "roots",
    "samples",
    "save",
    "summary",
    "unpack",
]
