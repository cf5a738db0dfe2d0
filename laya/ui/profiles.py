"""The parts of the page Depth profiles, each from a report as :func:`laya.profiles.build` makes it."""

import csv
import hashlib
import html
import io
import json
import math
import time
from itertools import combinations
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from laya import checkpoints, datasets, plots, profiles
from laya.bundle import png
from laya.checkpoints import Checkpoint, Summary
from laya.errors import LayaError
from laya.explanation import Explanation
from laya.ui import picker, state, theme
from laya.ui.turns import SLOW

Report = dict[str, Any]
TEACHING = """
## What does each class ask of each depth?

A **depth profile** is the mean attention of the images of a class, layer by layer. Build one and see

- **which classes are told by shallow features**, such as colour and texture, and which by deep ones,
- **what goes wrong where**: the profile of wrong predictions against that of right ones,
- **which images are unlike their class**, and whether that betrays a mistake.
"""
READING = (
    "A depth profile is the mean attention of a class, layer by layer. Shallow layers hold colour, edges and texture, "
    "deep ones whole things: so the profile says what the model needs to see before it names the class."
)
QUANTITIES = {"alpha": "attention α", "contribution": "contribution"}
PARTS = {"all": "all", "right": "right", "wrong": "wrong", "difference": "right − wrong"}
SORTS = ("similarity", "depth", "name")
FLAT = 0.02  # of the most that there can be: mutual information below it is next to none
LEAD = 0.9  # a mean weight above it is nearly all
ENOUGH = 10  # pictures of a class, to be named as an extreme
FAR = 0.1  # of the attention: less than that is not called unusual


# --- whose profile ----------------------------------------------------------------------------------------------------


def choose_report(summary: Summary) -> Report | None:
    """The report of the test set, or of a person's own pictures; None while there is none to show."""
    shipped = checkpoints.read_profiles(summary.folder)
    own = st.segmented_control(
        "Pictures",
        ["Test set", "My pictures"],
        default="Test set",
        required=True,
        key="profile-source",
        label_visibility="collapsed",
    )
    if own == "My pictures":
        return _own_report(summary)
    if not shipped:
        st.info(
            theme.plain(
                f"There is no profile of {summary.name} yet. Make it with: python -m laya profile --model "
                f"{summary.name} --data DATA --out checkpoints/{summary.name}/{checkpoints.PROFILES}"
            )
        )
        return None
    return shipped


def _own_report(summary: Summary) -> Report | None:
    checkpoint = state.checkpoint(summary)
    offered = datasets.offered()
    most = picker.megabytes(datasets.ZIP_BYTES)
    upload = st.file_uploader(
        "A zip of pictures, a folder for each class",
        key="profile-zip",
        max_upload_size=most,
        help=f"Up to {most} MB and {datasets.ZIP_FILES:,} files. It is read in memory, is never "
        "stored, and goes with your session.",
    )
    folder = None
    if offered:
        folder = st.selectbox("Or a folder on the server", list(offered), index=None, key="profile-folder")
    if upload is not None:
        data = datasets.open_zip(upload.getvalue(), upload.name)
        key = hashlib.sha256(upload.getvalue()).hexdigest()
    elif folder is not None:
        data = datasets.open_dataset(str(offered[folder]))
        key = folder
    else:
        names = ", ".join(checkpoint.classes[:4])
        theme.note(
            html.escape(
                f"The folders must bear the names of the model’s {len(checkpoint.classes)} classes ({names}, …); "
                "classes may be missing."
            )
        )
        return None
    kept = st.session_state.get("kept-profile")
    if kept is None or kept[0] != (key, checkpoint.identity):
        data.matched_to(checkpoint.classes, partly=True)  # refuses unknown classes before anything is computed
        st.markdown(f"{len(data):,} pictures in {len(data.classes)} folders.")
        if not st.button("Build the profile", icon=":material/play_arrow:", type="primary"):
            return None
        _build(checkpoint, data, (key, checkpoint.identity))
        st.rerun()
    report: Report = kept[1]
    if report["skipped"]:
        count, files = report["skipped"], "; ".join(report["unreadable"][:5])
        what = "1 file could not be read and was" if count == 1 else f"{count} files could not be read and were"
        st.warning(theme.plain(f"{what} left out: {files}{' …' if count > 5 else ''}"))
    return report


def _build(checkpoint: Checkpoint, data: datasets.ImageSet, key: tuple[str, str]) -> None:
    bar = st.progress(0.0, "starting")
    st.button("Stop", icon=":material/stop:")  # any click ends the run at the next batch
    begin = time.monotonic()

    def tell(what: str, done: int, total: int) -> None:
        left = (time.monotonic() - begin) * (total - done) / done
        bar.progress(done / total, f"{what}: {done:,} of {total:,}, about {left:.0f} s left")

    def build() -> Report:
        unreadable: list[str] = []
        report = profiles.build(checkpoint, data, kept=False, on_progress=tell, on_skip=unreadable.append)
        return report | {"data": data.name, "unreadable": unreadable}

    state.keep("profile", key, build, line=SLOW)


