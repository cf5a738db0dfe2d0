"""How the depth of two explanations differs, in words."""

from laya.explanation import Explanation, comparison
from laya.ui import theme


def shift_verdict(results: list[Explanation], names: tuple[str, str], verb: str) -> None:
    """The page's answer: how much attention moved to other layers, and what is predicted.

    Parameters
    ----------
    results : the two explanations.
    names : what the two sides are called.
    verb : between a side's name and its prediction, such as "says".
    """
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
