"""A person reads the evidence, and looks at the same image through several models."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from laya import checkpoints
from laya.checkpoints import load
from laya.explanation import explain
from laya.studies.claims import claims
from tests.e2e.conftest import serving
from tests.e2e.test_inspect import expect_answer, open_up


def test_the_evidence_can_be_read_for_every_task(page: Page):
    link = page.get_by_role("link", name="Evidence").first
    expect(page.get_by_role("heading", name="At which depth was the decision made?")).to_be_visible()
    if page.viewport_size["width"] < 640:  # on a phone the pages are behind the button at the top
        page.get_by_test_id("stExpandSidebarButton").click()
    link.click()
    if page.viewport_size["width"] < 640:
        page.get_by_test_id("stSidebarCollapseButton").click()
    expect(page.get_by_role("heading", name="Does it hold?")).to_be_visible()
    for entry in checkpoints.available():
        table = checkpoints.read_evidence(entry.folder)
        if not table:
            continue
        page.get_by_role("radio", name=entry.title).click()
        for claim in claims(table):
            expect(page.get_by_text(claim.here, exact=True)).to_be_visible()
        expect(page.locator(".js-plotly-plot").nth(3 if "laya" in table["rows"] else 0)).to_be_attached()


@pytest.mark.parametrize("name", ["best-artworks-vit", "cifar10-cnn"])
def test_another_model_is_a_choice_away(page: Page, name: str):
    entry = next(entry for entry in checkpoints.available() if entry.name == name)
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()
    open_up(page, page.get_by_role("combobox", name=re.compile("Model")))
    page.get_by_role("option", name=entry.title).click()
    label, file = next(iter(checkpoints.samples(name).items()))
    page.get_by_role("button", name=label).first.click()
    expect_answer(page, explain(load(name), file))
    expect(page).to_have_url(re.compile(f"model={name}"))


def test_a_link_straight_to_a_page_works_on_a_server_that_was_just_started(browser: Browser, tmp_path: Path):
    with serving(tmp_path / "log") as address:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/evidence", wait_until="domcontentloaded")
        expect(page.get_by_role("heading", name="Does it hold?")).to_be_visible()
        expect(page.get_by_role("link", name="Inspect").first).to_be_visible()
        expect(page.get_by_test_id("stSidebar")).to_have_count(0)
        page.close()
