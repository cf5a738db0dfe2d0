"""The parts of the page Evidence, each from an evidence.json as it is stored."""

import html
from typing import Any

import streamlit as st

from laya import checkpoints, plots
from laya.attribution import ATTRIBUTIONS
from laya.errors import LayaError
from laya.studies.claims import ROWS, claims
from laya.ui import address, theme

Table = dict[str, Any]
MEASURES = {"spearman": "Faithfulness", "deletion_at_1": "Deletion@1"}
CONTROLS = {"random": "random order", "last_layer": "last layer only", "uniform": "all equal"}


def choose_task() -> Table | None:
    """A choice of the checkpoints with a table; None where there is none. Broken tables are named."""
    tables: dict[str, Table] = {}
    titles: dict[str, str] = {}
    for entry in checkpoints.available():
        try:
            table = checkpoints.read_evidence(entry.folder)
        except LayaError as error:
            st.warning(theme.plain(str(error)))
            continue
        if table.get("rows"):
            tables[entry.name] = table
            titles[entry.name] = entry.title or entry.name
    if not tables:
        return None
    asked = address.initial("model")
    before = st.session_state.get("chosen-model", asked)  # on another page, or by the address
    first = before if before in tables else next(iter(tables))
    name = st.segmented_control(
        "Task",
        list(tables),
        default=first,
        format_func=titles.__getitem__,
        required=True,
        key="task",
        label_visibility="collapsed",
    )
    name = name or first
    if name != first:  # a model without a table stays the one that the other pages show
        st.session_state["chosen-model"] = name
    address.record("model", name)
    return tables[name]


def verdicts(table: Table) -> None:
    """The paper's claims about this task, each with what was found."""
    found = claims(table)
    if not found:
        st.info("This table is not complete yet; its rows so far are below.")
    for claim in found:
        mark = "found here, too" if claim.found else "not found here"
        kind = "yes" if claim.found else "no"
        st.html(
            f'<div class="laya-claim laya-claim-{kind}"><p class="laya-eyebrow">The paper: {html.escape(claim.paper)} '
            f"<b>{mark}</b></p><p>{html.escape(claim.here)}</p></div>"
        )


def accuracies(table: Table) -> None:
    """Accuracy of every head over the seeds."""
    st.markdown("#### How often is it right?")
    rows = []
    for row in _rows(table):
        figure = table["rows"][row]["accuracy"]
        rows.append((ROWS[row], figure["mean"], figure["std"], [r["accuracy"] for r in _runs(table, row)]))
    st.plotly_chart(plots.accuracy_chart(rows, ROWS["laya"]), key="accuracies", config=theme.CHART)
    theme.note(f"Accuracy on {table['n']:,} test images; mean, standard deviation, and a ring for every seed.")


def agreement(table: Table) -> None:
    """Faithfulness or Deletion@1 of every method, in the meaning of "removed" that is chosen."""
    st.markdown("#### Which explanation is right?")
    attending = [row for row in _rows(table) if "faithfulness" in table["rows"][row]]
    if not attending:
        st.info("No head with layer weights has been measured yet.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = st.selectbox(
            "Head",
            attending,
            index=attending.index("laya") if "laya" in attending else 0,
            format_func=lambda row: ROWS[row],
            key="evidence-head",
        )
        removals = list(table["rows"][row]["faithfulness"])
        removal = st.selectbox("Removing a layer means", removals, key="evidence-removal")
        figure = st.selectbox(
            "Measure", list(MEASURES), format_func=lambda figure: MEASURES[figure], key="evidence-measure"
        )
    measured = table["rows"][row]["faithfulness"][removal]
    rows = [
        (method.label, method.colour, measured[name][figure]["mean"], measured[name][figure]["std"])
        for name, method in ATTRIBUTIONS.items()
    ]
    rows += [
        (label, plots.GREY, measured[name][figure]["mean"], measured[name][figure]["std"])
        for name, label in CONTROLS.items()
    ]
    low = min([0.0, *(mean - (std or 0) for _, _, mean, std in rows if mean is not None)])
    st.plotly_chart(
        plots.method_chart(rows, tickformat=".1f", span=(low * 1.15, 1.12 if figure == "spearman" else _top(rows))),
        key="agreement",
        config=theme.CHART,
    )
    term = theme.term("faithfulness") if figure == "spearman" else theme.term("deletion", "Deletion@1")
    theme.note(f"{term}, mean over the test images and then over the seeds. Grey: controls that know nothing.")


