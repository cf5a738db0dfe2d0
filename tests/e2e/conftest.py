"""The real app in a process of its own, and a real browser. Without Chromium these tests skip; in CI they fail."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.conftest import PROJECT
from tests.unplugged import MARK

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",  # a test pattern instead of a camera
    "--use-fake-ui-for-media-stream",
]


expect.set_options(timeout=90_000)  # a cold start of the largest model on a small, busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        reason = "no Chromium here (Debian: apt-get install chromium)"
        if os.environ.get("LAYA_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running app, shared by the tests."""
    with serving(tmp_path_factory.mktemp("app") / "log") as address:
        yield address


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def serving(log: Path, *options: str, path: str = "") -> Iterator[str]:
    """The address of a fresh app under ``path``; its output must hold no traceback at the end."""
    port = free_port()
    command = [sys.executable, "-m", "tests.unplugged", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.headless", "true", "--server.baseUrlPath", path, *options]
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=PROJECT, stdout=output, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}{path}"
    try:
        for _ in range(240):
            time.sleep(0.25)
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).close()
                break
            except OSError:
                if process.poll() is not None:
                    break
        else:
            pytest.fail("the app did not start: " + log.read_text())
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)  # a busy machine takes its time to take an interpreter with torch apart
    assert "Traceback" not in log.read_text()
    assert MARK not in log.read_text()


@pytest.fixture(params=["desktop", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, url: str) -> Iterator[Page]:
    """The open app at two sizes."""
    with visiting(browser, url, request.param) as opened:
        yield opened


@contextmanager
def visiting(browser: Browser, url: str, kind: str) -> Iterator[Page]:
    """The open app; it may ask only its own address for anything, and may not raise in the browser."""
    size = {"desktop": (1440, 900), "phone": (390, 844)}[kind]
    theme = {"desktop": "light", "phone": "dark"}[kind]
    opened = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    opened.set_default_timeout(90_000)
    faults: list[str] = []
    outside: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", lambda asked: outside.append(asked.url) if is_outside(asked.url, url) else None)
    opened.on("websocket", lambda asked: outside.append(asked.url) if is_outside(asked.url, url) else None)
    opened.goto(f"{url}/?model=fashion-mnist-mlp", wait_until="domcontentloaded")
    yield opened
    wide = opened.evaluate("document.documentElement.scrollWidth > window.innerWidth + 1")
    opened.close()
    assert faults == []
    assert outside == []
    assert not wide, "the page scrolls sideways"


def is_outside(address: str, url: str) -> bool:
    return not address.startswith((f"{url}/", f"ws{url.removeprefix('http')}/", "data:", "blob:"))