# --- what it says -----------------------------------------------------------------------------------------------------


def show(summary: Summary, report: Report) -> None:
    """The whole page for one report."""
    verdict(report)
    overall(report)
    clicked, chart = classes(report)
    one_class(report, clicked)
    outliers(report)
    trust(report, checkpoints.read_evidence(summary.folder))
    st.markdown("#### Take it away")
    take_away(report, chart)


def verdict(report: Report) -> None:
    """The answer in plain words, and what stands against trusting it."""
    named = {name: row for name, row in _rows(report, "true", "all", _quantity(report)) if row is not None}
    many = [name for name in named if report["classes"][name]["n"] >= ENOUGH]
    order = sorted(many if len(many) > 1 else named, key=lambda name: profiles.depth(named[name]))
    eyebrow = f"{report['n']:,} pictures of {report.get('data', 'a data set')}"
    if report.get("split"):
        eyebrow += f", {report['split']} set"
    if len(order) > 1:
        low, high = (profiles.depth(named[name]) for name in (order[0], order[-1]))
        text = (
            f"“{order[0]}” is decided shallowest and “{order[-1]}” deepest: on average at {low:.0%} and {high:.0%} "
            "of the depth."
        )
    else:
        text = "There are pictures of one class alone, so nothing can be compared."
    theme.verdict(eyebrow, text)
    alpha = report["overall"]["alpha_mean"]
    if alpha is None:
        theme.note("This head has no layer weights; the profiles are of its contributions.")
        return
    most = math.log(len(alpha))
    if report["alpha_mutual_information"] < FLAT * most:
        st.warning(
            "The attention is nearly the same for every image, so it says nothing about one of them. Read it as a "
            "global weight of the layers."
        )
    if max(alpha) > LEAD:
        layer = alpha.index(max(alpha)) + 1
        st.warning(
            f"Nearly all attention lies on layer {layer}, whatever the image. The profile shows the model’s "
            "habit rather than its reasons."
        )


def overall(report: Report) -> None:
    """The profile of all pictures, with its spread."""
    quantity = _quantity(report)
    st.markdown("#### All classes together")
    part = report["overall"]
    st.plotly_chart(
        plots.spread_chart(
            report["layers"],
            [("all pictures", plots.ACCENT, part[f"{quantity}_quantiles"], part[f"{quantity}_mean"])],
            unit=_unit(quantity),
        ),
        key="profile-overall",
        config=theme.CHART,
    )
    theme.note("Line: mean. Box: the middle half of the pictures. Whiskers: the middle 90 %.")


def classes(report: Report) -> tuple[str | None, go.Figure]:
    """The heatmap of classes and layers; gives the class that was clicked."""
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
    rows = _sorted(_rows(report, grouping, part, quantity), sort)
    counts = {name: _count(report, grouping, part, name) for name, _ in rows}
    labelled = [(f"{name} ({counts[name] or 'no samples'})", row) for name, row in rows]
    chart = plots.layer_heatmap(
        report["layers"],
        labelled,
        short=len(report["layers"]) > plots.FEW,
        signed=part == "difference" or quantity == "contribution",
        unit="logits" if quantity == "contribution" else "",
        clickable=True,
    )
    with theme.strip("classes", len(report["layers"])):
        event = st.plotly_chart(
            chart, key="profile-classes", config=theme.CHART, on_select="rerun", selection_mode="points"
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
    return names.get(str(clicked)), chart


def one_class(report: Report, clicked: str | None) -> None:
    """One class by itself, beside another, and the pictures that are taken for others."""
    quantity = _quantity(report)
    named = {name: row for name, row in _rows(report, "true", "all", quantity) if row is not None}
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
        plots.spread_chart(report["layers"], groups, unit=_unit(quantity)),
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
    )
    with theme.strip("confused", len(report["layers"])):
        st.plotly_chart(chart, key="profile-confused", config=theme.CHART)
    theme.note("The most frequent confusions with their mean profiles, under that of the pictures that are right.")


def outliers(report: Report) -> None:
    """Pictures far from their class, and whether being far means being wrong."""
    st.markdown("#### Pictures unlike their class")
    found = report["outliers"]
    if found is None:
        theme.note("A head without layer weights has no attention that could be unusual.")
        return
    distance, softmax = (found["auroc"][name] for name in ("profile_distance", "softmax"))
    if distance is None:
        theme.note("All predictions are right, or all wrong: there is nothing to tell apart.")
    else:
        better = "better than" if distance["low"] > softmax["high"] else "as well as"
        if distance["high"] < softmax["low"]:
            better = "worse than"
        theme.note(
            f"Does an unusual profile mean a wrong prediction? The {theme.term('profile distance')} tells wrong from "
            f"right with an {theme.term('AUROC')} of <b>{_interval(distance)}</b>, {better} the plain softmax "
            f"probability with <b>{_interval(softmax)}</b> ({found['wrong']:,} of {found['n']:,} are wrong)."
        )
    theme.table(
        ["picture", "true", "predicted", "confidence", "", theme.term("profile distance", "distance")],
        [
            (
                each["image"],
                each["true"],
                each["predicted"],
                f"{each['confidence']:.1%}",
                "right" if each["true"] == each["predicted"] else "wrong",
                f"{each['distance']:.2f}",
            )
            for each in found["images"][:12]
        ],
    )


