"""A person brings a model."""

from playwright.sync_api import Page, expect

from laya import checkpoints
from tests.conftest import pack


def test_a_model_is_brought_and_used(page: Page, url: str, tmp_path):
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
