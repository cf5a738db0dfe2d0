"""One picture by itself, and why it lies far from its class."""

import html
from typing import Literal

import streamlit as st

from laya import plots
from laya.attribution import Settings
from laya.checkpoints import Summary
from laya.errors import LayaError
from laya.ui import analysis, cache, theme
from laya.ui.profiles.pictures import original
from laya.ui.profiles.rows import outcome
from laya.ui.profiles.source import Profile


def show(summary: Summary, profile: Profile, number: int) -> None:
    """Open a dialog about the picture that is ``number``-th among those unlike their class, counted from 0."""
    each = profile.report["outliers"]["images"][number]
    title = f"{each['true']}, {outcome(each)}"
    st.dialog(theme.plain(title), width="large")(_explain)(summary, profile, number)


def _explain(summary: Summary, profile: Profile, number: int) -> None:
    each = profile.report["outliers"]["images"][number]
    try:
        checkpoint = cache.checkpoint(summary)
        seen = analysis.analyse(checkpoint, original(profile, number), recipe=True)
        result = analysis.explanation_of(checkpoint, seen, None, Settings())
    except LayaError as error:
        st.error(theme.plain(str(error)), icon=":material/error:")
        return
    left, right = st.columns([1, 2.5], gap="large")
    with left:
        picture = seen.thumbnails[0]
        kind: Literal["PNG", "JPEG"] = "PNG" if picture.startswith(b"\x89PNG") else "JPEG"  # as it is, not made anew
        st.image(picture, width="stretch", output_format=kind, alt=f"{each['image']}, of class {each['true']}")
        theme.note(html.escape(each["image"]))
    with right:
        name, probability = result.predictions[0]
        theme.verdict(f"Prediction: {name}, {probability:.1%}", result.summary())
        usual = profile.report["predicted"][each["predicted"]]
        group = f"predicted as {each['predicted']} ({usual['n']})"
        st.plotly_chart(
            plots.spread_chart(
                result.layers,
                [(group, plots.ACCENT, usual["alpha_quantiles"], usual["alpha_mean"])],
                point=("this picture", result.attributions["alpha"]),
            ),
            key="outlier-usual",
            config=theme.CHART,
        )
        theme.note(f"Its {theme.term('profile distance')} from their mean is {each['distance']:.2f}.")
    st.plotly_chart(
        plots.depth_chart(result.layers, result.scores, result.measured),
        key="outlier-depth",
        config=theme.CHART,
        alt=result.summary(),
    )
    theme.note(
        f"Bars: {theme.term('share', 'share of each method’s total')}. ◆ {theme.term('measured', 'measured')}: what "
        f"removing the layer ({theme.term(result.settings.removal)}) really costs."
    )
