"""What is taken away is what was shown."""

import csv
import io
import json
import zipfile

import plotly.graph_objects as go

from laya.bundle import bundle
from laya.explanation import explain


def test_the_zip_holds_the_same_numbers_and_how_to_make_them_again(checkpoint, noise):
    result = explain(checkpoint, noise("L", (8, 8)))
    figure = go.Figure(go.Bar(x=[1], y=[42.5]))
    data = bundle(result, {"layers": figure}, ["python", "-m", "laya", "explain", "my image.png", "--model", "small"])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = {"README.txt", "explanation.json", "layers.csv", "settings.json", "plotly.min.js", "layers.html"}
        assert set(archive.namelist()) == names
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
