"""How the pages look beyond Streamlit's theme (.streamlit/config.toml), and the frame that all of them share."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from laya import __version__
from laya.checkpoints import Checkpoint
from laya.device import describe
from laya.plots import FEW
from laya.ui import cache, router
from laya.ui.glossary import TERMS

CHART = {"displayModeBar": False}  # Plotly's toolbar would cover the chart

# Streamlit gives a container or widget with key K the class st-key-K.
_STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding-top: 4.2rem; padding-bottom: 2rem; max-width: 1500px; }
.st-key-samples, .st-key-samples-large { gap: .4rem !important; }
.st-key-samples-large { gap: .7rem !important; }
[class*="st-key-sample-"] button { padding: .2rem .1rem; width: 4.1rem; min-height: 0; }
[class*="st-key-sample-"] button p { font-size: .68rem; line-height: 1.1; white-space: normal; }
[class*="st-key-sample-"] button img {
  display: block; height: 44px !important; width: 44px; max-height: none !important; margin: 0 auto 3px;
  object-fit: contain; border-radius: .3rem;
}
.st-key-samples-large [class*="st-key-sample-"] button { width: 6.4rem; padding: .5rem .2rem; }
.st-key-samples-large [class*="st-key-sample-"] button p { font-size: .8rem; }
.st-key-samples-large [class*="st-key-sample-"] button img { height: 72px !important; width: 72px; }
.st-key-pictures img { aspect-ratio: 1; object-fit: contain; }
.st-key-outliers { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.3rem, 1fr)); gap: .7rem; }
[class*="st-key-outlier-"], [class*="st-key-outlier-"] :is(div, button) { width: 100%; height: 100%; }
[class*="st-key-outlier-"] button { padding: .5rem; }
[class*="st-key-outlier-"] button, [class*="st-key-outlier-"] button * { align-items: start; }
[class*="st-key-outlier-wrong-"] button { border-bottom: 3px solid #D55E00; }
[class*="st-key-outlier-"] button p { text-align: left; font-size: .8rem; line-height: 1.35; white-space: normal; }
[class*="st-key-outlier-"] button :is(img, strong, em) { display: block; font-style: normal; }
[class*="st-key-outlier-"] button em { opacity: .8; }
[class*="st-key-outlier-"] button img {
  width: 100%; height: auto !important; max-height: none !important; aspect-ratio: 1; object-fit: contain;
  margin: 0 0 .4rem; border-radius: .3rem; background: rgba(128, 140, 160, .14);
}
.st-key-waiting { position: fixed; right: 1.2rem; bottom: 1.2rem; width: auto !important; z-index: 1000; }
.laya-eyebrow { font-size: .85rem; opacity: .75; margin: 0 0 .15rem; }
.laya-verdict { font-size: 1.32rem; line-height: 1.4; font-weight: 600; margin: 0; min-height: 3.6rem; }
.laya-scroll { overflow-x: auto; }
.laya-table { border-collapse: collapse; width: 100%; font-size: .88rem; }
.laya-table th { text-align: left; font-weight: 600; opacity: .8; }
.laya-table th, .laya-table td { padding: .34rem .6rem .34rem 0; border-bottom: 1px solid rgba(128, 140, 160, .28); }
.laya-table td:first-child { min-width: 6.5rem; }
.laya-table td + td, .laya-table th + th { text-align: right; font-variant-numeric: tabular-nums; padding-right: 0;
  padding-left: .6rem; }
.laya-dot { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .5rem; }
.laya-table abbr { text-decoration: underline dotted; text-underline-offset: 3px; cursor: help; }
.laya-note { font-size: .86rem; line-height: 1.5; opacity: .82; margin: .2rem 0 .4rem; }
.laya-note abbr { text-decoration: underline dotted; text-underline-offset: 3px; cursor: help; }
[class*="st-key-strip"] { overflow-x: auto; }
[class*="st-key-strip"] > div { min-width: 44rem; }
@media (min-width: 641px) { .st-key-strip-read-out > div { min-width: 25rem; } } /* half a page, and short numbers */
.laya-claim { border-left: 4px solid; padding: .1rem 0 .1rem .9rem; margin: 0 0 .7rem; }
.laya-claim p { margin: 0; line-height: 1.45; }
.laya-claim b { margin-left: .3rem; }
.laya-claim-yes { border-color: #009E73; }
.laya-claim-no { border-color: #D55E00; }
.laya-footer { opacity: .7; font-size: .8rem; border-top: 1px solid rgba(128, 140, 160, .28); padding-top: .6rem;
  margin-top: 1.5rem; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 3.8rem 1rem 1.5rem; }
  .laya-verdict { font-size: 1.12rem; }
  .st-key-samples-large [class*="st-key-sample-"] button { width: 4.9rem; }
  .st-key-samples-large [class*="st-key-sample-"] button p { font-size: .72rem; }
  .st-key-samples-large [class*="st-key-sample-"] button img { height: 52px !important; width: 52px; }
}
</style>"""


def frame() -> None:
    """The style and the mark of every page; call it first."""
    router.ensure()
    st.logo(str(Path(__file__).with_name("logo.svg")), size="large")
    st.html(_STYLE)
    with st.container(key="waiting"):
        st.session_state[cache.WAITING] = st.empty()


def ground() -> str:
    """The colour that the page stands on, #RRGGBB: light or dark, as the browser asks for."""
    kind = st.context.theme.type or "light"
    return str(st.get_option(f"theme.{kind}.backgroundColor"))


def footer(checkpoint: Checkpoint) -> None:
    """Where and with what this page was computed."""
    facts = (
        f"LAYA {__version__}",
        f"running on {describe(checkpoint.device)}",
        f"model {checkpoint.name}, weights {checkpoint.weights[:12]}",
        "your images stay in the memory of your session",
    )
    st.html(f'<p class="laya-footer">{html.escape(" · ".join(facts))}</p>')


def term(name: str, text: str | None = None) -> str:
    """A word of the glossary as HTML, with its definition when the pointer rests on it."""
    return f'<abbr title="{html.escape(TERMS[name])}">{html.escape(text or name)}</abbr>'


def plain(text: str) -> str:
    """Foreign text for a Markdown widget: shown as it is, whatever signs it holds."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$:<>&^=])", r"\\\1", text)


def verdict(eyebrow: str, text: str) -> None:
    """The page's answer in plain words, above the chart."""
    st.html(f'<p class="laya-eyebrow">{html.escape(eyebrow)}</p><p class="laya-verdict">{html.escape(text)}</p>')


def table(head: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[str] = ()) -> None:
    """A small static table.

    Parameters
    ----------
    head : column titles, HTML (use :func:`term` or escape).
    rows : cells, plain text; escaped here.
    colours : a colour for each row's first cell.
    """
    body = ""
    for number, row in enumerate(rows):
        dot = f'<span class="laya-dot" style="background:{colours[number]}"></span>' if colours else ""
        cells = [dot + html.escape(row[0]), *(html.escape(cell) for cell in row[1:])]
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    titles = "".join(f"<th>{title}</th>" for title in head)
    st.html(
        '<div class="laya-scroll"><table class="laya-table">'
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def strip(name: str, layers: int) -> DeltaGenerator:
    """A container for a chart with a column a layer: where there is no room for many, they scroll sideways."""
    return st.container(key=f"{'strip' if layers > FEW else 'fits'}-{name}")


def note(text: str) -> None:
    """A line of small print, HTML (escape what is not ours)."""
    st.html(f'<p class="laya-note">{text}</p>')
