"""What is taken away is what was shown."""

import asyncio
import csv
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor

import plotly.graph_objects as go
import pytest
from PIL import Image

from laya.explanation import explain
from laya.explanation.bundle import bundle, png


def test_the_zip_holds_the_same_numbers_and_how_to_make_them_again(checkpoint, noise):
    result = explain(checkpoint, noise("L", (8, 8)))
    figure = go.Figure(go.Bar(x=[1], y=[42.5]))
    data = bundle(result, {"layers": figure}, ["python", "-m", "laya", "explain", "my image.png", "--model", "small"])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = {name for name in archive.namelist() if not name.endswith(".png")}
        assert names == {
            "README.txt",
            "explanation.json",
            "layers.csv",
            "settings.json",
            "plotly.min.js",
            "layers.html",
        }
        assert json.loads(archive.read("explanation.json")) == json.loads(result.to_json())
        rows = list(csv.DictReader(io.StringIO(archive.read("layers.csv").decode())))
        assert [row["layer"] for row in rows] == list(result.layers)
        for method, values in result.attributions.items():
            assert [float(row[method]) for row in rows] == list(values)
        assert [float(row["leave_one_out"]) for row in rows] == list(result.effect)
        settings = json.loads(archive.read("settings.json"))
        assert settings["weights_sha256"] == checkpoint.weights
        assert (settings["tau"], settings["removal"], settings["steps"]) == (1.5, "zero-term", 50)
        assert "laya explain 'my image.png' --model small" in archive.read("README.txt").decode()
        page = archive.read("layers.html").decode()
        assert '<script src="plotly.min.js"' in page.replace(' charset="utf-8"', "")
        assert "42.5" in page


def test_charts_are_drawn_as_pictures_where_there_is_a_browser(monkeypatch):
    figure = go.Figure(go.Bar(x=[1], y=[1], marker_color="#0072B2"), layout={"height": 300})
    drawn = png({"one": figure, "two": go.Figure()})
    if not drawn:
        pytest.skip("no Chrome or Chromium here")
    assert set(drawn) == {"one", "two"}
    picture = Image.open(io.BytesIO(drawn["one"])).convert("RGB")
    assert picture.size == (2000, 600)
    assert picture.getpixel((1000, 300)) == (0, 0x72, 0xB2)


def test_without_a_browser_the_zip_says_so(monkeypatch, checkpoint, noise):
    monkeypatch.setattr("choreographer.browsers.chromium.Chromium.find_browser", lambda *_, **__: None)
    data = bundle(explain(checkpoint, noise("L", (8, 8))), {"layers": go.Figure()}, ["laya"])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".png")]
        assert "no Chrome or Chromium" in archive.read("README.txt").decode()


def test_one_browser_draws_however_many_ask(monkeypatch):
    at_work, most = [], []

    class Browser:
        def __init__(self, **options: object) -> None:
            pass

        async def __aenter__(self):
            at_work.append(self)
            most.append(len(at_work))
            return self

        async def __aexit__(self, *failure: object) -> None:
            at_work.remove(self)

        async def calc_fig(self, chart: object, opts: object) -> bytes:
            await asyncio.sleep(0.05)
            return b"picture"

    monkeypatch.setattr("laya.explanation.bundle.Kaleido", Browser)
    with ThreadPoolExecutor(4) as visitors:
        drawn = list(visitors.map(png, [{"a": go.Figure()}] * 4))
    assert drawn == [{"a": b"picture"}] * 4
    assert most == [1, 1, 1, 1]
