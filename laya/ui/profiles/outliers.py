"""Pictures unlike their class."""

import html
from collections.abc import Sequence
from typing import Any

import streamlit as st

from laya.checkpoints import Summary
from laya.ui import theme
from laya.ui.profiles import one_picture
from laya.ui.profiles.pictures import thumbnails
from laya.ui.profiles.rows import outcome
from laya.ui.profiles.source import Profile

SHOWN = 12  # pictures; a report names more


def outliers(summary: Summary, profile: Profile) -> None:
    """Pictures far from their class, and whether being far means being wrong."""
    st.markdown("#### Pictures unlike their class")
    report = profile.report
    found = report["outliers"]
    if found is None:
        theme.note(
            "A head without layer weights has no attention that could be unusual."
            if report["overall"]["alpha_mean"] is None
            else "No two pictures are predicted as the same class, so none can be compared with others."
        )
        return
    _answer(found)
    images = found["images"][:SHOWN]
    small = thumbnails(profile, SHOWN)
    if small is None or not any(small):
        data = html.escape(str(report.get("data", "the pictures")))
        reason = "is not on this machine" if small is None else "on this machine is not the one that was profiled"
        theme.note(f"The pictures themselves cannot be shown, for the data set {data} {reason}.")
        _numbers(images)
        return
    chosen = _gallery(images, small)
    with st.expander("Numbers", icon=":material/table:"):
        _numbers(images)
    if chosen is not None:
        one_picture.show(summary, profile, chosen)


def _answer(found: dict[str, Any]) -> None:
    distance, softmax = (found["auroc"][name] for name in ("profile_distance", "softmax"))
    if distance is None:
        theme.note("All predictions are right, or all wrong: there is nothing to tell apart.")
        return
    better = "better than" if distance["low"] > softmax["high"] else "as well as"
    if distance["high"] < softmax["low"]:
        better = "worse than"
    theme.note(
        f"Does an unusual profile mean a wrong prediction? The {theme.term('profile distance')} tells wrong from "
        f"right with an {theme.term('AUROC')} of <b>{_interval(distance)}</b>, {better} the plain softmax "
        f"probability with <b>{_interval(softmax)}</b> ({found['wrong']:,} of {found['n']:,} are wrong)."
    )


def _gallery(images: Sequence[dict[str, Any]], small: Sequence[str | None]) -> int | None:
    """A card a picture, the farthest first; gives the one that was clicked, counted from 0."""
    chosen = None
    with st.container(key="outliers"):
        for number, (each, picture) in enumerate(zip(images, small, strict=True)):
            right = each["true"] == each["predicted"]
            lines = [outcome(each), f"confidence {each['confidence']:.1%}", f"distance {each['distance']:.2f}"]
            shown = f"![{theme.plain(each['image'])}]({picture})" if picture else theme.plain(each["image"])
            text = " ".join(f"*{theme.plain(line)}*" for line in lines)
            if st.button(
                f"{shown} **{theme.plain(each['true'])}** {text}",
                key=f"outlier-{'right' if right else 'wrong'}-{number}",
                disabled=picture is None,
            ):
                chosen = number
    theme.note("The farthest first; an orange edge marks a wrong prediction. Click a picture for its explanation.")
    return chosen


def _numbers(images: Sequence[dict[str, Any]]) -> None:
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
            for each in images
        ],
    )


def _interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"
