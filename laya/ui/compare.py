"""The views of the page Compare."""

import html
import time
from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st
from PIL import Image, ImageFilter, ImageOps

from laya import comparison, plots
from laya.attribution import ATTRIBUTIONS
from laya.explanation import Explanation
from laya.scores import LayerScores
from laya.ui import analysis, controls, models, places, report, state, theme
from laya.ui.analysis import Analysis
from laya.ui.desk import Desk
from laya.ui.picker import Choice
from laya.ui.turns import SLOW

INTEGRATED, GRAD_CAM = (ATTRIBUTIONS[method].colour for method in ("integrated_gradients", "grad_cam"))


def methods(desk: Desk, seen: Analysis) -> None:
    """All methods on one image: charts, agreement, curves, meanings of "removed", places, classes, what-if."""
    checkpoint = desk.checkpoint
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
        charts["agreement"] = plots.agreement_chart([_short(scores) for scores in columns], ranks)
        st.plotly_chart(charts["agreement"], key="agreement", config=theme.CHART)
        tops = {
            scores.label: result.layers[max(range(len(scores.values)), key=scores.values.__getitem__)]
            for scores in columns
        }
        firsts = "; ".join(f"{label}: {html.escape(layer)}" for label, layer in tops.items())
        theme.note(
            "Spearman’s correlation of the layer orders: +1 the same order, −1 reversed, – not defined. "
            f"First in order: {firsts}."
        )
    with right:
        st.markdown("#### Does the verdict depend on what “removed” means?")
        _removals(desk, seen, result, trace, shown)
    _curves(desk, seen, result, trace, columns, charts)
    st.markdown("#### Where in the picture, at each depth?")
    charts["places"] = places.strip(desk, seen, result)
    _total(desk, seen, result)
    left, right = st.columns(2, gap="large")
    with left:
        _against(desk, result, trace)
    with right:
        _read_out(desk, result, trace)
    if checkpoint.model.head.attends:
        _what_if(desk, seen, result, trace)
    report.take_away(result, charts, desk.recipe)


def _choose_methods(model: str, scores: list[LayerScores]) -> list[LayerScores]:
    """The methods to show; all of them where none is chosen."""
    asked = (state.asked("methods") or "").split(",")
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
    state.tell("methods", None if len(shown) == len(scores) else ",".join(each.method for each in shown))
    return shown


def _verdict(result: Explanation, shown: list[LayerScores], table: dict[tuple[str, str], comparison.Agreement]) -> None:
    tops = {scores.label: max(range(len(scores.values)), key=scores.values.__getitem__) for scores in shown}
    layers = sorted(set(tops.values()))
    name, probability = result.predictions[0]
    if len(layers) == 1:
        text = f"All {len(shown)} methods rank layer {layers[0] + 1} of {len(result.layers)} first."
    else:
        text = "; ".join(
            f"{' and '.join(label for label, top in tops.items() if top == layer)}: layer {layer + 1}"
            for layer in layers
        )
        text = f"The methods do not agree on the first layer. {text}."
    measured = {scores.label: table[scores.method, result.measured.method].spearman for scores in shown}
    known = {label: rank for label, rank in measured.items() if rank is not None}
    if known:
        best = max(known, key=known.__getitem__)
        text += f" Closest to the measured effects: {best} ({known[best]:+.2f})."
    theme.verdict(f"Prediction: {name}, {probability:.1%} · explained: {result.target_name}", text)


def _short(scores: LayerScores) -> str:
    return {"integrated_gradients": "IG", "alpha": "α", "leave_one_out": "Measured"}.get(scores.method, scores.label)


