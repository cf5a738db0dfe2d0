"""One image against what is usual for its class."""

from typing import Any

import streamlit as st

from laya import checkpoints, plots
from laya.checkpoints import Checkpoint
from laya.errors import LayaError
from laya.explanation import Explanation
from laya.ui import theme

FAR = 0.1  # of the attention: less than that is not called unusual


def show(checkpoint: Checkpoint, result: Explanation) -> None:
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
