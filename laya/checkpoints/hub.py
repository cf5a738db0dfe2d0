"""Checkpoints on the Hugging Face hub: a checkpoint folder is a model repository as it is."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from huggingface_hub import ModelHubMixin, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

from laya import checkpoints
from laya.checkpoints.layout import BACKBONES, CARD, CONFIG, DATA, EVIDENCE, METRICS, PROFILES, WEIGHTS
from laya.checkpoints.store import Checkpoint
from laya.errors import LayaError

FILES = (WEIGHTS, CONFIG, METRICS, PROFILES, EVIDENCE, DATA, CARD)


class LayaModel(
    ModelHubMixin,
    library_name="laya",
    tags=["interpretability", "layer-attention", "laya"],
    pipeline_tag="image-classification",
    repo_url="https://arxiv.org/abs/2511.12723",
):
    """A checkpoint that can be shared: ``from_pretrained``, ``save_pretrained`` and ``push_to_hub``.

    Parameters
    ----------
    checkpoint : from :func:`laya.load`.

    Examples
    --------
    >>> model = laya.LayaModel(laya.load("fashion-mnist-mlp"))
    >>> model.push_to_hub("me/fashion-mnist-laya")
    >>> laya.explain(laya.LayaModel.from_pretrained("me/fashion-mnist-laya").checkpoint, "boot.png")
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    def _save_pretrained(self, save_directory: Path) -> None:
        """The files of the checkpoint, with the frozen backbone's weights where it shares them with others."""
        source = self.checkpoint.folder
        named = checkpoints.read_config(source)["backbone"].get("weights")
        for name in FILES:
            if (source / name).is_file():
                shutil.copyfile(source / name, save_directory / name)
        if (source / "samples").is_dir():
            shutil.copytree(source / "samples", save_directory / "samples", dirs_exist_ok=True)
        if named:
            places = (source / named["file"], source.parent / BACKBONES / named["file"])
            file = next((place for place in places if place.is_file()), checkpoints.backbone_file(named["file"]))
            shutil.copyfile(file, save_directory / named["file"])

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | Path, **options: Any) -> Self:
        """A checkpoint from its folder, or from a repository of the hub: data alone, never code.

        Parameters
        ----------
        pretrained_model_name_or_path : a folder, or a repository such as ``"me/my-model"``.
        options : ``revision``, ``token``, ``cache_dir``, ``force_download``, ``local_files_only``; see huggingface_hub.

        Raises
        ------
        LayaError
            The hub cannot be reached or has no such repository; or see :func:`laya.load`.
        """
        try:
            return super().from_pretrained(pretrained_model_name_or_path, **options)
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            raise LayaError(
                f"{str(pretrained_model_name_or_path)!r} is no folder, and no such repository can be had from the "
                "Hugging Face hub."
            ) from error

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **options: Any) -> Self:
        """The checkpoint itself: safetensors, JSON, the card and the samples."""
        folder = Path(model_id)
        if not folder.is_dir():
            patterns = ["*.safetensors", "*.json", "*.md", "samples/*"]
            folder = Path(snapshot_download(model_id, allow_patterns=patterns, **options))
        return cls(replace(checkpoints.load(str(folder)), name=Path(model_id).name))
