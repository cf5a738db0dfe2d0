"""Faults around it: full disks, killed processes, files that change, memory that ends, clocks that jump."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from laya import checkpoints
from laya.checkpoints import CONFIG, PROFILES, WEIGHTS, load
from laya.data import rows
from laya.data.rows import Rows
from laya.device import within_memory
from laya.errors import LayaError
from laya.explanation import explain
from laya.training import train
from tests.conftest import CLASSES, PREPROCESSING, PROJECT, encode, make_model, only_checkpoints
from tests.training.test_training import PLAIN, config, toy

FULL = OSError(errno.ENOSPC, "No space left on device")


# --- the disk is full -------------------------------------------------------------------------------------------------


def fails(after: int, call: Callable[..., object]) -> Callable[..., object]:
    """The call, which works so many times and then finds the disk full."""
    left = after

    def limited(*args: object, **kwargs: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise FULL
        return call(*args, **kwargs)

    return limited


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_in_training_loses_nothing(call, tmp_path, monkeypatch):
    unbroken = train(config(), toy(), PLAIN, tmp_path / "unbroken")
    state = tmp_path / "state"
    with monkeypatch.context() as patch:
        module, name = (os, "fsync") if call == "os.fsync" else (Path, "replace")
        patch.setattr(module, name, fails(3, getattr(module, name)))
        with pytest.raises(LayaError, match=r"^'state' cannot be written there: No space left on device\.$"):
            train(config(), toy(), PLAIN, state)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    resumed = train(config(), toy(), PLAIN, state, resume=True)
    assert [epoch.loss for epoch in resumed.history] == [epoch.loss for epoch in unbroken.history]
    for (name, a), b in zip(unbroken.model.state_dict().items(), resumed.model.state_dict().values(), strict=True):
        assert torch.equal(a, b), name


def test_a_full_disk_at_the_weights_leaves_the_old_checkpoint(saved, monkeypatch):
    before = load(str(saved)).identity
    monkeypatch.setattr("os.fsync", fails(0, os.fsync))
    with pytest.raises(LayaError, match=rf"^'{WEIGHTS}' cannot be written there: No space left on device\.$"):
        checkpoints.save(saved, make_model("concat"), CLASSES, PREPROCESSING, title="Other", training={})
    assert load(str(saved)).identity == before
    assert sorted(file.name for file in saved.iterdir()) == [CONFIG, WEIGHTS]


@pytest.mark.parametrize("when", ["reserving", "flushing", "counting"])
def test_a_full_disk_at_the_hidden_states_is_said_and_the_rows_before_stay(when, tmp_path, monkeypatch):
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path / "cache"))
    recipe = config(frozen=True, epochs=1)
    with monkeypatch.context() as patch:
        if when == "reserving":
            patch.setattr("os.posix_fallocate", fails(0, os.posix_fallocate))
        elif when == "flushing":
            patch.setattr(np.memmap, "flush", fails(2, np.memmap.flush))
        else:
            patch.setattr("os.fsync", fails(2, os.fsync))
        with pytest.raises(LayaError, match=r"cannot be written.*: No space left on device\.$"):
            train(recipe, toy(), PLAIN, tmp_path / "state")
    said: list[int] = []
    train(
        *(recipe, toy(), PLAIN, tmp_path / "state"),
        on_progress=lambda what, done, total: said.append(done) if what == "reading hidden states" else None,
    )
    assert said[0] == (16 if when == "reserving" else 48)  # two batches of 16 were kept


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system reserves no space")
def test_the_space_of_a_table_is_taken_when_it_is_made(tmp_path):
    """A file that may not grow, as on a full disk: a sentence now, not the end of the process at a later row."""
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from laya.data.rows import Rows; from laya.errors import LayaError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "try: Rows(Path(sys.argv[1]), (10_000, 10))\n"
        "except LayaError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t.npy")], cwd=PROJECT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "The cache cannot be written: File too large.\n", "")
    table = Rows(tmp_path / "u.npy", (1000, 10))
    assert (tmp_path / "u.partial.npy").stat().st_blocks * 512 >= 1000 * 10 * 4
    assert table.done == 0


def test_a_damaged_cache_is_named(tmp_path):
    file = tmp_path / "t.npy"
    table = Rows(file, (10, 3))
    table.array[:] = 1
    table.finish()
    assert np.array_equal(rows.read(file), np.ones((10, 3), np.float32))
    whole = file.read_bytes()
    for data in (b"", whole[:50], whole[:-9]):
        file.write_bytes(data)
        with pytest.raises(
            LayaError, match=r"^The cached file 't\.npy' is damaged; delete it, and it is made again\.$"
        ):
            rows.read(file)


# --- killed -----------------------------------------------------------------------------------------------------------

SAVING = """
import sys, torch
from pathlib import Path
from laya import checkpoints
from tests.conftest import CLASSES, PREPROCESSING, make_model
model, number = make_model(), 0
print("ready", flush=True)
while True:
    number += 1
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(number)
    checkpoints.save(Path(sys.argv[1]), model, CLASSES, PREPROCESSING, title=str(number), training={})
