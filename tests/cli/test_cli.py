"""The command line: the contract, and mistakes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from laya import checkpoints
from laya.checkpoints import load
from laya.cli import main
from laya.data import open_dataset
from laya.explanation import explain
from laya.studies.evaluation import evaluate
from tests.conftest import CLASSES, PROJECT, encode, only_checkpoints


@pytest.fixture
def run(monkeypatch, capsys, saved) -> Callable[..., SimpleNamespace]:
    """The command line, with the small checkpoint under its root."""
    only_checkpoints(monkeypatch, saved.parent)

    def call(*args: object) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["laya", *map(str, args)])
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=out, stderr=err)

    return call


@pytest.fixture
def picture(tmp_path, noise) -> Path:
    file = tmp_path / "picture.png"
    file.write_bytes(encode(noise("L", (8, 8))))
    return file


@pytest.fixture
def folder(tmp_path, noise) -> Path:
    for number, name in enumerate(CLASSES):
        (tmp_path / "data" / name).mkdir(parents=True)
        for k in range(12):
            noise("L", (8, 8), seed=10 * number + k).save(tmp_path / "data" / name / f"{k}.png")
    return tmp_path / "data"


def test_more_folders_of_checkpoints_can_be_named(run, saved, tmp_path):
    more = [tmp_path / "more", tmp_path / "and more"]
    for number, folder in enumerate(more):
        shutil.copytree(saved, folder / f"copy-{number}")
    found = run("--checkpoints", more[0], "--checkpoints", more[1], "list", "--json")
    assert [entry["name"] for entry in json.loads(found.stdout)] == ["copy-0", "copy-1", "small"]
    assert run("--checkpoints", tmp_path / "nowhere", "list").returncode == 2


def test_list(run):
    answer = json.loads(run("list", "--json").stdout)
    assert [(row["name"], row["classes"], row["problem"]) for row in answer] == [("small", 3, None)]
    assert "small" in run("list").stdout


def test_explain(run, saved, picture, checkpoint, tmp_path):
    done = run("explain", picture, "--model", "small", "--target", "blue", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    expected = json.loads(json.dumps(explain(checkpoint, picture, target="blue").to_dict()))
    assert answer.pop("seconds").keys() == expected.pop("seconds").keys()
    assert answer == expected
    table = run("explain", picture, "--model", saved, "--out", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["model"] == "small"
    assert "Attention" in table.stdout
    shown = " ".join(table.stdout.split())
    assert explain(checkpoint, picture).summary() in shown
    assert answer["note"] in shown
    assert "faithful on" not in shown
    chart = run("explain", picture, "--model", saved, "--out", tmp_path / "out.html", "--removed", "zero-state")
    assert chart.returncode == 0, chart.stderr
    assert "Integrated Gradients" in (tmp_path / "out.html").read_text()


def test_explain_tells_whether_to_believe_the_attention(run, saved, picture, tmp_path):
    figures = {"spearman": {"mean": 0.3, "low": 0.29, "high": 0.32, "n": 80}}
    weights = json.loads((saved / "config.json").read_text())["weights_sha256"]
    card = {"weights_sha256": weights, "split": "test", "faithfulness": {"alpha": figures}}
    (saved / "metrics.json").write_text(json.dumps(card))
    done = run("explain", picture, "--model", "small", "--out", tmp_path / "out.html")
    shown = " ".join(done.stdout.split())
    assert "This model’s attention is no guide to its decision (faithfulness 0.30 on test images); by " in shown
    assert "Attention: not faithful on test images (0.30)" in shown
    assert "attention is no guide to its decision" in (tmp_path / "out.html").read_text()
    answer = json.loads(run("explain", picture, "--model", "small", "--json").stdout)
    assert answer["summary"] in shown
    assert answer["trust"]["methods"]["alpha"]["verdict"] == "not faithful"


def test_evaluate(run, saved, folder):
    (folder / "red" / "bad.png").write_bytes(b"bad")
    done = run("evaluate", "--model", saved, "--data", folder, "--json", "--removed", "renormalise")
    assert done.returncode == 0, done.stderr
    from laya.attribution import Settings

    expected = evaluate(load(str(saved)), open_dataset(str(folder)), settings=Settings(removal="renormalise"))
    assert json.loads(done.stdout) == json.loads(json.dumps(expected))
    assert "red/bad.png" in done.stderr
    assert "1 unreadable files were left out" in done.stderr
    table = run("evaluate", "--model", saved, "--data", folder, "--limit", 3)
    assert expected["note"] in " ".join(table.stdout.split())
    assert "measuring: 37 of 37" in done.stderr


def test_what_a_person_should_know_of_the_data_is_said(run, saved, folder):
    shutil.rmtree(folder / "red")
    (folder / "blue" / "Thumbs.db").write_bytes(b"x")
    note = "1 file is no picture and is passed over: blue/Thumbs.db."
    done = run("evaluate", "--model", saved, "--data", folder)
    assert done.returncode == 0, done.stderr
    assert note in " ".join(done.stderr.split())
    assert "There are no pictures of red; macro-F1 is over the classes that occur." in " ".join(done.stderr.split())
    assert note in " ".join(run("profile", "--model", saved, "--data", folder).stderr.split())
    assert note in " ".join(run("check", "--data", folder).stdout.split())
    report = json.loads(run("check", "--data", folder, "--json").stdout)
    assert report["notes"] == [note]
    assert note in report["complaints"]


def test_a_training_leaves_out_what_cannot_be_read_unless_it_is_strict(run, folder, tmp_path):
    (folder / "red" / "bad.png").write_bytes(b"bad")
    asked = ("train", "--data", folder, "--epochs", "1", "--out", tmp_path / "out")
    strict = run(*asked, "--strict")
    assert strict.returncode == 2
    assert "laya: 1 pictures cannot be read: red/bad.png (" in strict.stderr
    done = run(*asked)
    assert done.returncode == 0, done.stderr
    assert "1 pictures of the part 'all' cannot be read and are left out: red/bad.png" in " ".join(done.stderr.split())


def test_train_then_verify(run, folder, tmp_path):
    out = tmp_path / "trained"
    done = run("train", "--data", folder, "--head", "concat", "--epochs", "2", "--seed", "3", "--out", out)
    assert done.returncode == 0, done.stderr
    training = checkpoints.read_config(out)["training"]
    assert (training["head"], training["epochs"], training["seed"]) == ("concat", 2, 3)
    assert f"python -m laya train --data {folder} --head concat --epochs 2 --seed 3" in (out / "README.md").read_text()
    checked = run("verify", out)
    assert checked.returncode == 0, checked.stderr
    assert "trained: ok: loads strictly" in checked.stdout
    (out / "model.safetensors").write_bytes(b"")
    broken = run("verify", out)
    assert (broken.returncode, broken.stderr) == (2, "laya: Not as their cards say: trained.\n")
    assert "trained: FAILED: The weights of 'trained' are an empty file" in broken.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Missing command; see python -m laya --help"),
        (["explode"], "No such command 'explode'; see python -m laya --help"),
        (["explain"], "Missing argument"),
        (["explain", "x.png"], "Missing option '--model'; see python -m laya explain --help"),
        (["explain", "no.png", "--model", "small"], "The file 'no.png' cannot be read: No such file or directory."),
        (["explain", "PICTURE", "--model", "smal"], "no checkpoint called 'smal'. Did you mean 'small'? Known: small."),
        (["explain", "PICTURE", "--model", "small", "--target", "re"], "no class called 're'. Did you mean 'red'?"),
        (
            ["explain", "PICTURE", "--model", "small", "--tau", "0"],
            "tau must be a number from 0.001 to 1000000, not 0.0.",
        ),
        (["explain", "PICTURE", "--model", "small", "--removed", "x"], "no meaning of removal called 'x'"),
        (["explain", "PICTURE", "--model", "small", "--out", "x.docx"], "ends in .json or .html, not 'x.docx'"),
        (["explain", "LICENSE", "--model", "small"], "not a picture in a known format, which cannot be read here"),
        (
            ["evaluate", "--model", "small", "--data", "nowhere"],
            "neither a folder nor a parquet or CSV file nor a known data set",
        ),
        (["train", "--out", "x"], "The training settings name no data"),
        (["train", "--data", "fashion-mnist", "--out", "x", "--head", "mean"], "no head called 'mean'"),
        (["train", "--config", "no.toml", "--out", "x"], "The settings file 'no.toml' cannot be read."),
        (["explain", "PICTURE", "--model", "small", "--out", "LICENSE/x.json"], "'x.json' cannot be written there"),
        (["evaluate", "--model", "small", "--data", "x", "--seed", "-1"], "Invalid value for '--seed'"),
        (["verify", "smal"], "no checkpoint called 'smal'. Did you mean 'small'?"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(run, picture, args, message):
    done = run(*(picture if arg == "PICTURE" else arg for arg in args))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("laya: ")
    assert message in line


def test_names_are_no_markup(run, saved):
    config = json.loads((saved / "config.json").read_text()) | {
        "title": "[/nope] [bold]x",
        "classes": ["[/x]", "b", "c"],
    }
    (saved / "config.json").write_text(json.dumps(config))
    assert "[/nope] [bold]x" in run("list").stdout
    done = run("explain", PROJECT / "docs" / "inspect.png", "--model", "small", "--target", "[/x]")
    assert done.returncode == 0, done.stderr
    assert "[/x]" in done.stdout


def test_as_a_module_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-m", "laya", "explode"], cwd=PROJECT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "laya: No such command 'explode'; see python -m laya --help\n"


def test_help_does_not_wait_for_torch():
    code = "import sys, laya.cli; sys.exit('torch' in sys.modules or 'streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT).returncode == 0
    code = "import sys, laya.checkpoints as c; c.available(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT).returncode == 0


def test_a_picture_that_is_only_a_name_is_no_path(run, saved, tmp_path):
    file = tmp_path / "a;b $(x).png"
    Image.new("L", (8, 8)).save(file)
    assert run("explain", file, "--model", saved, "--json").returncode == 0


def test_a_name_that_is_no_text_is_one_line(run):
    done = run("list", "\udcff")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "\\udcff" in done.stderr


def test_settings_that_are_nested_without_end_are_one_line(run, tmp_path):
    (tmp_path / "deep.toml").write_text(f"data = {'[' * 5000}")
    done = run("train", "--config", tmp_path / "deep.toml", "--out", tmp_path / "out")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "'deep.toml' is not valid TOML" in done.stderr
