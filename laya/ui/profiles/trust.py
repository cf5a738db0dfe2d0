"""How far the attention can be trusted."""

import math
from itertools import combinations
from typing import Any

import streamlit as st

from laya.ui import theme
from laya.ui.profiles.rows import Report


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
