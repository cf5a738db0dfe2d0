"""All methods on one image: do they agree, and which is right?"""

import html
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from laya import plots
from laya.explanation import Explanation, comparison
from laya.explanation.headline import leaders
from laya.scores import LayerScores
from laya.ui import address, analysis, cache, controls, download, maps, theme
from laya.ui.analysis import Analysis
from laya.ui.compare.total import total_effects
from laya.ui.compare.what_if import what_if
from laya.ui.workbench import Workbench


def show(bench: Workbench, seen: Analysis) -> None:
    """All methods on one image: charts, agreement, curves, meanings of "removed", places, classes, what-if."""
    checkpoint = bench.checkpoint
    charts: dict[str, go.Figure] = {}
    answer = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        target = controls.choose_target(checkpoint, analysis.predicted(checkpoint, seen), seen.key)
        settings = controls.choose_settings(checkpoint)
    result = analysis.explanation_of(checkpoint, seen, target, settings)
    trace = analysis.trace_at(checkpoint, seen, settings)
    shown = _choose_methods(checkpoint.name, result.scores)
    columns = [*shown, result.measured]
    table = comparison.agreement(columns)
    with answer:
        _verdict(result, shown, table)
    charts["depth"] = plots.depth_chart(result.layers, shown, result.measured, multiples=True)
    st.plotly_chart(charts["depth"], key="compare-depth", config=theme.CHART, alt=result.summary())
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("#### Do they agree?")
        ranks = [[table[a.method, b.method].spearman for b in columns] for a in columns]
        draw = partial(plots.agreement_chart, [_short(scores) for scores in columns], ranks)
        charts["agreement"] = draw()
        st.plotly_chart(draw(ground=theme.ground()), key="agreement", config=theme.CHART)
        tops = {
            scores.label: " and ".join(result.layers[i] for i in leaders(scores.shares)) or "none" for scores in columns
        }
        firsts = "; ".join(f"{label}: {html.escape(layer)}" for label, layer in tops.items())
        theme.note(
            "Spearman’s correlation of the layer orders: +1 the same order, −1 reversed, – not defined. "
            f"First in order: {firsts}."
        )
    with right:
        st.markdown("#### Does the verdict depend on what “removed” means?")
        _removals(bench, seen, result, trace, shown)
    _curves(bench, seen, result, trace, columns, charts)
    st.markdown("#### Where in the picture, at each depth?")
    strip = maps.strip(bench, seen, result)
    if strip is not None:
        charts["places"] = strip
    total_effects(bench, seen, result)
    left, right = st.columns(2, gap="large")
    with left:
        _against(bench, result, trace)
    with right:
        _read_out(bench, result, trace)
    if checkpoint.model.head.attends:
        what_if(bench, seen, result, trace)
    download.take_away(result, charts, bench.recipe)


def _choose_methods(model: str, scores: list[LayerScores]) -> list[LayerScores]:
    """The methods to show; all of them where none is chosen."""
    asked = (address.initial("methods") or "").split(",")
    labels = {each.method: each.label for each in scores}
    chosen = st.pills(
        "Methods",
        list(labels),
        format_func=labels.__getitem__,
        selection_mode="multi",
        default=[method for method in labels if method in asked] or list(labels),
        key=f"methods-{model}",
    )
    shown = [each for each in scores if each.method in chosen] or scores
    address.record("methods", None if len(shown) == len(scores) else ",".join(each.method for each in shown))
    return shown


def _verdict(result: Explanation, shown: list[LayerScores], table: dict[tuple[str, str], comparison.Agreement]) -> None:
    tops = {scores.label: tuple(leaders(scores.shares)) for scores in shown}  # none without evidence for the target
    layers = sorted(set(tops.values()))
    name, probability = result.predictions[0]
    if len(layers) == 1:
        first = _numbered(layers[0], f" of {len(result.layers)}")
        text = f"All {len(shown)} methods rank {first} first."
    else:
        text = "; ".join(
            f"{' and '.join(label for label, top in tops.items() if top == each)}: {_numbered(each)}" for each in layers
        )
        text = f"The methods do not agree on the first layer. {text}."
    measured = {scores.label: table[scores.method, result.measured.method].spearman for scores in shown}
    known = {label: rank for label, rank in measured.items() if rank is not None}
    if known:
        best = max(known, key=known.__getitem__)
        text += f" Closest to the measured effects: {best} ({known[best]:+.2f})."
    theme.verdict(f"Prediction: {name}, {probability:.1%} · explained: {result.target_name}", text)


