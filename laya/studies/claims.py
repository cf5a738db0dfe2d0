"""What the paper claims about each task, held against the figures in evidence.json; plain data, no torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROWS = {
    "last_layer": "LastLayer",
    "concat": "Concat",
    "concat_shipped": "Concat on scaled states",
    "scalar_mix": "ScalarMix",
    "scalar_mix_shipped": "ScalarMix with the same additions",
    "laya_published": "LAYA as published",
    "laya": "LAYA as shipped",
}
LAYA = ("laya_published", "laya")
PUBLISHED = ("last_layer", "concat", "scalar_mix", "laya_published")  # what the paper compares
GRADIENTS = ("integrated_gradients", "grad_cam")
METHODS = ("alpha", "contribution", *GRADIENTS)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper (G. Vessio, arXiv 2511.12723) and what we find.

    Attributes
    ----------
    paper : the claim.
    here : what our runs say, in plain words.
    found : whether that is what the paper says.
    """

    paper: str
    here: str
    found: bool


def claims(table: dict[str, Any]) -> list[Claim]:
    """The paper's claims about the task of an evidence.json; none while a head of the paper lacks two seeds in it."""
    rows = table.get("rows", {})
    checks = _CHECKS.get(str(table.get("data")), ())
    complete = all(row in rows and rows[row]["seeds"] >= 2 for row in (*PUBLISHED, "laya"))
    return [check(rows) for check in checks] if complete else []


def _order(rows: dict[str, Any]) -> str:
    order = sorted((row for row in ROWS if row in rows), key=lambda row: -_mean(rows[row]))
    return "In order: " + ", ".join(f"{ROWS[row]} {_mean(rows[row]):.1%}" for row in order) + "."


def _mean(row: dict[str, Any], figure: str = "accuracy") -> float:
    return float(row[figure]["mean"])


def _points(interval: dict[str, float]) -> str:
    mean, low, high = (100 * interval[name] for name in ("mean", "low", "high"))
    return f"{mean:+.1f} points [{low:+.1f}, {high:+.1f}]"


def _laya_first(rows: dict[str, Any]) -> Claim:
    others = [row for row in PUBLISHED if row not in LAYA]
    best = max(LAYA, key=lambda row: _mean(rows[row]))
    interval = rows[best]["accuracy_difference"]
    certain = "clear of 0" if interval["low"] > 0 or interval["high"] < 0 else "not clear of 0"
    return Claim(
        "LAYA has the highest mean accuracy of the four heads.",
        f"{_order(rows)} {ROWS[best]} differs from LastLayer by {_points(interval)}, {certain}.",
        _mean(rows[best]) > max(_mean(rows[row]) for row in others),
    )


def _fashion_faithfulness(rows: dict[str, Any]) -> Claim:
    ranks = {
        removal: {
            method: rows["laya_published"]["faithfulness"][removal][method]["spearman"]["mean"] for method in METHODS
        }
        for removal in ("zero-term", "zero-state")
    }
    told = "; ".join(
        f"removed as {removal}: alpha {row['alpha']:.3f}, Integrated Gradients {row['integrated_gradients']:.3f}, "
        f"Grad-CAM {row['grad_cam']:.3f}"
        for removal, row in ranks.items()
    )
    return Claim(
        "Faithfulness: alpha 0.8575, the gradient methods about 0.89.",
        f"LAYA as published, {told}.",
        any(
            abs(row["alpha"] - 0.8575) <= 0.03 and all(abs(row[each] - 0.89) <= 0.03 for each in GRADIENTS)
            for row in ranks.values()
        ),
    )


def _last_layer_attention(rows: dict[str, Any]) -> Claim:
    last = {row: rows[row]["alpha_mean"]["mean"][-1] for row in LAYA}
    return Claim(
        "The attention is almost all on the last layer.",
        " ".join(f"{ROWS[row]} puts {share:.0%} on the last layer." for row, share in last.items()),
        last["laya_published"] >= 0.8,
    )


def _concat_first(rows: dict[str, Any]) -> Claim:
    first = max(PUBLISHED, key=lambda row: _mean(rows[row]))
    return Claim(
        "Concat has the highest accuracy.",
        f"{_order(rows)} Among the heads as published {ROWS[first]} is the first.",
        first == "concat",
    )


def _above_last_layer(rows: dict[str, Any]) -> Claim:
    told = [f"{ROWS[row]} {_points(rows[row]['accuracy_difference'])}" for row in LAYA]
    return Claim(
        "LAYA is clearly above LastLayer.",
        f"Against LastLayer: {', '.join(told)}.",
        rows["laya_published"]["accuracy_difference"]["low"] > 0,
    )


def _deletion(rows: dict[str, Any]) -> Claim:
    told, found = [], True
    for row in LAYA:
        drops = {method: rows[row]["faithfulness"]["zero-term"][method]["deletion_at_1"]["mean"] for method in METHODS}
        told.append(f"{ROWS[row]}: " + ", ".join(f"{_METHOD[method]} {drop:.3f}" for method, drop in drops.items()))
        found &= row != "laya_published" or drops["alpha"] >= max(drops[method] for method in GRADIENTS)
    return Claim("LAYA's attention has the highest Deletion@1 (0.5787).", f"{'; '.join(told)}.", found)


def _sparse(rows: dict[str, Any]) -> Claim:
    told, found = [], False
    for row in LAYA:
        mean = rows[row]["alpha_mean"]["mean"]
        top = sorted(i for i in sorted(range(len(mean)), key=lambda i: -mean[i])[:4] if mean[i] >= 0.01)
        effective = math.exp(-sum(share * math.log(share) for share in mean if share > 0))
        told.append(
            f"{ROWS[row]} spreads over {effective:.1f} of {len(mean)} blocks in effect, most on "
            + ", ".join(f"{i + 1} ({mean[i]:.0%})" for i in top)
        )
        found |= row == "laya_published" and effective <= 6 and len({7, 9, 11, 12} & {i + 1 for i in top}) >= 3
    return Claim("The attention is sparse, on blocks such as 7, 9, 11 and 12.", f"{'; '.join(told)}.", found)


def _by_style(rows: dict[str, Any]) -> Claim:
    shared = {row: _mean(rows[row], "alpha_mutual_information") for row in LAYA}
    told = ", ".join(f"{ROWS[row]} {value:.2f} nats" for row, value in shared.items())
    return Claim(
        "The attention differs from style to style.",
        f"Mutual information between image and layer (0: the same attention for every image): {told}.",
        shared["laya_published"] >= 0.1,
    )


_METHOD = {"alpha": "alpha", "contribution": "contribution", "integrated_gradients": "IG", "grad_cam": "Grad-CAM"}
_CHECKS: dict[str, tuple[Callable[[dict[str, Any]], Claim], ...]] = {
    "fashion-mnist": (_laya_first, _fashion_faithfulness),
    "cifar10": (_laya_first, _last_layer_attention),
    "best-artworks": (_concat_first, _above_last_layer, _deletion, _sparse, _by_style),
}
