"""One image through two models."""

import streamlit as st

from laya import plots
from laya.ui import address, analysis, cache, models, theme
from laya.ui.analysis import Analysis
from laya.ui.compare.shift import shift_verdict
from laya.ui.workbench import Workbench


def show(bench: Workbench, seen: Analysis) -> None:
    """The same image through another checkpoint, on one relative depth axis."""
    entries = {
        entry.name: entry for entry in models.listed() if entry.problem is None and entry.name != bench.checkpoint.name
    }
    if not entries or bench.choice is None:
        st.info("There is only one model here; train another to compare with.")
        return
    answer = st.container()
    names, asked = list(entries), address.initial("other")
    name = st.selectbox(
        "The other model",
        names,
        index=names.index(asked) if asked in names else 0,
        format_func=lambda key: entries[key].title or key,
        key="other-model",
    )
    address.record("other", None if name == names[0] else name)
    model = cache.checkpoint(entries[name])
    other = analysis.analyse(model, bench.choice, recipe=bench.recipe, slot="other-model")
    results = [
        analysis.explanation_of(bench.checkpoint, seen, None, analysis.Settings()),
        analysis.explanation_of(model, other, None, analysis.Settings(), slot="explanation-model"),
    ]
    titles = [bench.checkpoint.name, name]
    with answer:
        shift_verdict(results, (titles[0], titles[1]), "says")
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