def attention(table: Table) -> None:
    """Where the weight lies, by head and by class."""
    weighted = [row for row in _rows(table) if "alpha_mean" in table["rows"][row]]
    if not weighted:
        return
    layers = table["rows"][weighted[0]]["layers"]
    short = len(layers) > plots.FEW
    st.markdown("#### Which layers does it read?")
    rows = [(f"{ROWS[row]}, seed {run['seed']}", run["alpha_mean"]) for row in weighted for run in _runs(table, row)]
    with theme.strip("heads", len(layers)):
        st.plotly_chart(
            plots.layer_heatmap(layers, rows, short=short, ground=theme.ground()), key="attention", config=theme.CHART
        )
    theme.note(
        "Mean weight of each layer over the test images, shallow on the left, deep on the right. ScalarMix has one set "
        "of weights for all images. Seeds of one head that disagree have found different ways to the same accuracy."
    )
    if "laya" in weighted:
        run = _runs(table, "laya")[0]
        st.markdown("#### Does it depend on the class?")
        by_class = sorted(run["alpha_of_class"].items(), key=lambda item: _depth(item[1]))
        with theme.strip("classes", len(layers)):
            st.plotly_chart(
                plots.layer_heatmap(layers, by_class, short=short, ground=theme.ground()),
                key="classes",
                config=theme.CHART,
            )
        theme.note(
            f"Mean attention of LAYA as shipped (seed {run['seed']}) over the test images of each class, from the "
            f"shallowest class to the deepest. Mutual information between image and layer: "
            f"{run['alpha_mutual_information']:.2f} nats; 0 would mean the same attention for every image."
        )


def numbers(table: Table) -> None:
    """The whole table, and the file it comes from."""
    rows = []
    for row in _rows(table):
        summary = table["rows"][row]
        rows.append(
            (
                ROWS[row],
                str(summary["seeds"]),
                _spread(summary["accuracy"]),
                _spread(summary["macro_f1"]),
                _interval(summary.get("accuracy_difference")),
                f"{summary['parameters']:,}",
                f"{summary['seconds']['mean']:.0f} s",
            )
        )
    theme.table(
        ["head", "seeds", "accuracy", "macro-F1", "difference to LastLayer", "head’s parameters", "training"], rows
    )
    for row in _rows(table):
        if "faithfulness" not in table["rows"][row]:
            continue
        st.markdown(f"**{ROWS[row]}**: faithfulness, then Deletion@1, under each meaning of “removed”")
        by_removal = table["rows"][row]["faithfulness"]
        methods = {**{name: method.label for name, method in ATTRIBUTIONS.items()}, **CONTROLS}
        theme.table(
            ["method", *(theme.term(removal) for removal in by_removal)],
            [
                (
                    label,
                    *(
                        f"{_spread(r[name]['spearman'], 3)}; {_spread(r[name]['deletion_at_1'], 3)}"
                        for r in by_removal.values()
                    ),
                )
                for name, label in methods.items()
            ],
        )


def origin(table: Table) -> None:
    """How the table was made."""
    st.markdown(
        "Brackets are 95 % intervals (Student’s t) of the difference between runs that share the seed. "
        "**LAYA as published** is the head of arXiv 2511.12723 as it stands; **LAYA as shipped** adds what keeps its "
        "attention from collapsing onto one layer. Both, like all heads, were trained with the same recipe and budget."
    )
    command = table["command"]
    st.code(f"{command}  # every run that is missing\n{command} --row laya --seed 0  # one run", language="bash")
    theme.note(html.escape(f"Measured on {table['machine']}."))


def _rows(table: Table) -> list[str]:
    return [row for row in ROWS if row in table["rows"]]


def _runs(table: Table, row: str) -> list[dict[str, Any]]:
    return [run for run in table["runs"] if run["row"] == row]


def _depth(shares: list[float]) -> float:
    return sum(number * share for number, share in enumerate(shares)) / sum(shares)


def _top(rows: list[tuple[str, str, float | None, float | None]]) -> float:
    return 1.25 * max([0.05, *(mean + (std or 0) for _, _, mean, std in rows if mean is not None)])


def _spread(value: dict[str, float | None], digits: int = 4) -> str:
    if value["mean"] is None:
        return "not defined"
    return f"{value['mean']:.{digits}f}" + ("" if value["std"] is None else f" ± {value['std']:.{digits}f}")


def _interval(value: dict[str, float | None] | None) -> str:
    if value is None or value["mean"] is None:
        return ""
    return f"{value['mean']:+.4f}" + ("" if value["low"] is None else f" [{value['low']:+.4f}, {value['high']:+.4f}]")
