"""The real app in a process of its own, behind a real proxy, and a real browser.

Without Chromium these tests skip, without nginx they go without the proxy; in CI either fails.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import server
from tests.conftest import PROJECT

FLAGS = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]  # a test pattern instead of a camera
GUIDE = (PROJECT / "docs" / "deployment.md").read_text()
NGINX = re.search(r"```nginx\n(.*?)```", GUIDE, re.DOTALL)[1]
OPTIONS = re.findall(r"^streamlit run app.py (.*--server.baseUrlPath=.*)$", GUIDE, re.MULTILINE)[0].split()

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
def nginx() -> str | None:
    """The program; None where it is not installed."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found is None and os.environ.get("LAYA_REQUIRE_BROWSER"):
        pytest.fail("no nginx here (Debian: apt-get install nginx)")
    return found


@pytest.fixture(scope="session")
def url(nginx: str | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running app, shared by the tests: under a path behind nginx, as docs/deployment.md has it.

    Without nginx it is the app's own.
    """
    folder = tmp_path_factory.mktemp("app")
    if nginx is None:
        with serving(folder / "log") as address:
            yield address
        return
    options = [option for option in OPTIONS if not option.startswith("--server.baseUrlPath")]
    with serving(folder / "log", *options, path="/laya") as app, proxied(nginx, folder, app) as address:
        yield address
    asked = [line.split('"')[1].split()[1] for line in (folder / "access").read_text().splitlines()]
    assert [path for path in asked if not path.startswith("/laya/") and path != "/laya"] == []


@contextmanager
def serving(log: Path, *options: str, path: str = "") -> Iterator[str]:
    """The address of a fresh app under ``path``; its output must hold no fault at the end."""
    with server.serving(log, *options, path=path) as app:
        yield app.address
    assert app.faults() == []


@contextmanager
def proxied(nginx: str, folder: Path, app: str) -> Iterator[str]:
    """The address of nginx before the app, unprivileged, with all that it writes in ``folder``."""
    port = server.free_port()
    site = NGINX.replace("listen 80;", f"listen 127.0.0.1:{port};")
    site = site.replace("127.0.0.1:8501", f"127.0.0.1:{urlsplit(app).port}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    config = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # else its worker is nobody, who may not write here
    config.write_text(
        f"daemon off; {user} pid {folder}/pid; error_log stderr; worker_processes 1; events {{}}\n"
        f"http {{ access_log {folder}/access; {places}\n{site} }}\n"
    )
    with (folder / "errors").open("w") as errors:
        command = [nginx, "-p", str(folder), "-e", "stderr", "-c", str(config)]
        process = subprocess.Popen(command, stdout=errors, stderr=errors)
    address = f"http://127.0.0.1:{port}/laya"
    try:
        server.wait_for(address, process, folder / "errors")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


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