def trust(report: Report, evidence: dict[str, Any]) -> None:
    """How much the attention can explain at all."""
    alpha = report["overall"]["alpha_mean"]
    if alpha is None:
        return
    most = math.log(len(alpha))
    st.markdown("#### How far can the attention be trusted?")
    rows = [
        (
            "layers that one image uses",
            f"{math.exp(report['alpha_entropy']):.1f} of {len(alpha)}",
            "exp of the mean entropy of α",
        ),
        (
            "mutual information of image and layer",
            f"{report['alpha_mutual_information']:.2f} nats",
            f"0: the same for every image; at most {most:.2f}",
        ),
    ]
    runs = [run["alpha_mean"] for run in evidence.get("runs", []) if run.get("row") == "laya" and run.get("alpha_mean")]
    shares = [sum(map(min, a, b)) for a, b in combinations(runs, 2)]
    if shares:
        rows.append(
            (
                "agreement of training seeds",
                f"{sum(shares) / len(shares):.0%}",
                f"attention that two of {len(runs)} seeds put on the same layers, on average",
            )
        )
    theme.table(["figure", "value", "meaning"], rows)
    if shares and sum(shares) / len(shares) < 0.75:
        theme.note(
            "Trained anew with another seed, the same network spreads its attention differently at the same accuracy. "
            "So a profile tells how <em>this</em> model decides, not how the class must be seen."
        )


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


# --- one image against its class, on the page Inspect -----------------------------------------------------------------


def usual(checkpoint: Checkpoint, result: Explanation) -> None:
    """An image's attention over what is usual for its predicted class; nothing where there is no profile for it."""
    try:
        report = checkpoints.read_profiles(checkpoint.folder)
    except LayaError as error:
        st.warning(theme.plain(str(error)))
        return
    name = result.predictions[0][0]
    part = report.get("predicted", {}).get(name)
    if not part or not part["alpha_mean"] or "alpha" not in result.attributions:
        return
    if result.settings.tau != checkpoint.model.head.tau:
        return
    st.markdown(f"#### Is this usual for “{theme.plain(name)}”?")
    alpha = result.attributions["alpha"]
    st.markdown(theme.plain(unusual(name, alpha, part)))
    st.plotly_chart(
        plots.spread_chart(
            report["layers"],
            [
                (
                    f"test images predicted as {name} ({part['n']})",
                    plots.ACCENT,
                    part["alpha_quantiles"],
                    part["alpha_mean"],
                )
            ],
            point=("this image", alpha),
        ),
        key="usual",
        config=theme.CHART,
    )


def unusual(name: str, alpha: tuple[float, ...], part: dict[str, Any]) -> str:
    """A sentence on how an image's attention compares with that of its class."""
    mean, low, high = part["alpha_mean"], part["alpha_quantiles"][0], part["alpha_quantiles"][-1]
    if part["n"] < 20:
        return f"Only {part['n']} test images were predicted as “{name}”: too few to say what is usual."
    off = [i for i, x in enumerate(alpha) if not low[i] <= x <= high[i] and abs(x - mean[i]) >= FAR]
    if not off:
        return f"Usual for “{name}”: no layer has a weight far from what it has for 90 % of these images."
    worst = max(off, key=lambda i: abs(alpha[i] - mean[i]))
    ratio = alpha[worst] / max(mean[worst], 1e-12)
    if ratio >= 1.75:
        much = "over ten times" if ratio > 10 else "twice" if ratio < 2.5 else f"{ratio:.0f} times"
        words = f"{much} the usual weight"
    elif ratio <= 0.6:
        words = "half the usual weight" if ratio > 0.4 else "far less than the usual weight"
    else:
        words = "more weight than usual" if ratio > 1 else "less weight than usual"
    return f"Unusual for “{name}”: {words} on layer {worst + 1} ({alpha[worst]:.0%} instead of {mean[worst]:.0%})."


# --- helpers ----------------------------------------------------------------------------------------------------------


def _quantity(report: Report) -> str:
    return "contribution" if report["overall"]["alpha_mean"] is None else "alpha"


def _unit(quantity: str) -> str:
    return "weight" if quantity == "alpha" else "logits"


def _rows(report: Report, grouping: str, part: str, quantity: str) -> list[tuple[str, list[float] | None]]:
    """Each class with its mean profile; None where there is no picture."""
    key = f"{quantity}_mean"
    if grouping == "predicted":
        return [(name, each[key]) for name, each in report["predicted"].items()]
    if part != "difference":
        return [(name, each[part][key]) for name, each in report["classes"].items()]
    rows: list[tuple[str, list[float] | None]] = []
    for name, each in report["classes"].items():
        right, wrong = each["right"][key], each["wrong"][key]
        rows.append((name, None if None in (right, wrong) else [a - b for a, b in zip(right, wrong, strict=True)]))
    return rows


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


def _interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"
