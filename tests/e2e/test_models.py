"""A person brings a model."""

from playwright.sync_api import Browser, Page, expect

from laya import checkpoints
from laya.backbones import MLP
from laya.heads import build_head
from laya.inputs.images import MAX_BYTES
from laya.inputs.preprocessing import Preprocessing
from laya.model import LayaClassifier
from tests.conftest import CLASSES, pack
from tests.e2e.conftest import serving, visiting


def test_a_model_is_brought_and_used(page: Page, url: str):
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()  # the app is up
    page.goto(f"{url}/models", wait_until="domcontentloaded")
    for entry in checkpoints.available():
        expect(page.get_by_role("heading", name=entry.title)).to_be_visible()
    folder = checkpoints.find("fashion-mnist-mlp")
    data = pack({name: (folder / name).read_bytes() for name in ("model.safetensors", "config.json")})
    upload = page.locator('input[type="file"]')
    upload.set_input_files({"name": "mine.zip", "mimeType": "application/zip", "buffer": data})
    expect(page.get_by_text("The model is ready")).to_be_visible()
    expect(page.get_by_text("mine · yours, for this session")).to_be_visible()
    upload.set_input_files({"name": "no.zip", "mimeType": "application/zip", "buffer": b"no archive"})
    expect(page.get_by_text("is not a zip archive")).to_be_visible()


def test_a_model_larger_than_a_picture_may_be_is_taken(browser: Browser, tmp_path):
    """By the app alone: a proxy with a lower limit, as the one before the other tests, would refuse it."""
    backbone = MLP(input_shape=(3, 32, 32), units=(1000,))
    large = LayaClassifier(backbone, build_head("laya", backbone.widths, 3, {"dim": 7}))
    checkpoints.save(
        tmp_path / "large",
        large,
        CLASSES,
        Preprocessing((32, 32), 3, (0.5,) * 3, (0.5,) * 3),
        title="Large",
        training={},
    )
    data = pack({name: (tmp_path / "large" / name).read_bytes() for name in ("model.safetensors", "config.json")})
    assert len(data) > MAX_BYTES
    with serving(tmp_path / "log") as url, visiting(browser, url, "desktop") as page:
        page.goto(f"{url}/models", wait_until="domcontentloaded")
        page.locator('input[type="file"]').set_input_files(
            {"name": "large.zip", "mimeType": "application/zip", "buffer": data}
        )
        expect(page.get_by_text("large · yours, for this session")).to_be_visible()
