"""A person reads the evidence, and looks at the same image through several models."""

import re

import pytest
from playwright.sync_api import Page, expect

from laya import checkpoints
from laya.checkpoints import load
from laya.claims import claims
from laya.explanation import explain
from tests.e2e.test_inspect import expect_answer, open_up


def test_the_evidence_can_be_read_for_every_task(page: Page):
    page.get_by_role("link", name="Evidence").first.click()
    expect(page.get_by_role("heading", name="Does it hold?")).to_be_visible()
    for entry in checkpoints.available():
        table = checkpoints.read_evidence(entry.folder)
        page.get_by_role("radio", name=entry.title).click()
        for claim in claims(table):
            expect(page.get_by_text(claim.here, exact=True)).to_be_visible()
        expect(page.locator(".js-plotly-plot").nth(3)).to_be_attached()


@pytest.mark.parametrize("name", ["best-artworks-vit", "cifar10-cnn"])
def test_another_model_is_a_choice_away(page: Page, name: str):
    entry = next(entry for entry in checkpoints.available() if entry.name == name)
    expect(page.get_by_role("button", name="Ankle boot")).to_be_visible()
    open_up(page, page.get_by_role("combobox", name=re.compile("Model")))
    page.get_by_role("option", name=re.compile(re.escape(entry.title))).click()
    label, file = next(iter(checkpoints.samples(name).items()))
    page.get_by_role("button", name=label).first.click()
    expect_answer(page, explain(load(name), file))
    expect(page).to_have_url(re.compile(f"model={name}"))
