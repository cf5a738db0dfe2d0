"""The app under a path behind nginx: what only a proxy can spoil. The other browser tests go through it, too."""

import http.client
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from laya.inputs.images import MAX_BYTES
from tests.conftest import encode
from tests.e2e.conftest import NGINX, OPTIONS, visiting
from tests.e2e.test_inspect import SAMPLES, expect_answer, explained, upload

PAGES = {
    "Inspect": ("/", "At which depth was the decision made?"),
    "Compare": ("/compare", "Do the explanations agree?"),
    "Depth profiles": ("/profiles", "Every class"),
    "Evidence": ("/evidence", "Does it hold?"),
    "Models": ("/models", "Models"),
}


@pytest.fixture(autouse=True)
def behind(nginx: str | None) -> None:
    """Without a proxy there is nothing to test here."""
    if nginx is None:
        pytest.skip("no nginx here (Debian: apt-get install nginx)")


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
