"""An explanation to take away: one zip with charts, numbers, settings and the command that makes them again."""

import asyncio
import csv
import io
import json
import shlex
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import plotly.graph_objects as go
from kaleido import Kaleido, PageGenerator
from kaleido.errors import BrowserFailedError, ChromeNotFoundError
from plotly.offline import get_plotlyjs

from laya.explanation.explanation import Explanation

# A thread of its own, for the caller's may have an event loop already; one alone, for every browser takes its memory.
_DRAWING = ThreadPoolExecutor(1, thread_name_prefix="charts")

README = """What is in here
---------------
explanation.json  everything, as `python -m laya explain --json` prints it
layers.csv        one row a layer, one column a method, raw values
settings.json     what was set, with the checkpoint's name and the SHA-256 of its weights
*.html            the charts, to open in a browser (they need plotly.min.js beside them)
*.png             the same charts as pictures{missing}

Made by

    {command}
"""


def bundle(result: Explanation, charts: Mapping[str, go.Figure], command: Sequence[str]) -> bytes:
    """A zip file's bytes.

    Parameters
    ----------
    result : the explanation.
    charts : name to figure; each becomes an interactive ``<name>.html`` and, where Chrome or Chromium is installed, a
        ``<name>.png``.
    command : what makes the numbers again, as a list of words.
    """
    stream = io.BytesIO()
    settings = {"model": result.model, "weights_sha256": result.weights, "target": result.target_name}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        pictures = png(charts)
        missing = "" if pictures else " (left out: the machine that made this has no Chrome or Chromium)"
        archive.writestr("README.txt", README.format(command=shlex.join(command), missing=missing))
        archive.writestr("explanation.json", result.to_json() + "\n")
        archive.writestr("layers.csv", layers_csv(result))
        archive.writestr("settings.json", json.dumps(settings | asdict(result.settings), indent=2) + "\n")
        archive.writestr("plotly.min.js", get_plotlyjs())
        for name, chart in charts.items():
            archive.writestr(f"{name}.html", chart.to_html(include_plotlyjs="directory", full_html=True))
        for name, picture in pictures.items():
            archive.writestr(f"{name}.png", picture)
    return stream.getvalue()


def png(charts: Mapping[str, go.Figure]) -> dict[str, bytes]:
    """Charts as PNG, 2000 pixels wide, drawn by Chrome or Chromium; none where there is no such browser that works."""

    async def draw() -> dict[str, bytes]:
        # No MathJax, which would be fetched from the network; no formula is drawn.
        async with Kaleido(page_generator=PageGenerator(mathjax=False)) as browser:
            return {
                name: await browser.calc_fig(
                    chart, opts={"format": "png", "width": 1000, "height": chart.layout.height or 450, "scale": 2}
                )
                for name, chart in charts.items()
            }

    try:
        return _DRAWING.submit(asyncio.run, draw()).result()
    except (ChromeNotFoundError, BrowserFailedError, TimeoutError):
        return {}


def layers_csv(result: Explanation) -> str:
    """One row a layer: its name, every method's raw value, the measured effect."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [*result.scores, result.measured]
    writer.writerow(["layer", *(scores.method for scores in columns)])
    for i, layer in enumerate(result.layers):
        writer.writerow([layer, *(repr(scores.values[i]) for scores in columns)])
    return text.getvalue()
