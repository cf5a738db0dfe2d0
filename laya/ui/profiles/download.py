"""The report to take away."""

import csv
import io
import json

import plotly.graph_objects as go
import streamlit as st

from laya.explanation.bundle import png
from laya.ui.profiles.rows import QUANTITIES, Report


def take_away(report: Report, chart: go.Figure) -> None:
    """The report as JSON, its means as CSV, the heatmap as PNG."""
    name = f"laya-profiles-{report['model']}"
    with st.container(horizontal=True):
        st.download_button(
            "JSON",
            lambda: json.dumps(report, indent=2),
            file_name=f"{name}.json",
            mime="application/json",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "CSV",
            lambda: as_csv(report),
            file_name=f"{name}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "PNG",
            lambda: png({name: chart}).get(name, b""),
            file_name=f"{name}.png",
            mime="image/png",
            icon=":material/download:",
            on_click="ignore",
        )


def as_csv(report: Report) -> str:
    """A row for every class, part and layer: n, mean and standard deviation; empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    figures = [f"{quantity}_{figure}" for quantity in QUANTITIES for figure in ("mean", "std")]
    writer.writerow(["grouping", "class", "part", "n", "layer", *figures])
    parts = [("", "", "all", report["overall"]), ("", "", "right", report["right"]), ("", "", "wrong", report["wrong"])]
    parts += [
        ("true", n, part, each[part]) for n, each in report["classes"].items() for part in ("all", "right", "wrong")
    ]
    parts += [("predicted", name, "all", each) for name, each in report["predicted"].items()]
    for grouping, name, part, each in parts:
        for i, layer in enumerate(report["layers"]):
            cells = ["" if each[figure] is None else repr(each[figure][i]) for figure in figures]
            writer.writerow([grouping, name, part, each["n"], layer, *cells])
    return text.getvalue()
