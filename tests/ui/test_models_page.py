"""The page Models, run by Streamlit's own test runner."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from laya import checkpoints
from laya.ui.models import _card
from tests.conftest import PROJECT, pack
from tests.ui.test_profiles_page import said

pytestmark = pytest.mark.filterwarnings("ignore")


def open_page() -> AppTest:
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60).run()
    return test.switch_page("pages/models.py").run()


def test_every_model_is_listed_with_its_figures(saved, monkeypatch):
    broken = saved.parent / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    monkeypatch.setenv("LAYA_CHECKPOINTS", str(saved.parent))
    app = open_page()
    assert not app.exception
    for entry in checkpoints.available():
        if entry.problem is None:
            assert entry.title in said(app)
            assert entry.name in said(app)
    assert f"accuracy {checkpoints.available()[0].accuracy:.1%} (test)" in said(app)
    assert "broken cannot be used" in app.warning[0].value.replace("\\", "")


def test_a_zip_is_a_model_for_this_session_alone(saved, monkeypatch):
    data = pack({file.name: file.read_bytes() for file in saved.iterdir()})
    app = open_page()
    app.file_uploader(key="model-zip").upload("mine.zip", data)
    app.run()
    assert not app.exception
    assert "ready" in app.success[0].value
    assert "mine · yours, for this session" in said(app)
    app.switch_page("pages/inspect.py").run()
    assert not app.exception
    assert app.selectbox(key="model").value == "mine"
    app.switch_page("pages/profiles.py").run()
    assert not app.exception
    assert "no profile of mine" in app.info[0].value.replace("\\", "")
    other = open_page()
    assert "yours" not in said(other)


def test_a_zip_that_is_no_model_is_refused_in_a_sentence():
    app = open_page()
    app.file_uploader(key="model-zip").upload("x.zip", b"no archive")
    app.run()
    assert not app.exception
    assert "not a zip archive" in app.error[0].value.replace("\\", "")
    assert not app.success


def test_a_card_is_shown_without_what_could_reach_out(tmp_path: Path):
    (tmp_path / "README.md").write_text(
        "---\nlicense: mit\n---\n\n# Title\n\nA [file](../x/README.md) and a [site](https://example.com).\n"
        "![spy](https://example.com/x.png)\n"
    )
    assert re.sub(r"\s+", " ", _card(tmp_path)) == "A file and a [site](https://example.com)."
    assert _card(tmp_path / "nowhere") == ""
