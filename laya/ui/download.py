"""An explanation to take away, and the command that makes its numbers again."""

import dataclasses
from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from laya.explanation import Explanation
from laya.explanation.bundle import bundle


def command(result: Explanation, recipe: bool) -> list[str]:
    """The command line that makes the numbers again, with IMAGE for the file."""
    settings = dataclasses.asdict(result.settings)
    words = ["python", "-m", "laya", "explain", "IMAGE", "--model", result.model, "--target", result.target_name]
    words += ["--tau", f"{settings['tau']:g}", "--removed", settings["removal"], "--steps", str(settings["steps"])]
    return [*words, *([] if recipe else ["--no-recipe"]), "--json"]


def take_away(result: Explanation, charts: Mapping[str, go.Figure], recipe: bool) -> None:
    """Everything about this image in one zip; it is made when it is asked for."""
    st.download_button(
        "Take it away (zip)",
        lambda: bundle(result, charts, command(result, recipe)),
        file_name=f"laya-{result.model}.zip",
        mime="application/zip",
        icon=":material/folder_zip:",
        on_click="ignore",
        help="Charts as HTML, numbers as CSV and JSON, settings, and the command that makes them again. The address of "
        "this page restores the view; only an image of your own has to be chosen again.",
    )