"""


def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_checkpoint_or_a_refused_one(tmp_path):
    draw, folder = random.Random(0), tmp_path / "model"
    answers = set()
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", SAVING, str(folder)], cwd=PROJECT, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(draw.uniform(0.0, 0.2))
            process.send_signal(signal.SIGKILL)
        if not folder.exists():
            continue
        try:
            state = load(str(folder), torch.device("cpu")).model.state_dict()
        except LayaError as error:
            answers.add(str(error))
            continue
        (value,) = {float(each) for tensor in state.values() for each in tensor.flatten()}
        assert str(int(value)) == checkpoints.read_config(folder)["title"]  # weights and config of one save
        answers.add("whole")
    assert "whole" in answers
    assert answers <= {
        "whole",
        "The weights of 'model' are not the ones that its config.json names; copy both again.",
        "'model' has no config.json, so it is not a checkpoint.",
    }


def test_what_a_kill_leaves_behind_is_no_part_of_the_checkpoint(saved):
    before = load(str(saved)).identity
    (saved / f".{WEIGHTS}.123.tmp").write_bytes(b"half")
    assert load(str(saved)).identity == before
    assert checkpoints.summary(saved).problem is None


# --- files change under the running app -------------------------------------------------------------------------------


@pytest.fixture
def app(saved, noise, monkeypatch) -> AppTest:
    """The page Inspect with an image that was explained by a checkpoint of its own."""
    only_checkpoints(monkeypatch, saved.parent)
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60).run()
    test.file_uploader(key="upload").upload("x.png", encode(noise()))
    test.run()
    assert len(test.get("plotly_chart")) == 2
    return test


def said(app: AppTest) -> str:
    return " ".join(each.value for each in (*app.error, *app.warning)).replace("\\", "")


streamlit = pytest.mark.filterwarnings("ignore")  # Streamlit warns about running outside its server


@streamlit
@pytest.mark.parametrize("page", ["inspect", "compare", "profiles", "models"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "There is no model yet."),
        (lambda folder: (folder / WEIGHTS).unlink(), f"'small' has no {WEIGHTS}."),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"half"), "The weights of 'small' are cut off"),
        (lambda folder: (folder / CONFIG).write_text("{"), "The config.json of 'small' is not readable JSON."),
    ],
)
def test_a_checkpoint_that_breaks_under_the_app_is_said(page, damage, message, app, saved):
    damage(saved)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    if page != "models" and not (page == "profiles" and "cut off" in message):  # those that do not read the weights
        assert message in said(app)
    assert str(saved.parent) not in said(app)


@streamlit
def test_a_checkpoint_that_is_replaced_under_the_app_is_read_again(app, saved, noise):
    before = checkpoints.load(str(saved)).identity
    checkpoints.save(saved, make_model("concat"), ("one", "two", "three"), PREPROCESSING, title="New", training={})
    app.run()
    assert not app.exception
    assert checkpoints.load(str(saved)).identity != before
    expected = explain(load(str(saved)), encode(noise())).summary()
    assert any(expected in each.proto.body for each in app.get("html"))


@streamlit
def test_a_checkpoint_that_is_replaced_within_one_tick_of_the_clock_is_read_again(app, saved, noise):
    then = {name: (saved / name).stat().st_mtime_ns for name in (CONFIG, WEIGHTS)}
    checkpoints.save(saved, make_model("concat"), CLASSES, PREPROCESSING, title="New", training={})
    for name, moment in then.items():
        os.utime(saved / name, ns=(moment, moment))
    app.run()
    assert not app.exception
    expected = explain(load(str(saved)), encode(noise())).summary()
    assert any(expected in each.proto.body for each in app.get("html"))


@streamlit
@pytest.mark.parametrize("text", ["{", '{"weights_sha256": "HASH", "layers": 3}'])
def test_damaged_profiles_are_said_and_the_explanation_stays(text, app, saved):
    (saved / PROFILES).write_text(text.replace("HASH", checkpoints.read_config(saved)["weights_sha256"]))
    app.run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 2
    assert "The profiles.json of 'small' " in said(app)
    app.switch_page("pages/profiles.py").run()
    assert not app.exception
    assert "The profiles.json of 'small' " in said(app)


@streamlit
def test_a_sample_that_vanishes_is_no_longer_chosen(saved, noise, monkeypatch):
    only_checkpoints(monkeypatch, saved.parent)
    (saved / "samples").mkdir()
    file = saved / "samples" / "1_one.png"
    file.write_bytes(encode(noise()))
    listed = checkpoints.samples(str(saved))
    monkeypatch.setattr(checkpoints, "samples", lambda name: listed)
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60).run()
    app.query_params["sample"] = "One"
    monkeypatch.setattr(Path, "read_bytes", lambda self: (_ for _ in ()).throw(FileNotFoundError(self)))
    app.button(key="sample-One").click().run()
    assert not app.exception
    assert not app.get("plotly_chart")


# --- the memory ends --------------------------------------------------------------------------------------------------


def out_of_memory(*args: object, **kwargs: object) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


GPU = r"^The GPU has no memory left for this; try again later, or start with CUDA_VISIBLE_DEVICES set to nothing"


def test_a_gpu_without_room_for_the_model_leaves_it_to_the_cpu(saved, monkeypatch):
    move = torch.nn.Module.to
    monkeypatch.setattr("laya.device.pick_device", lambda: torch.device("meta"))  # stands for the GPU that is full
    monkeypatch.setattr(
        torch.nn.Module, "to", lambda self, where: out_of_memory() if where.type == "meta" else move(self, where)
    )
    assert load(str(saved)).device == torch.device("cpu")
    with pytest.raises(LayaError, match=GPU):
        load(str(saved), torch.device("meta"))


def test_a_gpu_that_runs_full_is_a_sentence(checkpoint, noise, tmp_path, monkeypatch):
    picture = encode(noise())
    expected = explain(checkpoint, picture).attributions
    with monkeypatch.context() as patch:
        patch.setattr("laya.backbones.mlp.MLP.forward", out_of_memory)
        with pytest.raises(LayaError, match=GPU):
            explain(checkpoint, picture)
        with pytest.raises(LayaError, match=GPU):
            train(config(), toy(), PLAIN, tmp_path / "state")
        monkeypatch.setenv("LAYA_CACHE", str(tmp_path))
        with pytest.raises(LayaError, match=GPU):
            train(config(frozen=True), toy(), PLAIN, tmp_path / "state")
    assert explain(checkpoint, picture).attributions == expected


@streamlit
def test_a_gpu_that_runs_full_does_not_end_the_page(app, noise, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("laya.backbones.mlp.MLP.forward", out_of_memory)
        app.file_uploader(key="upload").upload("y.png", encode(noise(seed=1)))
        app.run()
        assert not app.exception
        assert "The GPU has no memory left for this" in said(app)
    app.file_uploader(key="upload").upload("z.png", encode(noise(seed=2)))
    app.run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 2


def test_a_machine_without_memory_is_a_sentence_and_other_errors_stay_themselves():
    with pytest.raises(LayaError, match=r"^There is not enough memory for this; try a smaller model"), within_memory():
        torch.empty(2**60)
    with pytest.raises(LayaError, match="not enough memory"), within_memory():
        raise MemoryError
    with pytest.raises(RuntimeError, match="another"), within_memory():
        raise RuntimeError("another")


# --- the clock jumps --------------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_changes_no_duration(checkpoint, noise, tmp_path, monkeypatch):
    backwards = iter(range(10**9, 0, -(10**4)))
    monkeypatch.setattr(time, "time", lambda: float(next(backwards)))
    seconds = explain(checkpoint, encode(noise())).seconds
    assert 0 <= seconds.forward <= seconds.total < 300
    assert 0 < seconds.attribution < 300
    assert all(0 < epoch.seconds < 300 for epoch in train(config(epochs=2), toy(), PLAIN, tmp_path / "s").history)


@streamlit
@pytest.mark.parametrize("shift", [-(10**9), 10**8])
def test_a_file_from_another_time_is_read_again(shift, app, saved, noise):
    checkpoints.save(saved, make_model("concat"), CLASSES, PREPROCESSING, title="New", training={})
    then = time.time() + shift
    for name in (CONFIG, WEIGHTS):
        os.utime(saved / name, (then, then))
    app.run()
    assert not app.exception
    expected = explain(load(str(saved)), encode(noise())).summary()
    assert any(expected in each.proto.body for each in app.get("html"))
