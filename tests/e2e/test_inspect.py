"""A person inspects images: what the browser shows must be what the library says."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from laya import checkpoints
from laya.attribution import Settings
from laya.checkpoints import load
from laya.explanation import Explanation, explain
from tests.conftest import PROJECT, encode

SAMPLES = checkpoints.samples("fashion-mnist-mlp")
TRACES = "() => document.querySelectorAll('.js-plotly-plot')[0].data.filter(trace => trace.type === 'bar')"


def explained(image: bytes | Path, **options: object) -> Explanation:
    return explain(load("fashion-mnist-mlp"), image, **options)


def upload(page: Page, name: str, data: bytes) -> None:
    page.locator('input[type="file"]').first.set_input_files({"name": name, "mimeType": "image/png", "buffer": data})


def expect_answer(page: Page, result: Explanation) -> None:
    expect(page.locator(".laya-verdict")).to_have_text(result.summary())


def open_up(page: Page, control: Locator) -> None:
    """Open a list or a dialogue as a person does: scroll to it first, for it closes when the page scrolls under it."""
    control.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    control.click()


def test_the_empty_page_teaches(page: Page):
    expect(page.get_by_role("heading", name="At which depth was the decision made?")).to_be_visible()
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()
    expect(page.get_by_text(re.compile("running on (CPU|CUDA)"))).to_be_visible()


def test_an_uploaded_photograph_is_explained(page: Page):
    data = SAMPLES["Blue t-shirt"].read_bytes()
    upload(page, "my shirt.png", data)
    result = explained(data)
    expect_answer(page, result)
    expect(page.get_by_text(f"Prediction: {result.predictions[0][0]}, {result.predictions[0][1]:.1%}")).to_be_visible()
    expect(page.get_by_text("my shirt.png: cropped to the object")).to_be_visible()
    # The chart holds every method's shares and raw values, as the library computed them.
    page.wait_for_selector(".js-plotly-plot .bars path", state="attached")
    bars = page.evaluate(f"() => ({TRACES})().map(trace => [trace.name, [...trace.customdata].map(row => row[1])])")
    assert dict(bars) == {scores.label: pytest.approx(list(scores.values)) for scores in result.scores}
    # Raw values on hover.
    alpha = result.attributions["alpha"]
    tallest = page.locator(".js-plotly-plot .bars").first.locator("path").nth(alpha.index(max(alpha)))
    tallest.scroll_into_view_if_needed()
    box = tallest.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".js-plotly-plot .hoverlayer").first).to_contain_text("raw")


def test_target_removal_and_temperature_are_followed(page: Page):
    page.get_by_role("button", name="Coat").click()
    expect_answer(page, explained(SAMPLES["Coat"]))
    open_up(page, page.get_by_role("combobox", name="Explained class"))
    page.get_by_role("option", name="Shirt", exact=True).click()
    expect_answer(page, explained(SAMPLES["Coat"], target="Shirt"))
    page.get_by_role("radio", name="zero-state").or_(page.get_by_role("button", name="zero-state")).first.click()
    settings = Settings(removal="zero-state")
    expect_answer(page, explained(SAMPLES["Coat"], target="Shirt", settings=settings))
    open_up(page, page.get_by_role("button", name="More"))
    page.get_by_role("slider", name="Temperature").press("ArrowRight")
    settings = Settings(tau=3.0, removal="zero-state")
    expect_answer(page, explained(SAMPLES["Coat"], target="Shirt", settings=settings))
    page.keyboard.press("Escape")


def test_a_bad_file_is_one_sentence_and_the_next_good_one_works(page: Page):
    cut = encode(Image.effect_noise((64, 64), 90).convert("RGB"), "JPEG")[:900]
    upload(page, "cut.jpg", cut)
    expect(page.get_by_role("alert")).to_have_text(re.compile(r"cut\.jpg: The file is incomplete or damaged"))
    body = page.locator("body").inner_text()
    assert "Traceback" not in body
    assert str(PROJECT) not in body
    expect(page.locator(".laya-verdict")).to_have_count(0)
    data = SAMPLES["Sandal"].read_bytes()
    upload(page, "good.png", data)
    expect_answer(page, explained(data))
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_turned_phone_photo_is_shown_upright(page: Page):
    upright = Image.new("RGB", (300, 400), "white")
    upright.paste("navy", (100, 50, 200, 350))
    exif = Image.Exif()
    exif[0x0112] = 6
    upload(page, "IMG_1.JPG", encode(upright.transpose(Image.Transpose.ROTATE_90), "JPEG", exif=exif))
    image = page.get_by_alt_text("The image IMG_1.JPG")
    expect(image).to_be_visible()
    assert image.evaluate("node => [node.naturalWidth, node.naturalHeight]") == [300, 400]


def test_a_photo_from_the_camera_is_explained(page: Page):
    open_up(page, page.get_by_role("button", name="Take a photo"))
    page.wait_for_function("() => document.querySelector('video')?.readyState >= 2")
    page.get_by_test_id("stCameraInputButton").click()
    expect(page.locator(".laya-verdict")).to_contain_text("carries")
    expect(page.get_by_text("your photo:")).to_be_visible()
    expect(page.get_by_test_id("stCameraInput")).to_be_hidden()


def test_the_numbers_can_be_taken_away(page: Page):
    page.get_by_role("button", name="Bag").click()
    expect_answer(page, explained(SAMPLES["Bag"]))
    page.get_by_text("Numbers").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as JSON").click()
    answer = json.loads(Path(download.value.path()).read_text())
    expected = explained(SAMPLES["Bag"]).to_dict()
    assert answer["attributions"] == {name: pytest.approx(values) for name, values in expected["attributions"].items()}
    page.get_by_text("How this was made").click()
    expect(page.get_by_text("--model fashion-mnist-mlp --target Bag")).to_be_visible()


def test_removing_the_upload_clears_the_page(page: Page):
    upload(page, "x.png", SAMPLES["Coat"].read_bytes())
    expect_answer(page, explained(SAMPLES["Coat"]))
    upload(page, "x.png", SAMPLES["Trouser"].read_bytes())  # the same name, another picture
    expect_answer(page, explained(SAMPLES["Trouser"]))
    page.get_by_role("button", name="Remove x.png").click()
    expect(page.get_by_role("heading", name="At which depth was the decision made?")).to_be_visible()
    expect(page.locator(".laya-verdict")).to_have_count(0)


def test_a_click_on_a_bar_shows_where(page: Page, url: str):
    art = "best-artworks-vit"
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()
    page.goto(f"{url}/?model={art}&sample=Lines and primaries", wait_until="domcontentloaded")
    result = explain(load(art), checkpoints.samples(art)["Lines and primaries"])
    expect_answer(page, result)
    alpha = result.attributions["alpha"]
    tallest = alpha.index(max(alpha))
    page.wait_for_selector(".js-plotly-plot .bars path", state="attached")
    page.locator(".js-plotly-plot .bars").first.locator("path").nth(tallest).click(force=True)
    expect(page.get_by_role("heading", name=f"Where in the picture? Layer {tallest + 1}")).to_be_visible()
    expect(page.get_by_text(f"{result.attributions['contribution'][tallest]:+.2f} logits")).to_be_visible()
    # The other layers do not fade when one is clicked.
    faded = page.locator(".js-plotly-plot .bars path").evaluate_all(
        "bars => bars.filter(bar => Number(getComputedStyle(bar).opacity) < 1).length"
    )
    assert faded == 0
