"""The app under a path behind nginx, with the configuration that docs/deployment.md gives."""

import http.client
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from laya.images import MAX_BYTES
from tests.conftest import PROJECT, encode
from tests.e2e.conftest import free_port, serving, visiting
from tests.e2e.test_inspect import (  # noqa: F401  # these journeys run again here, through the proxy
    SAMPLES,
    expect_answer,
    explained,
    test_a_bad_file_is_one_sentence_and_the_next_good_one_works,
    test_a_click_on_a_bar_shows_where,
    test_a_photo_from_the_camera_is_explained,
    test_an_uploaded_photograph_is_explained,
    test_removing_the_upload_clears_the_page,
    test_target_removal_and_temperature_are_followed,
    test_the_empty_page_teaches,
    test_the_numbers_can_be_taken_away,
    upload,
)

GUIDE = (PROJECT / "docs" / "deployment.md").read_text()
NGINX = re.search(r"```nginx\n(.*?)```", GUIDE, re.DOTALL)[1]
OPTIONS = re.findall(r"^streamlit run app.py (.*--server.baseUrlPath=.*)$", GUIDE, re.MULTILINE)[0].split()
PAGES = {
    "Inspect": ("/", "At which depth was the decision made?"),
    "Compare": ("/compare", "Do the explanations agree?"),
    "Depth profiles": ("/profiles", "Every class"),
    "Evidence": ("/evidence", "Does it hold?"),
    "Models": ("/models", "Models"),
}


@pytest.fixture(scope="module")
def nginx() -> str:
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found is None:
        reason = "no nginx here (Debian: apt-get install nginx)"
        if os.environ.get("LAYA_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@contextmanager
def proxied(nginx: str, folder: Path, app: str) -> Iterator[str]:
    """The address of nginx before the app, unprivileged, with all that it writes in ``folder``."""
    port = free_port()
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
        for _ in range(100):
            time.sleep(0.1)
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "errors").read_text()
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="module")
def url(nginx: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """In place of the app's own address, that of the proxy before it; everything here takes the way through it."""
    folder = tmp_path_factory.mktemp("proxy")
    options = [option for option in OPTIONS if not option.startswith("--server.baseUrlPath")]
    with serving(folder / "log", *options, path="/laya") as app, proxied(nginx, folder, app) as address:
        yield address
    asked = [line.split('"')[1].split()[1] for line in (folder / "access").read_text().splitlines()]
    assert [path for path in asked if not path.startswith("/laya/") and path != "/laya"] == []


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """The open app at one size; the other one makes no difference to a proxy."""
    with visiting(browser, url, "desktop") as opened:
        yield opened


def ask(address: str, method: str = "GET", headers: dict[str, str] | None = None, body: bytes = b"") -> tuple:
    """Status, headers and body of an answer; redirects are not followed."""
    split = urlsplit(address)
    with closing(http.client.HTTPConnection(split.hostname, split.port, timeout=30)) as connection:
        connection.request(method, split.path, body or None, headers or {})
        with connection.getresponse() as answer:
            return answer.status, answer.headers, b"" if answer.status == 101 else answer.read()


def test_every_page_opens_by_its_link_and_by_its_address(page: Page, url: str):
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()
    for title, (path, heading) in reversed(PAGES.items()):
        page.get_by_test_id("stTopNavLink").filter(has_text=title).click()
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        assert page.url.startswith(f"{url}{path}")
    for path, heading in PAGES.values():
        page.goto(f"{url}{path}", wait_until="domcontentloaded")
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    status, headers, _ = ask(url)
    assert (status, headers["Location"]) == (301, "/laya/")


def test_a_megabyte_passes_and_too_much_is_one_sentence(page: Page):
    photo = Image.effect_noise((1100, 1000), 90)
    data = encode(photo)
    assert 10**6 < len(data) < MAX_BYTES
    upload(page, "noise.png", data)
    result = explained(data)
    expect_answer(page, result)
    upload(page, "huge.png", encode(photo) + bytes(12 * 2**20))
    expect(page.get_by_text("File must be 10.0MB or smaller.")).to_be_visible()
    expect(page.get_by_text("AxiosError")).to_have_count(0)
    data = SAMPLES["Sandal"].read_bytes()
    upload(page, "good.png", data)
    expect_answer(page, explained(data))


def test_everything_about_an_image_is_taken_away(page: Page):
    page.get_by_role("button", name="Bag").click()
    expect_answer(page, explained(SAMPLES["Bag"]))
    page.get_by_text("Numbers").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Take it away (zip)").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert json.loads(archive.read("explanation.json"))["target"] == explained(SAMPLES["Bag"]).target_name


def test_an_upload_needs_the_token(url: str):
    cookie = ask(f"{url}/_stcore/health")[1]["Set-Cookie"].split(";")[0]
    token = {"Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2]}
    place = f"{url}/_stcore/upload_file/no-session/no-file"
    for headers in ({}, {"Cookie": cookie}, {"X-Xsrftoken": token["X-Xsrftoken"]}):
        for method in ("PUT", "DELETE"):
            assert ask(place, method, headers, b"x")[0] == 403
    assert ask(place, "PUT", token, b"x")[0] == 400  # past that check: there is no such session


def test_proxy_and_app_have_one_limit(url: str):
    proxy = int(re.search(r"client_max_body_size (\d+)m;", NGINX)[1])
    assert f"--server.maxUploadSize={proxy}" in OPTIONS
    assert proxy * 2**20 == MAX_BYTES
    status, headers, _ = ask(f"{url}/_stcore/upload_file/a/b", "PUT", {}, bytes(proxy * 2**20 + 1))
    assert status == 413
    assert headers["Server"].startswith("nginx")


def test_a_websocket_is_for_the_own_pages_alone(url: str):
    """The proxy refuses another's: the app would too, but only after asking the internet for its own address."""
    hello = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    hello["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    own = "http://" + urlsplit(url).netloc
    assert ask(f"{url}/_stcore/stream", headers=hello | {"Origin": own})[0] == 101
    for origin in ("http://example.com", own + ".example.com", "null"):
        assert ask(f"{url}/_stcore/stream", headers=hello | {"Origin": origin})[0] == 403


def test_what_is_not_public_is_not_there(url: str):
    for path in ("/_stcore/metrics", "/app/static/app.py", "/app.py", "/../app.py", "/.streamlit/config.toml"):
        status, _, body = ask(url + path)
        assert status in (400, 404) or b"<!doctype html>" in body.lower(), path
        assert b"import" not in body.split(b"<", 1)[0], path
