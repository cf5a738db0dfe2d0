"""What stands around the hero chart: the answer, agreement with the measurement, numbers, and how they were made."""

import html
import shlex
from typing import Any

import streamlit as st

from laya.explanation import Explanation
from laya.explanation.faithfulness import coarseness
from laya.ui import theme
from laya.ui.download import command


def answer(result: Explanation, own_tau: float) -> None:
    """The answer in plain words."""
    name, probability = result.predictions[0]
    about = f"Prediction: {name}, {probability:.1%}"
    if result.target_name != name:
        about += f" · explained: {result.target_name}, {result.probabilities[result.target]:.1%}"
    if result.settings.tau != own_tau:
        about += f" · temperature {result.settings.tau:g} instead of the model's own {own_tau:g}"
    theme.verdict(about, result.summary())
    if trust := result.trust():
        theme.note(theme.term("trust", trust))


def chart_notes(result: Explanation) -> None:
    """How to read the hero chart, in one line, and what it cannot show."""
    theme.note(
        f"Bars: {theme.term('share', 'share of each method’s total')}. ◆ "
        f"{theme.term('measured', 'measured')}: what removing the layer "
        f"({theme.term(result.settings.removal)}) really costs. A method is right where its bars follow the "
        f"diamonds. All are {theme.term('direct effect', 'direct effects')}. Click a bar to see where in the picture."
    )
    empty = [scores.label for scores in (*result.scores, result.measured) if not any(scores.values)]
    if empty:
        st.info(theme.plain(f"No evidence for “{result.target_name}” at any layer: {', '.join(empty)}."))


def clicked_layer(event: Any, result: Explanation) -> int | None:
    """The layer whose bar was clicked in the hero chart, counted from 0; None where none was."""
    points = event["selection"]["points"]
    layer = round(points[0]["x"]) if points else -1
    return layer if 0 <= layer < len(result.layers) else None


def faithfulness(result: Explanation) -> None:
    """How well each method fits the measured effects on this image."""
    head = ["method", theme.term("faithfulness"), theme.term("deletion", "Deletion@1")]
    rows = []
    for scores in result.scores:
        measures = result.faithfulness[scores.method]
        rank = "not defined" if measures.spearman is None else f"{measures.spearman:+.2f}"
        rows.append((f"{scores.label} ({scores.family})", rank, f"{measures.deletion_at_1:+.1%}"))
    theme.table(head, rows, [scores.colour for scores in result.scores])
    if note := coarseness(len(result.layers)):
        theme.note(html.escape(note))


def numbers(result: Explanation) -> None:
    """The raw values behind the chart, and the identities that hold them."""
    columns = [*result.scores, result.measured]
    rows = [(layer, *(f"{scores.values[i]:.4f}" for scores in columns)) for i, layer in enumerate(result.layers)]
    theme.table(["layer", *(f"{scores.label}, {scores.unit}" for scores in columns)], rows)
    theme.note(
        f"The contributions and the bias add up to the logit within {result.completeness_error:.1e}; the Integrated "
        f"Gradients add up to what they should within {result.path_error:.2%}. Forward pass "
        f"{result.seconds.forward * 1000:.0f} ms, everything else {result.seconds.attribution * 1000:.0f} ms."
    )
    st.download_button(
        "Download as JSON",
        result.to_json(),
        file_name=f"laya-{result.model}.json",
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
    )


def origin(result: Explanation, recipe: bool) -> None:
    """How the numbers were made, and the command that makes them again."""
    for scores in (*result.scores, result.measured):
        st.markdown(f"**{scores.label}** ({scores.family}). {scores.description}")
    st.code(shlex.join(command(result, recipe)), language="bash", wrap_lines=True)
