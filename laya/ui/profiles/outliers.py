"""Pictures unlike their class."""

import streamlit as st

from laya.ui import theme
from laya.ui.profiles.rows import Report


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


def _interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"
