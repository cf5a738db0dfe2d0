"""Heat maps: their numbers can be read on any cell, on a light page and on a dark one."""

import tomllib

import numpy as np
import plotly.graph_objects as go
import pytest

from laya.plots import agreement_chart, layer_heatmap
from tests.conftest import PROJECT

THEMES = tomllib.loads((PROJECT / ".streamlit" / "config.toml").read_text())["theme"]
GROUNDS = [THEMES["light"]["backgroundColor"], THEMES["dark"]["backgroundColor"]]


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def luminance(channels: np.ndarray) -> float:
    """Relative luminance as WCAG 2.2 defines it, of channels in [0, 255]."""
    c = channels / 255
    return float(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def texts(figure: go.Figure) -> dict[tuple[str, str], tuple[str, str]]:
    """(row, column) to (text, colour) of every cell."""
    found = {}
    for trace in figure.data[1:]:
        for column, row, text in zip(trace.x, trace.y, trace.text, strict=True):
            assert (row, column) not in found
            found[row, column] = (text, trace.textfont.color)
    return found


def rows(figure: go.Figure) -> list[list[str]]:
    """The texts as they stand in the chart."""
    cells = texts(figure)
    return [[cells[row, column][0] for column in figure.data[0].x] for row in figure.data[0].y]


def fill(figure: go.Figure, value: float | None, ground: str) -> np.ndarray:
    """The colour that Plotly draws a value in: piecewise linear in RGB."""
    if value is None:
        return rgb(ground)
    cells = figure.data[0]
    stops, colours = zip(*cells.colorscale, strict=True)
    share = (value - cells.zmin) / (cells.zmax - cells.zmin)
    return np.array([np.interp(share, stops, channel) for channel in zip(*map(rgb, colours), strict=True)])


def ramp(count: int, low: float) -> list[tuple[str, list[float]]]:
    """All values from ``low`` to 1, in rows of ``count``."""
    values = np.linspace(low, 1, 20 * count).reshape(20, count)
    return [(f"row {i}", row.tolist()) for i, row in enumerate(values)]


CHARTS = {
    "shares": lambda ground: layer_heatmap(list("abc"), ramp(3, 0), short=False, ground=ground),
    "many shares": lambda ground: layer_heatmap([str(i) for i in range(12)], ramp(12, 0), short=True, ground=ground),
    "differences": lambda ground: layer_heatmap(list("abcd"), ramp(4, -1), short=False, signed=True, ground=ground),
    "logits": lambda ground: layer_heatmap(
        list("abcd"), [*ramp(4, -1), ("none", None)], short=False, signed=True, unit="logits", ground=ground
    ),
    "nothing": lambda ground: layer_heatmap(list("ab"), [("x", [0.0, 0.0]), ("y", None)], short=False, ground=ground),
    "agreement": lambda ground: agreement_chart(
        [str(i) for i in range(9)],
        [[None if i == j else value for j, value in enumerate(row)] for i, (_, row) in enumerate(ramp(9, -1)[::2])][:9],
        ground=ground,
    ),
}


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("chart", CHARTS)
def test_every_number_can_be_read_on_its_cell(chart, ground):
    figure = CHARTS[chart](ground)
    cells, inks = figure.data[0], texts(figure)
    assert len(inks) == len(cells.x) * len(cells.y)
    for row, values in zip(cells.y, cells.z, strict=True):
        for column, value in zip(cells.x, values, strict=True):
            assert contrast(fill(figure, value, ground), rgb(inks[row, column][1])) >= 4.5, (row, column, value)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("chart", CHARTS)
def test_nothing_has_the_colour_of_the_page_and_more_stands_out_more(chart, ground):
    figure = CHARTS[chart](ground)
    top = figure.data[0].zmax
    assert (fill(figure, 0, ground) == rgb(ground)).all()
    for end in (1, -1)[: 1 if figure.data[0].zmin == 0 else 2]:
        out = [contrast(fill(figure, end * top * share, ground), rgb(ground)) for share in np.linspace(0, 1, 101)]
        assert out == sorted(out)
        assert out[-1] > 4.5


def test_a_heatmap_has_one_scale_and_shallow_is_left():
    figure = layer_heatmap(["one", "two"], [("x", [0.25, 0.75]), ("y", [0.996, 0.004])], short=True)
    cells = figure.data[0]
    assert [list(row) for row in cells.z] == [[0.25, 0.75], [0.996, 0.004]]
    assert (cells.zmin, cells.zmax) == (0, 0.996)
    assert list(cells.x) == ["1", "2"]
    assert list(figure.layout.yaxis.range) == [1.5, -0.5]  # the first row on top
    assert rows(figure) == [["25", "75"], ["100", ""]]
    assert figure.layout.xaxis.title.text == "layer, shallow to deep; in %"
    named = layer_heatmap(["one, 5 units", "two"], [("x", [0.25, 0.75])], short=False)
    assert rows(named) == [["25%", "75%"]]
    assert list(named.data[0].x) == ["one<br>5 units", "two"]


def test_numbers_are_large_enough_and_those_that_do_not_fit_are_left_to_the_pointer():
    def drawn(count: int, **options: object) -> go.Figure:
        layers = [f"block {i}" for i in range(count)]
        return layer_heatmap(layers, [("x", [12.34] * count)], short=True, **options)

    logits = {"signed": True, "unit": "logits"}
    assert rows(drawn(12, **logits)) == [["+12.3"] * 12]
    assert rows(drawn(20, **logits)) == [["+12"] * 20]
    crowded = drawn(60, **logits)
    assert rows(crowded) == [[""] * 60]
    for figure in (crowded, drawn(3, **logits)):
        for trace in figure.data[1:]:
            assert trace.textfont.size >= 12
    (hover,) = {
        text for trace in crowded.data[1:] for text in trace.hovertext if text.startswith("<b>x</b><br>block 59")
    }
    assert hover == "<b>x</b><br>block 59<br>+12.340 logits"


def test_what_rounds_to_nothing_stays_blank():
    signed = {"short": False, "signed": True}
    assert rows(layer_heatmap(["a", "b"], [("x", [-0.004, -0.006])], **signed)) == [["", "-1%"]]
    assert rows(layer_heatmap(["a", "b"], [("x", [-0.04, 0.06])], unit="logits", **signed)) == [["", "+0.1"]]


def test_a_click_anywhere_in_a_row_selects_its_name():
    figure = layer_heatmap(["a", "b"], [("T <b>", [0.0, 1.0]), ("none", None)], short=False)
    keys = {
        (row, column): key
        for trace in figure.data[1:]
        for row, column, key in zip(trace.y, trace.x, trace.customdata, strict=True)
    }
    assert keys == {
        **{("T &lt;b&gt;", column): "T <b>" for column in "ab"},
        **{("none", column): "none" for column in "ab"},
    }
    assert figure.data[0].hoverinfo == "skip"
    assert figure.layout.hoverdistance == -1
    for trace in figure.data[1:]:  # nothing fades around the cell that was clicked
        assert trace.unselected.textfont.color == trace.selected.textfont.color == trace.textfont.color


def test_agreement_holds_its_values():
    figure = agreement_chart(["a", "b"], [[1.0, None], [None, -1.0]])
    assert rows(figure) == [["+1.00", "–"], ["–", "-1.00"]]
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_stands_on_any_ground_with_all_its_labels(chart):
    """Whatever the template: Streamlit's, which is in force in the app, leaves no room for labels."""
    layout = CHARTS[chart]("#FFFFFF").layout
    assert layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.xaxis.automargin
    assert layout.yaxis.automargin
