"""A person puts things side by side."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from laya import checkpoints
from laya.checkpoints import load
from laya.explanation import explain, trace_image
from laya.explanation.comparison import where
from laya.inputs.images import read
from laya.inputs.preprocessing import prepare
from tests.e2e.test_inspect import open_up

ART = "best-artworks-vit"
STRIP = (
    "() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => plot.data)"
    ".find(data => data && data.length === 12 && data.every(trace => trace.type === 'heatmap'))"
)


def open_compare(page: Page, address: str) -> None:
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()  # the app is up
    page.goto(f"{address}/compare?model={ART}&sample=Lines and primaries", wait_until="domcontentloaded")
    expect(page.get_by_text("Prediction:")).to_be_visible()


def test_methods_images_and_models(page: Page, url: str):
    open_compare(page, url)
    # Maps: as many as blocks, with the library's values, top row first.
    checkpoint = load(ART)
    file = checkpoints.samples(ART)["Lines and primaries"]
    trace = trace_image(checkpoint, prepare(read(file.read_bytes()).image, checkpoint.preprocessing).image)
    target = checkpoint.classes[int(trace.logits.argmax())]
    page.get_by_text("Where in the picture, at each depth?").scroll_into_view_if_needed()
    page.wait_for_function(f"() => ({STRIP})()")
    drawn = page.evaluate(f"() => ({STRIP})().map(trace => [trace.z[0][0], trace.z[15][3]])")
    for shown, each in zip(drawn, where(checkpoint, trace, target), strict=True):
        assert shown == pytest.approx([float(each.values[0, 0]), float(each.values[15, 3])], abs=1e-6)
    # What if: a weight is set to 0, and back.
    open_up(page, page.get_by_text("What if the attention were another?"))
    told = page.get_by_text("instead of")
    expect(told).to_be_visible()
    before = told.inner_text()
    first = page.get_by_role("slider", name=checkpoint.model.layers[0])
    first.focus()
    first.press("End")  # all the weight that a slider can give, to the first layer
    expect(told).not_to_have_text(before)
    # Two images, then two models.
    page.get_by_role("radio", name="Images").scroll_into_view_if_needed()
    page.get_by_role("radio", name="Images").click()
    expect(page.locator(".laya-verdict")).to_contain_text("of the attention lies on other layers")
    page.get_by_role("radio", name="Models").click()
    expect(page.get_by_text("equal areas are equal shares")).to_be_visible()
    expect(page).to_have_url(re.compile("view=Models"))


def test_total_effects_run_and_can_be_stopped(page: Page, url: str):
    open_compare(page, url)
    open_up(page, page.get_by_text("Total effects: what a layer passes on"))
    expect(page.get_by_text(re.compile(r"takes about \d+ (s|minutes)"))).to_be_visible()
    page.get_by_role("button", name="Measure the total effects").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Measure the total effects")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)


def test_who_waits_sees_it_and_a_closed_tab_makes_room(page: Page, browser: Browser, url: str):
    first = browser.new_page()
    for each in (first, page):
        each.goto(f"{url}/compare?model={ART}&sample=Lines and primaries", wait_until="domcontentloaded")
        expect(each.get_by_text("Prediction:")).to_be_visible()
        open_up(each, each.get_by_text("Total effects: what a layer passes on"))
    measure = "Measure the total effects"
    first.get_by_role("button", name=measure).click()
    expect(first.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name=measure).click()
    waiting = page.get_by_text("Waiting: 1 computation comes first.")
    expect(waiting).to_be_visible()
    expect(first.get_by_text("Waiting:")).to_have_count(0)
    first.close()
    expect(waiting).to_have_count(0)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name=measure)).to_be_visible()


def test_the_bundle_holds_what_the_page_shows(page: Page, url: str):
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()
    page.goto(f"{url}/compare?model=fashion-mnist-mlp&sample=Coat", wait_until="domcontentloaded")
    expect(page.get_by_text("Prediction:")).to_be_visible()
    button = page.get_by_role("button", name="Take it away (zip)")
    button.scroll_into_view_if_needed()
    with page.expect_download() as waiting:
        button.click()
    with zipfile.ZipFile(waiting.value.path()) as archive:
        told = json.loads(archive.read("explanation.json"))
        names = {Path(name).stem for name in archive.namelist() if name.endswith(".png")}
        assert names == {Path(name).stem for name in archive.namelist() if name.endswith(".html")}
        assert archive.read("depth.png").startswith(b"\x89PNG")
    result = explain(load("fashion-mnist-mlp"), checkpoints.samples("fashion-mnist-mlp")["Coat"])
    assert told["target"] == result.target_name
    assert told["attributions"] == {
        method: pytest.approx(list(values), abs=1e-6) for method, values in result.attributions.items()
    }