def _removals(desk: Desk, seen: Analysis, result: Explanation, trace: analysis.Trace, shown: list[LayerScores]) -> None:
    each = state.keep(
        "removals",
        (seen.key, result.target, result.settings),
        lambda: comparison.under_each_removal(desk.checkpoint, trace, result.target_name, result.settings),
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
    desk: Desk,
    seen: Analysis,
    result: Explanation,
    trace: analysis.Trace,
    columns: list[LayerScores],
    charts: dict[str, go.Figure],
) -> None:
    st.markdown("#### What happens layer by layer?")
    own, band = state.keep(
        "curves",
        (seen.key, result.target, result.settings),
        lambda: comparison.curves(desk.checkpoint, trace, result),
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


STEPS = 20  # of Integrated Gradients through the whole network


def _total(desk: Desk, seen: Analysis, result: Explanation) -> None:
    """Captum through the later blocks: slow, so on request, with progress and a way to stop."""
    with st.expander("Total effects: what a layer passes on to later layers counts, too", icon=":material/hourglass:"):
        key = f"{seen.key}-{result.target}"
        kept = st.session_state.get("kept-total")
        if kept is None or kept[0] != key:
            estimate = max(1.0, seen.seconds * 3 * STEPS * (len(result.layers) + 1))
            st.markdown(
                "Everything above is a **direct** effect, through the head alone. Captum’s layer methods go through "
                f"all that comes after a layer. For this model and image that takes about {_duration(estimate)}."
            )
            if not st.button("Measure the total effects", icon=":material/play_arrow:"):
                return
            bar = st.progress(0.0, "pixels")
            st.button("Stop", icon=":material/stop:")  # any click ends the run at the next pass

            begin = time.monotonic()

            def tell(what: str, done: int, total: int) -> None:
                left = _duration((time.monotonic() - begin) * (total - done) / done) if done else _duration(estimate)
                bar.progress(done / total, f"{what}, about {left} left")

            state.keep(
                "total",
                key,
                lambda: analysis.total_effects_of(desk.checkpoint, seen, result.target, STEPS, tell),
                line=SLOW,
            )
            st.rerun()
        total = kept[1]
        columns = [
            LayerScores(
                "layer_ig", "LayerIntegratedGradients", "post-hoc", "", INTEGRATED, "logits", total.integrated_gradients
            ),
            LayerScores("layer_gc", "LayerGradCam", "post-hoc", "", GRAD_CAM, "logits", total.grad_cam),
        ]
        st.plotly_chart(
            plots.depth_chart(result.layers, columns, result.measured, multiples=True), key="total", config=theme.CHART
        )
        worst = max(map(abs, total.convergence))
        theme.note(
            "Total effects, from Captum. The diamonds are the measured <em>direct</em> effects, which these need not "
            f"follow. {STEPS} steps; Integrated Gradients misses its sum by {worst:.2g} logits at most."
        )
        maps = [
            (name, None if each is None else each.tolist())
            for name, each in zip(result.layers, total.maps, strict=True)
        ]
        if any(each is not None for _, each in maps):
            st.markdown("##### Grad-CAM at each layer, through the whole network")
            with st.container(key="strip-total"):
                places.draw(maps, seen, "total-maps", opacity=0.65)
        st.markdown("##### Integrated Gradients at the pixels")
        with st.container(width=320):
            places.draw([("pixels", total.pixels.tolist())], seen, "pixels", opacity=0.75)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _against(desk: Desk, result: Explanation, trace: analysis.Trace) -> None:
    st.markdown("#### Which layers tell two classes apart?")
    others = [name for name, _ in result.predictions if name != result.target_name]
    asked = state.asked("against")
    other = st.selectbox(
        f"“{result.target_name}” against",
        others,
        index=others.index(asked) if asked in others else 0,
        key=f"against-{desk.checkpoint.name}-{result.target_name}",
    )
    state.tell("against", None if other == others[0] else other)
    values = comparison.against(desk.checkpoint, trace, result.target_name, other)
    st.plotly_chart(
        plots.difference_chart(result.layers, values, result.target_name, other), key="against", config=theme.CHART
    )
    theme.note("The difference of the two classes’ contributions, in logits; with the biases it is exact.")


def _read_out(desk: Desk, result: Explanation, trace: analysis.Trace) -> None:
    st.markdown("#### What would the model say from a part of its depth?")
    values = comparison.read_out(desk.checkpoint, trace)
    alone = st.segmented_control(
        "Read", ["layer by layer", "up to a depth"], default="layer by layer", required=True, key="read-out"
    )
    rows = values.alone if alone != "up to a depth" else values.up_to
    names = [name for name, _ in result.predictions[:6]]
    columns = [desk.checkpoint.classes.index(name) for name in names]
    chart = plots.layer_heatmap(
        result.layers,
        [(name, [row[column] for row in rows]) for name, column in zip(names, columns, strict=True)],
        short=len(result.layers) > plots.FEW,
    )
    with theme.strip("read-out", len(result.layers)):
        st.plotly_chart(chart, key="read-out-chart", config=theme.CHART)
    theme.note("Probability of the likeliest classes, from each layer alone or from all layers up to it.")


def _what_if(desk: Desk, seen: Analysis, result: Explanation, trace: analysis.Trace) -> None:
    with st.expander("What if the attention were another?", icon=":material/tune:"):
        own = result.attributions["alpha"]
        version = st.session_state.setdefault("what-if-version", 0)
        keys = [f"weight-{seen.key}-{version}-{i}" for i in range(len(own))]
        left, right = st.columns(2, gap="large")
        with left:
            weights = [
                st.slider(name, 0.0, 1.0, round(share, 3), 0.001, key=key)
                for name, share, key in zip(result.layers, own, keys, strict=True)
            ]
            if st.button("Back to the model’s own", icon=":material/restart_alt:"):
                st.session_state["what-if-version"] = version + 1
                st.rerun()
        with right:
            if not sum(weights):
                st.info("Give at least one layer some weight.")
                return
            values = comparison.by_hand(desk.checkpoint, trace, weights)
            predictions = sorted(zip(desk.checkpoint.classes, values, strict=True), key=lambda pair: -pair[1])
            st.markdown(
                f"**{theme.plain(predictions[0][0])}, {predictions[0][1]:.1%}** instead of "
                f"{theme.plain(result.predictions[0][0])}, {result.predictions[0][1]:.1%}"
            )
            st.plotly_chart(plots.prediction_chart(predictions, result.target_name), key="what-if", config=theme.CHART)
            theme.note("The weights are normalised to sum to 1; z and the classifier stay as they are.")


# --- two images ------------------------------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "blurred": lambda image: image.filter(ImageFilter.GaussianBlur(max(image.size) / 60)),
    "turned by 90°": lambda image: image.transpose(Image.Transpose.ROTATE_90),
    "upside down": lambda image: image.transpose(Image.Transpose.ROTATE_180),
    "mirrored": ImageOps.mirror,
    "cropped to its middle": lambda image: ImageOps.crop(image, min(image.size) // 5),
    "grey": lambda image: image.convert("L").convert("RGB"),
}


def two_images(desk: Desk, seen: Analysis) -> None:
    """The same model on this image and on another, or on a changed copy."""
    checkpoint = desk.checkpoint
    answer = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kinds = [*CHANGES, "another file"]
        asked = state.asked("change")
        change = st.selectbox("The other image", kinds, index=kinds.index(asked) if asked in kinds else 0, key="change")
        state.tell("change", None if change == kinds[0] else change)
        target = controls.choose_target(checkpoint, analysis.predicted(checkpoint, seen), seen.key)
        settings = controls.choose_settings(checkpoint)
    if change == "another file":
        upload = st.file_uploader("Upload the other image", key="other-upload")
        if upload is None:
            st.info("Upload a second image to compare with.")
            return
        other = analysis.analyse(checkpoint, Choice(upload.name, upload.getvalue()), recipe=desk.recipe, slot="other")
    else:
        other = analysis.analyse_picture(
            checkpoint, CHANGES[change](seen.picture.image), f"{seen.key}-{change}", recipe=desk.recipe
        )
    results = [
        analysis.explanation_of(checkpoint, each, target, settings, slot=slot)
        for each, slot in ((seen, "explanation"), (other, "explanation-other"))
    ]
    with answer:
        _moved(results, ("This image", "the other image"), "is taken for")
    for column, result, each, title in zip(
        st.columns(2, gap="large"), results, (seen, other), ("This image", change), strict=True
    ):
        with column:
            name, probability = result.predictions[0]
            picture, words = st.columns([1, 3], vertical_alignment="center", wrap=False)
            report.picture(picture, each.thumbnails[1], alt=title)
            words.markdown(f"**{title[0].upper() + title[1:]}**  \n{theme.plain(name)}, {probability:.1%}")
            st.plotly_chart(
                plots.depth_chart(result.layers, result.scores, result.measured, multiples=True),
                key=f"two-{title}",
                config=theme.CHART,
                alt=result.summary(),
            )


def _moved(results: list[Explanation], names: tuple[str, str], verb: str) -> None:
    one, other = results
    words = []
    if "alpha" in one.attributions and "alpha" in other.attributions:
        shift = comparison.shift(one.attributions["alpha"], other.attributions["alpha"])
        way = "deeper" if shift.depths[1] > shift.depths[0] else "shallower"
        words.append(
            f"{shift.moved:.0%} of the attention lies on other layers, on average "
            f"{abs(shift.depths[1] - shift.depths[0]):.0%} of the depth {way}."
        )
    a, b = one.predictions[0], other.predictions[0]
    words.append(
        f"For both the prediction is “{a[0]}”."
        if a[0] == b[0]
        else f"{names[0]} {verb} “{a[0]}”, {names[1]} {verb} “{b[0]}”."
    )
    theme.verdict(f"{names[0]}: {a[0]}, {a[1]:.1%} · {names[1]}: {b[0]}, {b[1]:.1%}", " ".join(words))


# --- two models ------------------------------------------------------------------------------------------------------


def two_models(desk: Desk, seen: Analysis) -> None:
    """The same image through another checkpoint, on one relative depth axis."""
    entries = {
        entry.name: entry for entry in models.listed() if entry.problem is None and entry.name != desk.checkpoint.name
    }
    if not entries or desk.choice is None:
        st.info("There is only one model here; train another to compare with.")
        return
    answer = st.container()
    names, asked = list(entries), state.asked("other")
    name = st.selectbox(
        "The other model",
        names,
        index=names.index(asked) if asked in names else 0,
        format_func=lambda key: entries[key].title or key,
        key="other-model",
    )
    state.tell("other", None if name == names[0] else name)
    model = state.checkpoint(entries[name])
    other = analysis.analyse(model, desk.choice, recipe=desk.recipe, slot="other-model")
    results = [
        analysis.explanation_of(desk.checkpoint, seen, None, analysis.Settings()),
        analysis.explanation_of(model, other, None, analysis.Settings(), slot="explanation-model"),
    ]
    titles = [desk.checkpoint.name, name]
    with answer:
        _moved(results, (titles[0], titles[1]), "says")
    profiles = [
        (title, colour, result.layers, [abs(share) for share in result.scores[0].shares])
        for title, colour, result in zip(titles, (plots.ACCENT, plots.OTHER), results, strict=True)
    ]
    st.plotly_chart(plots.profile_chart(profiles), key="profiles", config=theme.CHART)
    theme.note("The attention of each model over its own depth, from input to output; equal areas are equal shares.")
    for column, result, title in zip(st.columns(2, gap="large"), results, titles, strict=True):
        with column:
            st.markdown(f"#### {theme.plain(title)}")
            st.plotly_chart(
                plots.depth_chart(result.layers, result.scores, result.measured, multiples=True),
                key=f"model-{title}",
                config=theme.CHART,
                alt=result.summary(),
            )
