"""Labelled sets of pictures, from wherever people keep them."""

from laya.data.image_set import ImageSet, Split, batches
from laya.data.known import KNOWN
from laya.data.sources import at_hand, offered, open_dataset, splits

__all__ = ["KNOWN", "ImageSet", "Split", "at_hand", "batches", "offered", "open_dataset", "splits"]
