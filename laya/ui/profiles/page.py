"""The whole page for one report, and its verdict."""

import math

import streamlit as st

from laya import checkpoints, plots
from laya.checkpoints import Summary
from laya.studies import profiles
from laya.ui import theme
from laya.ui.profiles.classes import classes, one_class
from laya.ui.profiles.download import take_away
from laya.ui.profiles.outliers import outliers
from laya.ui.profiles.rows import Report, profile_rows, quantity_of, unit_of
from laya.ui.profiles.source import Profile
from laya.ui.profiles.trust import trust

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

TIED = 0.01  # of the depth: classes no further apart are told alike
FLAT = 0.02  # of the most that there can be: mutual information below it is next to none
LEAD = 0.9  # a mean weight above it is nearly all
ENOUGH = 10  # pictures of a class, to be named as an extreme


def show(summary: Summary, profile: Profile) -> None:
    """The whole page for one report."""
    report = profile.report
    verdict(report)
    overall(report)
    clicked, chart = classes(report)
    one_class(report, clicked)
    outliers(summary, profile)
    trust(report, checkpoints.read_evidence(summary.folder))
    st.markdown("#### Take it away")
    take_away(report, chart)


def verdict(report: Report) -> None:
    """The answer in plain words, and what stands against trusting it."""
    named = {name: row for name, row in profile_rows(report, "true", "all", quantity_of(report)) if row is not None}
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
            if high - low > TIED
            else f"No class is decided deeper than another: all lie at about {low:.0%} of the depth."
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
    quantity = quantity_of(report)
    st.markdown("#### All classes together")
    part = report["overall"]
    st.plotly_chart(
        plots.spread_chart(
            report["layers"],
            [("all pictures", plots.ACCENT, part[f"{quantity}_quantiles"], part[f"{quantity}_mean"])],
            unit=unit_of(quantity),
        ),
        key="profile-overall",
        config=theme.CHART,
    )
    theme.note("Line: mean. Box: the middle half of the pictures. Whiskers: the middle 90 %.")
