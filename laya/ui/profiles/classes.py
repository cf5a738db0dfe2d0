"""Every class in one table, and one class by itself."""

import html
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from laya import plots
from laya.studies import profiles
from laya.ui import theme
from laya.ui.profiles.rows import QUANTITIES, Report, profile_rows, quantity_of, unit_of

PARTS = {"all": "all", "right": "right", "wrong": "wrong", "difference": "right − wrong"}
SORTS = ("similarity", "depth", "name")


def classes(report: Report) -> tuple[str | None, go.Figure]:
    """The heatmap of classes and layers; gives the class that was clicked, and the chart as it stands on paper."""
    st.markdown("#### Every class")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        quantities = [name for name in QUANTITIES if report["overall"][f"{name}_mean"] is not None]
        quantity = st.segmented_control(
            "Show",
            quantities,
            default=quantities[0],
            format_func=QUANTITIES.__getitem__,
            required=True,
            key="profile-quantity",
        )
        grouping = st.segmented_control(
            "by class", ["true", "predicted"], default="true", required=True, key="profile-grouping"
        )
        part = "all"
        if grouping == "true":
            part = st.segmented_control(
                "of the pictures",
                list(PARTS),
                default="all",
                format_func=PARTS.__getitem__,
                required=True,
                key="profile-part",
            )
        sort = st.selectbox("Sorted by", SORTS, key="profile-sort", width=150)
    rows = _sorted(profile_rows(report, grouping, part, quantity), sort)
    counts = {name: _count(report, grouping, part, name) for name, _ in rows}
    labelled = [(f"{name} ({counts[name] or 'no samples'})", row) for name, row in rows]
    draw = partial(
        plots.layer_heatmap,
        report["layers"],
        labelled,
        short=len(report["layers"]) > plots.FEW,
        signed=part == "difference" or quantity == "contribution",
        unit="logits" if quantity == "contribution" else "",
    )
    with theme.strip("classes", len(report["layers"])):
        event = st.plotly_chart(
            draw(ground=theme.ground()),
            key="profile-classes",
            config=theme.CHART,
            on_select="rerun",
            selection_mode="points",
        )
    what = {
        "alpha": "Mean attention on each layer; a row sums to 100 %.",
        "contribution": "Mean contribution of each layer to the logit of the class, against the average class.",
    }[quantity]
    if part == "difference":
        what = "How the profile of rightly predicted pictures differs from that of the wrong ones."
    theme.note(f"{what} In brackets: the number of pictures. Click a row for the class.")
    points = event["selection"]["points"]
    clicked = points[0]["customdata"] if points else None
    if isinstance(clicked, list):
        clicked = clicked[0]
    names = {label: name for (label, _), (name, _) in zip(labelled, rows, strict=True)}
    return names.get(str(clicked)), draw()


def one_class(report: Report, clicked: str | None) -> None:
    """One class by itself, beside another, and the pictures that are taken for others."""
    quantity = quantity_of(report)
    named = {name: row for name, row in profile_rows(report, "true", "all", quantity) if row is not None}
    if clicked in named and st.session_state.get("profile-clicked") != clicked:
        st.session_state["profile-clicked"] = st.session_state["profile-class"] = clicked
    names = sorted(named)
    st.markdown("#### One class")
    left, right = st.columns(2, gap="large")
    st.session_state.setdefault("profile-class", max(names, key=lambda each: report["classes"][each]["n"]))
    if st.session_state["profile-class"] not in names:
        del st.session_state["profile-class"]
    name = left.selectbox("Class", names, key="profile-class")
    others = [each for each in names if each != name]
    other = right.selectbox("Beside", others, index=None, placeholder="another class", key="profile-other")
    groups = []
    for each, colour in ((name, plots.ACCENT), (other, plots.OTHER)):
        if each is not None:
            part = report["classes"][each]["all"]
            label = f"{each} ({part['n']})"
            groups.append((label, colour, part[f"{quantity}_quantiles"], part[f"{quantity}_mean"]))
    st.plotly_chart(
        plots.spread_chart(report["layers"], groups, unit=unit_of(quantity)),
        key="profile-class-chart",
        config=theme.CHART,
    )
    if len(others) > 1 and quantity == "alpha":
        far = sorted(others, key=lambda each: profiles.apart(named[name], named[each]))
        words = [f"{each} ({profiles.apart(named[name], named[each]):.2f})" for each in far]
        theme.note(
            html.escape(f"Most alike: {', '.join(words[:3])}. Least alike: {', '.join(words[::-1][:3])}. ")
            + theme.term("profile distance", "Distance")
            + " from 0 to 1."
        )
    _confused(report, name, quantity)


def _confused(report: Report, name: str, quantity: str) -> None:
    right = report["classes"][name]["right"]
    partners = [each for each in report["confusions"] if name in (each["true"], each["predicted"])]
    if not partners:
        theme.note("No picture of this class was taken for another, and none of another for it.")
        return
    rows = [(f"{name}, rightly ({right['n']})", right[f"{quantity}_mean"])]
    rows += [
        (
            f"{name} taken for {each['predicted']} ({each['n']})"
            if each["true"] == name
            else f"{each['true']} taken for {name} ({each['n']})",
            each[f"{quantity}_mean"],
        )
        for each in partners[:6]
    ]
    st.markdown("##### What it is confused with")
    chart = plots.layer_heatmap(
        report["layers"],
        rows,
        short=len(report["layers"]) > plots.FEW,
        signed=quantity == "contribution",
        unit="logits" if quantity == "contribution" else "",
        ground=theme.ground(),
    )
    with theme.strip("confused", len(report["layers"])):
        st.plotly_chart(chart, key="profile-confused", config=theme.CHART)
    theme.note("The most frequent confusions with their mean profiles, under that of the pictures that are right.")


def _count(report: Report, grouping: str, part: str, name: str) -> str:
    if grouping == "predicted":
        return str(report["predicted"][name]["n"] or "")
    each = report["classes"][name]
    if part == "difference":
        return f"{each['right']['n']}, {each['wrong']['n']}" if each["right"]["n"] and each["wrong"]["n"] else ""
    return str(each[part]["n"] or "")


def _sorted(rows: list[tuple[str, list[float] | None]], sort: str) -> list[tuple[str, list[float] | None]]:
    """Empty rows last."""
    known = {name: row for name, row in rows if row is not None}
    order = sorted(known)
    if sort == "depth":
        order = sorted(known, key=lambda name: profiles.depth(known[name]))
    elif sort == "similarity":
        order = profiles.by_similarity({name: profiles.shares(row) for name, row in known.items()})
    return [(name, known[name]) for name in order] + [(name, None) for name, row in rows if row is None]
