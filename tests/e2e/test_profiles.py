"""A person browses depth profiles."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from laya import checkpoints
from tests.conftest import pack
from tests.e2e.test_inspect import SAMPLES

FASHION = "fashion-mnist-mlp"
REPORT = checkpoints.read_profiles(checkpoints.find(FASHION))
CELLS = "() => document.querySelector('.st-key-profile-classes .js-plotly-plot')?.data?.[0]"


@pytest.fixture
def profiles(page: Page, url: str) -> Page:
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()  # the app is up
    page.goto(f"{url}/profiles?model={FASHION}", wait_until="domcontentloaded")
    page.wait_for_function(f"() => ({CELLS})()")
    return page


def labels(page: Page) -> list[str]:
    return [label.rpartition(" (")[0] for label in page.evaluate(f"() => ({CELLS})().y")]


def choose(page: Page, label: str, option: str) -> None:
    box = page.get_by_role("combobox", name=label, exact=False)
    box.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    box.click()
    page.get_by_role("option", name=option, exact=True).click()


def test_sort_click_overlay_and_right_against_wrong(profiles: Page):
    page = profiles
    choose(page, "Sorted by", "name")
    names = sorted(REPORT["classes"])
    page.wait_for_function(
        f"names => JSON.stringify(({CELLS})()?.y.map(y => y.split(' (')[0])) === names",
        arg=json.dumps(names, separators=(",", ":")),
    )
    # A click anywhere in a row opens its class.
    plot = page.locator(".st-key-profile-classes .js-plotly-plot")
    expect(plot).to_have_count(1)  # while one chart takes the place of another, both are there
    plot.scroll_into_view_if_needed()
    page.wait_for_timeout(1000)
    box = plot.locator(".nsewdrag").bounding_box()
    page.mouse.click(box["x"] + 4, box["y"] + box["height"] * (names.index("Sandal") + 0.5) / len(names))
    expect(page.get_by_text("Sandal, rightly")).to_be_visible()
    # Another class over it.
    choose(page, "Beside", "Bag")
    expect(page.get_by_text(f"Bag ({REPORT['classes']['Bag']['n']})").last).to_be_visible()
    # Right against wrong.
    page.get_by_role("radio", name="right − wrong").click()
    page.wait_for_function(f"() => ({CELLS})()?.zmin < 0")


def test_the_report_is_taken_away(profiles: Page):
    button = profiles.get_by_role("button", name="JSON")
    button.scroll_into_view_if_needed()
    with profiles.expect_download() as waiting:
        button.click()
    assert json.loads(Path(waiting.value.path()).read_text()) == REPORT


def test_a_zip_of_ones_own_is_profiled(profiles: Page):
    data = pack({f"{name}/1.png": SAMPLES[name].read_bytes() for name in ("Coat", "Bag")})
    profiles.get_by_role("radio", name="My pictures").click()
    expect(profiles.get_by_text("classes may be missing")).to_be_visible()
    profiles.locator('input[type="file"]').set_input_files(
        {"name": "mine.zip", "mimeType": "application/zip", "buffer": data}
    )
    expect(profiles.get_by_text("2 pictures in 2 folders.")).to_be_visible()
    profiles.get_by_role("button", name="Build the profile").click()
    expect(profiles.get_by_text("2 pictures of mine")).to_be_visible()
    profiles.wait_for_function(f"() => ({CELLS})()?.y.includes('Dress (no samples)')")


def test_small_values_are_as_light_or_dark_as_the_page(profiles: Page):
    red, green, blue = profiles.evaluate(
        "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert profiles.evaluate(f"() => ({CELLS})().colorscale[0][1]").lower() == f"#{red:02x}{green:02x}{blue:02x}"


def test_a_picture_unlike_its_class_is_explained_by_mouse_and_keyboard(profiles: Page):
    files = {f"{name}/{i}.png": SAMPLES[name].read_bytes() for name in ("Coat", "Bag") for i in range(2)}
    profiles.get_by_role("radio", name="My pictures").click()
    expect(profiles.get_by_text("classes may be missing")).to_be_visible()
    profiles.locator('input[type="file"]').set_input_files(
        {"name": "mine.zip", "mimeType": "application/zip", "buffer": pack(files)}
    )
    profiles.get_by_role("button", name="Build the profile").click()
    card = profiles.get_by_role("button", name="Coat/1.png")
    expect(card).to_contain_text("rightly predicted")
    picture = card.get_by_role("img", name="Coat/1.png")
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 168
    box = picture.bounding_box()
    assert box["width"] == pytest.approx(box["height"], abs=1)
    assert box["width"] > 90
    dialog = profiles.get_by_role("dialog")
    for press in (card.click, lambda: profiles.keyboard.press("Enter")):  # the card has the focus again
        press()
        expect(dialog.get_by_text("Prediction: Coat")).to_be_visible()
        expect(dialog.get_by_role("img", name="Coat/1.png")).to_be_visible()
        expect(dialog.locator(".js-plotly-plot")).to_have_count(2)
        profiles.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(card).to_be_focused()
    profiles.get_by_text("Numbers", exact=True).click()
    expect(profiles.get_by_role("cell", name="Coat/1.png")).to_be_visible()