def _numbered(layers: tuple[int, ...], rest: str = "") -> str:
    """Layers that rank first together, by number."""
    numbers = " and ".join(str(layer + 1) for layer in layers)
    return f"layer{'s' if len(layers) > 1 else ''} {numbers}{rest}" if layers else "none"


def _short(scores: LayerScores) -> str:
    return {"integrated_gradients": "IG", "alpha": "α", "leave_one_out": "Measured"}.get(scores.method, scores.label)


def _removals(
    bench: Workbench, seen: Analysis, result: Explanation, trace: analysis.Trace, shown: list[LayerScores]
) -> None:
    each = cache.keep(
        "removals",
        (seen.key, result.target, result.settings),
        lambda: comparison.under_each_removal(bench.checkpoint, trace, result.target_name, result.settings),
    )
    rows = []
    for scores in shown:
        ranks = [other.faithfulness[scores.method].spearman for other in each.values()]
        rows.append((scores.label, *("not defined" if rank is None else f"{rank:+.2f}" for rank in ranks)))
    theme.table(["method", *(theme.term(removal) for removal in each)], rows, [scores.colour for scores in shown])
    best = {}
    for removal, other in each.items():
        known = {s.label: r for s in shown if (r := other.faithfulness[s.method].spearman) is not None}
        if known:
            best[removal] = max(known, key=known.__getitem__)
    if len(set(best.values())) > 1:
        told = "; ".join(f"{removal}: {label}" for removal, label in best.items())
        theme.note(f"The ranking flips: the most faithful method depends on the meaning ({told}).")
    elif best:
        theme.note(f"{next(iter(best.values()))} is the most faithful here, whatever “removed” means.")


def _curves(
    bench: Workbench,
    seen: Analysis,
    result: Explanation,
    trace: analysis.Trace,
    columns: list[LayerScores],
    charts: dict[str, go.Figure],
) -> None:
    st.markdown("#### What happens layer by layer?")
    own, band = cache.keep(
        "curves",
        (seen.key, result.target, result.settings),
        lambda: comparison.curves(bench.checkpoint, trace, result),
    )
    left, right = st.columns(2, gap="large")
    for column, kind, title in (
        (left, "deletion", f"“{result.target_name}” without the k layers that rank first"),
        (right, "insertion", f"“{result.target_name}” with those k layers alone"),
    ):
        lines = [(scores.label, scores.colour, getattr(own[scores.method], kind)) for scores in columns]
        charts[kind] = plots.curve_chart(
            lines, getattr(band, kind), measured=result.measured.label, title=html.escape(title)
        )
        column.plotly_chart(charts[kind], key=f"curve-{kind}", config=theme.CHART)
    theme.note(
        "A method that is right falls fast on the left and rises fast on the right. Dashed grey: random order, with "
        f"the middle 90 % of {comparison.ORDERS} orders. Dotted: the order of the measured effects themselves."
    )


def _against(bench: Workbench, result: Explanation, trace: analysis.Trace) -> None:
    st.markdown("#### Which layers tell two classes apart?")
    others = [name for name, _ in result.predictions if name != result.target_name]
    asked = address.initial("against")
    other = st.selectbox(
        f"“{result.target_name}” against",
        others,
        index=others.index(asked) if asked in others else 0,
        key=f"against-{bench.checkpoint.name}-{result.target_name}",
    )
    address.record("against", None if other == others[0] else other)
    values = comparison.against(bench.checkpoint, trace, result.target_name, other)
    st.plotly_chart(
        plots.difference_chart(result.layers, values, result.target_name, other), key="against", config=theme.CHART
    )
    theme.note("The difference of the two classes’ contributions, in logits; with the biases it is exact.")


def _read_out(bench: Workbench, result: Explanation, trace: analysis.Trace) -> None:
    st.markdown("#### What would the model say from a part of its depth?")
    values = comparison.read_out(bench.checkpoint, trace)
    alone = st.segmented_control(
        "Read", ["layer by layer", "up to a depth"], default="layer by layer", required=True, key="read-out"
    )
    rows = values.alone if alone != "up to a depth" else values.up_to
    names = [name for name, _ in result.predictions[:6]]
    columns = [bench.checkpoint.classes.index(name) for name in names]
    chart = plots.layer_heatmap(
        result.layers,
        [(name, [row[column] for row in rows]) for name, column in zip(names, columns, strict=True)],
        short=len(result.layers) > plots.FEW,
        ground=theme.ground(),
    )
    with theme.strip("read-out", len(result.layers)):
        st.plotly_chart(chart, key="read-out-chart", config=theme.CHART)
    theme.note("Probability of the likeliest classes, from each layer alone or from all layers up to it.")
