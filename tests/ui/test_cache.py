"""What sessions share, what they wait for, and what the server says about it."""

import gc
import io
import json
import logging
import threading
import time
import weakref

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from laya import checkpoints
from laya.ui import cache, logs, memory, queue
from tests.conftest import PROJECT

pytestmark = pytest.mark.filterwarnings("ignore")  # Streamlit warns about running outside its server


def test_eight_sessions_at_the_same_moment_load_a_model_once(saved, monkeypatch):
    load, seen = checkpoints.load, []

    def slow(name: str, device: torch.device | None = None) -> checkpoints.Checkpoint:
        seen.append(name)
        time.sleep(0.3)
        return load(name, device)

    monkeypatch.setattr(checkpoints, "load", slow)
    summary = checkpoints.summary(saved)
    found = []
    threads = [threading.Thread(target=lambda: found.append(cache.checkpoint(summary).model)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [str(saved)]
    assert len(found) == 8
    assert len({id(model) for model in found}) == 1
    st.cache_resource.clear()


def test_garbage_is_collected_once_a_minute_and_what_stays_is_not_looked_at_again(monkeypatch):
    class Session:
        """In a cycle with itself, as sessions are."""

        def __init__(self) -> None:
            self.itself = self

    gc.unfreeze()
    monkeypatch.setattr(memory, "_collected", 0.0)
    session = Session()
    gone = weakref.ref(session)
    memory.collect_garbage(now=1000.0)
    assert gc.get_freeze_count() > 10_000  # torch and Streamlit, above all
    del session
    gc.collect()
    memory.collect_garbage(now=1059.0)
    assert gone() is not None  # it was in use when the rest was put aside
    memory.collect_garbage(now=1060.0)
    assert gone() is None
    gc.unfreeze()


@pytest.fixture
def written(monkeypatch):
    """What the server writes, line by line."""
    monkeypatch.setenv(logs.LEVEL, "info")
    logs.set_up()
    logger = logging.getLogger("laya")
    stream = io.StringIO()
    logger.handlers[0].setStream(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


def open_app(**query: str) -> AppTest:
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    app.query_params["model"] = "fashion-mnist-mlp"
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def test_the_log_has_times_and_no_image_name_or_class(written):
    app = open_app()
    app.file_uploader(key="upload").upload("my-secret-boot.png", b"not a picture")
    app.run()
    sample = next(iter(checkpoints.samples("fashion-mnist-mlp").values()))
    app.file_uploader(key="upload").upload("my-secret-boot.png", sample.read_bytes())
    app.run()
    lines = written()
    assert {"refused", "computed"} <= {line["event"] for line in lines}
    done = [line for line in lines if line["event"] == "computed"]
    assert {"analysis", "explanation"} <= {line["what"] for line in done}
    for line in done:
        assert line.keys() == {"time", "level", "event", "what", "session", "request", "waited", "seconds"}
        assert line["seconds"] >= 0
        assert line["waited"] >= 0
    assert len({line["session"] for line in done}) == 1
    assert len({line["request"] for line in done}) == len(done)
    assert "secret" not in json.dumps(lines)


def test_without_the_variable_nothing_is_written(monkeypatch, capsys):
    monkeypatch.delenv(logs.LEVEL, raising=False)
    logs.set_up()
    logs.event("anything")
    assert capsys.readouterr().err == ""
    assert logging.getLogger("laya").handlers == []


def test_who_waits_is_told_and_gets_the_answer(monkeypatch):
    """Somebody else is at work when the page asks; he leaves after the page has said so."""
    line = queue.Queue(1)
    told = []
    free = threading.Event()

    def other() -> None:
        with line.slot(told.append):
            free.wait(20)

    threading.Thread(target=other, daemon=True).start()
    info = st.delta_generator.DeltaGenerator.info

    def see(self, body, **options):
        told.append(body)
        free.set()
        return info(self, body, **options)

    monkeypatch.setattr(st.delta_generator.DeltaGenerator, "info", see)
    monkeypatch.setattr(cache.keep, "__kwdefaults__", {"queue": line})
    app = open_app(sample="Ankle boot")
    assert told == ["Waiting: 1 computation comes first."]
    assert not app.exception
    assert app.get("plotly_chart")
    assert not app.info  # the word to those who wait has gone


def test_a_full_gpu_sends_the_session_to_the_processor(monkeypatch):
    """The first pass raises as a full GPU does; the session starts again on the CPU and answers."""
    from laya.ui import analysis

    trace, asked = analysis.trace_image, []

    def full_at_first(checkpoint, prepared):
        asked.append(checkpoint)
        if len(asked) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return trace(checkpoint, prepared)

    monkeypatch.setattr(analysis, "trace_image", full_at_first)
    app = open_app(sample="Ankle boot")
    assert not app.exception
    assert app.session_state["device"] == "cpu"
    assert app.get("plotly_chart")
    assert asked[1].device.type == "cpu"
    assert asked[0] is not asked[1]


def test_a_full_memory_is_a_sentence(monkeypatch):
    from laya.ui import analysis

    def full(checkpoint, prepared):
        raise MemoryError

    monkeypatch.setattr(analysis, "trace_image", full)
    app = open_app(sample="Ankle boot")
    assert not app.exception
    assert [error.value.endswith(r"try a smaller model or fewer pictures\.") for error in app.error] == [True]
