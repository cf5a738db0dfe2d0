"""The app and the command line, as a person meets them: seconds until something is there."""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from benchmarks.load.questions import picture
from benchmarks.timing import Row, compare, row, seconds
from benchmarks.visitor import Visitor, visiting
from laya import checkpoints
from laya.explanation import explain
from tests.server import PROJECT, Server, serving

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# The chart of the depth is there when the numbers of alpha in it are those of this picture and its bars are drawn.
DRAWN = """([key, alpha]) => {
    const chart = document.querySelector(`.st-key-${key} .js-plotly-plot`);
    const bars = (chart?.data ?? []).find(trace => trace.name?.startsWith('Attention'));
    return bars && chart.querySelector('.bars path')
        && [...bars.customdata].every((row, i) => Math.abs(row[1] - alpha[i]) < 1e-4);
}"""


def starts(quick: bool) -> Iterator[Row]:
    """The command line's two quick commands, and the app from its process to its first page."""
    for command in (["--help"], ["list"]):
        taken = [seconds(lambda c=command: _run("-m", "laya", *c)) for _ in range(3 if quick else 7)]  # type: ignore[misc]
        yield row(f"laya {command[0]}", "", taken, unit="s", target=0.5)
    yield compare(
        "start of the app to its first page / importing torch and streamlit",
        "",
        _first_page,
        lambda: _run("-c", "import torch, streamlit"),
        repeats=1 if quick else 3,
        target=1.5,
    )


def pages(quick: bool) -> Iterator[Row]:
    """What a warm app takes, for each shipped model; in a browser, where Chromium is there."""
    repeats = 3 if quick else 7
    with TemporaryDirectory() as place, serving(Path(place) / "log") as server:
        for entry in checkpoints.available():
            if entry.problem is None:
                yield from _charts(server, entry.name, repeats)
                yield from asyncio.run(_answers(server, entry.name, repeats))


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def _first_page() -> None:
    async def visit(server: Server) -> None:
        async with visiting(server, until="file_uploader"):  # drawn when all above it is; the model is still loaded
            pass

    with TemporaryDirectory() as place, serving(Path(place) / "log") as server:
        asyncio.run(visit(server))


def _charts(server: Server, model: str, repeats: int) -> Iterator[Row]:
    """From a file in the uploader to the drawn chart, less the forward pass, which the library took alone."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if chromium is None:
        sys.stderr.write("No Chromium here: what a browser sees is not measured.\n")
        return
    right = [explain(checkpoints.load(model), picture(model, number)) for number in range(repeats + 2)]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(90_000)
        page.goto(f"{server.address}/?model={model}", wait_until="domcontentloaded")
        taken = [
            _upload(page, picture(model, number), list(result.attributions["alpha"]))
            for number, result in enumerate(right)
        ]
        browser.close()
        forward = median(result.seconds.forward for result in right[2:])
        extra = [each - forward for each in taken[2:]]  # the first load the model and warm the processor's caches
        yield row("upload to drawn chart in a browser, beyond the forward pass", model, extra, unit="s", target=0.5)


def _upload(page: Page, data: bytes, alpha: list[float]) -> float:
    page.wait_for_selector('input[type="file"]', state="attached")
    page.wait_for_timeout(500)
    begin = time.perf_counter()
    page.locator('input[type="file"]').first.set_input_files(
        {"name": "picture.png", "mimeType": "image/png", "buffer": data}
    )
    page.wait_for_function(DRAWN, arg=["depth", alpha], polling=50)
    return time.perf_counter() - begin


async def _answers(server: Server, model: str, repeats: int) -> list[Row]:
    """From a picture, a changed slider or another class to the end of the page's script, over Streamlit's protocol."""
    async with visiting(server, model=model) as visitor:
        checkpoint = checkpoints.load(model)
        right = [explain(checkpoint, picture(model, number)) for number in range(repeats + 2)]
        taken = []
        for number in reversed(range(repeats + 2)):  # the last, which then stays, is the first picture
            begin = time.perf_counter()
            await visitor.upload("picture", picture(model, number))
            await visitor.rerun()
            taken.append(time.perf_counter() - begin)
        forward = median(result.seconds.forward for result in right[2:])
        what = "upload to finished page in the server, beyond the forward pass"
        rows = [row(what, model, [each - forward for each in taken[2:]], unit="s", target=0.5)]
        predicted = right[0].target_name
        classes = [name for name in checkpoint.classes if name != predicted]
        for label, choices in (("Temperature", [0.3, 1.5, 3.0, 0.5]), ("Explained class", classes[:4])):
            taken = [await _change(visitor, label, choices[i % len(choices)]) for i in range(repeats + 1)]
            what = f"{'slider' if label == 'Temperature' else 'class'} changed to page redrawn, in the server"
            rows.append(row(what, model, taken[1:], unit="s", target=0.2))
        return rows


async def _change(visitor: Visitor, label: str, value: float | str) -> float:
    before = json.dumps(visitor.charts("depth"))
    begin = time.perf_counter()
    visitor.choose(label, value)
    await visitor.rerun()
    taken = time.perf_counter() - begin
    if json.dumps(visitor.charts("depth")) == before or visitor.faults:
        raise RuntimeError(f"{label} = {value} changed nothing: {visitor.faults}")
    return taken
