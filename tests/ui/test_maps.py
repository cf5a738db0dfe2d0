"""The maps over the picture on the pages, run by Streamlit's own test runner."""

import io
import json
from pathlib import Path

import pytest
import torch
from PIL import Image
from streamlit.testing.v1 import AppTest

from laya import checkpoints
from laya.backbones import CNN, Backbone, Timm
from laya.heads import build_head
from laya.inputs.preprocessing import Preprocessing
from laya.model import LayaClassifier
from tests.conftest import PROJECT, only_checkpoints
from tests.ui.test_app import texts

pytestmark = pytest.mark.filterwarnings("ignore")


def inspect(folder: Path, backbone: Backbone, head: str, picture: Image.Image) -> AppTest:
    """The page Inspect for a new model's answer to a picture."""
    torch.manual_seed(0)
    options = {"dim": 5} if head == "laya" else {}
    model = LayaClassifier(backbone, build_head(head, backbone.widths, 3, options)).eval()
    preprocessing = Preprocessing((32, 32), 3, (0.0,) * 3, (1.0,) * 3)
    checkpoints.save(folder / "new", model, ("a", "b", "c"), preprocessing, title="New", training={})
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    app.query_params["model"] = "new"
    app.run()
    app.file_uploader(key="upload").upload("x.png", stream.getvalue())
    app.run()
    assert not app.exception
    return app


def compare(app: AppTest) -> AppTest:
    """The page Compare for the same picture, the total effects measured."""
    app.switch_page("pages/compare.py").run()
    (button,) = [button for button in app.button if button.label == "Measure the total effects"]
    button.click().run()
    assert not app.exception
    return app


def titles(app: AppTest) -> list[list[str]]:
    """What stands over the maps of each figure with maps."""
    figures = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return [
        [note["text"] for note in figure["layout"]["annotations"]]
        for figure in figures
        if figure["layout"].get("images")
    ]


@pytest.fixture
def noise_picture(noise) -> Image.Image:
    return noise(size=(32, 32))


def test_a_map_of_zeros_is_not_drawn_but_explained(tmp_path, monkeypatch, noise_picture):
    only_checkpoints(monkeypatch, tmp_path)
    monkeypatch.setattr("laya.ui.inspect.report.clicked_layer", lambda clicked, result: 5)
    app = inspect(tmp_path, Timm("test_vit", "class"), "laya", noise_picture)
    assert titles(app) == [["pixels"]]
    assert "The head reads the class token of this layer alone, which has no place in the picture." in texts(app)
    shown = texts(compare(app))
    assert "The head reads the class token of this layer alone, which has no place in the picture." in shown
    assert "as one long vector" not in shown
    assert (
        "<b>block 6 of 6:</b> The head reads the class token alone, so after this layer no place has an influence any "
        "more; look at block 5 of 6 or earlier." in shown
    )
    assert titles(app) == [["pixels"], [f"block {i}" for i in range(1, 6)], ["pixels"]]


def test_layers_that_the_head_does_not_read_are_not_drawn_but_named(tmp_path, monkeypatch, noise_picture):
    only_checkpoints(monkeypatch, tmp_path)
    app = compare(inspect(tmp_path, CNN(stages=(5, 6)), "last_layer", noise_picture))
    assert "<b>stem, 24 channels; stage 1, 5 channels:</b> The head does not read this layer" in texts(app)
    assert titles(app) == [["stage 2"], ["stem", "stage 1", "stage 2"], ["pixels"]]


def test_a_picture_that_is_the_baseline_has_no_map_of_pixels(tmp_path, monkeypatch):
    only_checkpoints(monkeypatch, tmp_path)
    monkeypatch.setattr("laya.ui.inspect.report.clicked_layer", lambda clicked, result: 0)
    app = inspect(tmp_path, Timm("test_vit", "class"), "laya", Image.new("RGB", (32, 32)))
    assert texts(app).count("Here they are 0 at every pixel") == 1
    assert texts(compare(app)).count("Here they are 0 at every pixel") == 2
    assert titles(app) == [[f"block {i}" for i in range(1, 6)]]
