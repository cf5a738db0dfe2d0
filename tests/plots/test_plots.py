"""Figures hold the data that they were given."""

import plotly.graph_objects as go

from laya.palette import ACCENT, DIVERGING, GREY
from laya.plots import (
    accuracy_chart,
    curve_chart,
    depth_chart,
    difference_chart,
    map_strip,
    method_chart,
    prediction_chart,
    profile_chart,
)
from laya.scores import LayerScores


def scores(method: str, *values: float) -> LayerScores:
    return LayerScores(method, method.upper(), "intrinsic", "what it is", "#123456", "logits", values)


def bars(figure: go.Figure) -> list[go.Bar]:
    return [trace for trace in figure.data if isinstance(trace, go.Bar)]


def diamonds(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if isinstance(trace, go.Scatter) and trace.mode == "markers"]


def test_few_layers_stand_as_groups_on_one_axis():
    figure = depth_chart(["one", "two"], [scores("a", 3, 1), scores("b", -2, 6)], scores("measured", 0.2, 0.2))
    a, b = bars(figure)
    assert list(a.y) == [0.75, 0.25]
    assert list(b.y) == [-0.25, 0.75]
    assert list(diamonds(figure)[0].y) == [0.5, 0.5]
    assert [point[1] for point in b.customdata] == [-2, 6]  # the raw values stay at hand
    assert "%{customdata[1]:.4g} logits" in b.hovertemplate
    assert a.marker.color == "#123456"
    # Neither bars nor groups overlap; shallow is left.
    assert a.x[0] + a.width / 2 <= b.x[0] - b.width / 2
    assert b.x[0] + b.width / 2 < a.x[1] - a.width / 2
    assert list(figure.layout.xaxis.ticktext) == ["one", "two"]
    low, high = figure.layout.yaxis.range
    assert low < -0.25
    assert high > 0.75
    # Every bar is labelled, in it or on it.
    inside = [text for bar in bars(figure) for text in bar.text if text]
    outside = [note.text for note in figure.layout.annotations]
    assert sorted(inside + outside) == ["A  25%", "A  75%", "B  -25%", "B  75%"]


def test_many_layers_become_a_row_a_method_on_one_scale():
    layers = [f"block {i} of 12" for i in range(1, 13)]
    figure = depth_chart(layers, [scores("a", *range(12)), scores("b", *[1] * 12)], scores("measured", *range(12)))
    first, second = bars(figure)
    assert (first.xaxis, second.xaxis) == ("x", "x2")
    assert len(diamonds(figure)) == 2
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range
    assert [note.text for note in figure.layout.annotations] == ["<b>A</b> (intrinsic)", "<b>B</b> (intrinsic)"]


def test_no_evidence_is_drawn_as_nothing():
    figure = depth_chart(["one", "two"], [scores("a", 0, 0)], scores("measured", 0, 0))
    assert list(bars(figure)[0].y) == [0, 0]
    low, high = figure.layout.yaxis.range
    assert low <= 0 < high


def test_predictions_stand_from_the_most_likely_down():
    predictions = [("dog", 0.7), ("cat", 0.2), ("cow", 0.06), ("hen", 0.04)]
    bar = prediction_chart(predictions, "cat").data[0]
    assert list(reversed(bar.y)) == ["dog", "cat", "cow", "hen"]
    assert list(reversed(bar.x)) == [0.7, 0.2, 0.06, 0.04]
    assert list(reversed(bar.marker.color)) == [GREY, ACCENT, GREY, GREY]
    assert next(reversed(bar.text)) == "70.0%"
    shortened = prediction_chart(predictions, "hen", most=2).data[0]
    assert list(reversed(shortened.y)) == ["dog", "hen"]  # the explained class always shows


def test_names_are_no_html():
    figure = depth_chart(["<b>x</b> <10"], [scores("a", 1)], scores("measured", 1), title="<i>")
    assert list(figure.layout.xaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt; &lt;10"]
    assert figure.layout.title.text == "&lt;i&gt;"
    assert prediction_chart([("<b>", 1.0)], "<b>").data[0].y == ("&lt;b&gt;",)


def test_a_long_title_breaks_into_lines_and_has_room():
    short, long = (
        depth_chart(["x"], [scores("a", 1)], scores("measured", 1), title=title) for title in ("word", "<word> " * 30)
    )
    lines = long.layout.title.text.split("<br>")
    assert " ".join(lines).split() == ["&lt;word&gt;"] * 30
    assert [len(line.split()) for line in lines] == [13, 13, 4]  # 13 * 7 - 1 = 90 characters
    added = long.layout.margin.t - short.layout.margin.t
    assert added == long.layout.height - short.layout.height > 0  # the chart itself is as high as before


def test_accuracies_are_dots_with_their_spread():
    figure = accuracy_chart([("A & B", 0.6, 0.1, [0.5, 0.7]), ("C", 0.4, None, [0.4])], "C")
    rings, single, means = figure.data
    assert list(rings.x) == [0.5, 0.7]
    assert list(single.x) == [0.4]
    assert list(means.x) == [0.6, 0.4]
    assert list(means.y) == ["A &amp; B", "C"]
    assert list(means.error_x.array) == [0.1, 0]
    assert list(means.marker.color) == [GREY, ACCENT]
    low, high = figure.layout.xaxis.range
    assert low < 0.4 < 0.7 < high


def test_close_accuracies_are_told_apart_and_no_bar_is_cut():
    figure = accuracy_chart([("A", 0.765, 0.01, [0.76, 0.77]), ("B", 0.761, None, [0.761])], "A")
    low, high = figure.layout.xaxis.range
    assert low < 0.755 < 0.775 < high
    assert figure.layout.xaxis.tickformat == ".1%"


def test_methods_that_have_no_value_say_so():
    figure = method_chart([("a", "#111111", 0.5, 0.1), ("b", "#222222", None, None)], tickformat=".1f", span=(0, 1))
    assert list(figure.data[0].x) == [0.5, None]
    assert [a.text for a in figure.layout.annotations] == ["0.50", "not defined"]


def test_maps_share_one_zero_centred_scale_and_keep_their_orientation():
    maps = [("block 1 of 2", [[1.0, -3.0], [0.5, 0.0]]), ("block 2 of 2", None)]
    figure = map_strip("data:image/png;base64,AA==", maps, opacity=0.4, columns=2, aspect=0.75)
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 0.75)  # never stretched
    first, second = figure.data
    assert [list(row) for row in first.z] == [[1.0, -3.0], [0.5, 0.0]]  # the first row is the top: y runs downwards
    assert list(figure.layout.yaxis.range) == [1, 0]
    assert (first.x0, first.dx, first.y0, first.dy) == (0.25, 0.5, 0.25, 0.5)
    assert {(trace.zmin, trace.zmax) for trace in figure.data} == {(-3.0, 3.0)}
    assert (first.opacity, second.opacity) == (0.4, 0)
    assert [a.text for a in figure.layout.annotations] == ["block 1", "block 2", "no places"]
    assert [image.yref for image in figure.layout.images] == ["y", "y2"]


def test_curves_lie_over_the_band_of_random_orders():
    band = [(0.9, 0.9, 0.9), (0.2, 0.5, 0.8), (0.1, 0.1, 0.1)]
    figure = curve_chart([("A", "#112233", [0.9, 0.3, 0.1])], band, measured="M", title="t")
    high, low, mean, line = figure.data
    assert (list(high.y), list(low.y), list(mean.y)) == ([0.9, 0.8, 0.1], [0.9, 0.2, 0.1], [0.9, 0.5, 0.1])
    assert (list(line.x), list(line.y), line.line.color) == ([0, 1, 2], [0.9, 0.3, 0.1], "#112233")


def test_profiles_are_densities_on_a_relative_axis():
    figure = profile_chart([("a", "#0072B2", ["x", "y"], [0.25, 0.75]), ("b", "#D55E00", ["z"], [1.0])])
    two, one = figure.data
    assert (list(two.x), list(two.y)) == ([0, 0.5, 1], [0.5, 1.5, 1.5])  # 0.25 over half the axis is 0.5 high
    assert (list(one.x), list(one.y)) == ([0, 1], [1.0, 1.0])


def test_differences_hold_their_values():
    bars_ = difference_chart(["one", "two"], [0.5, -1.0], "cat", "dog").data[0]
    assert list(bars_.y) == [0.5, -1.0]
    assert list(bars_.marker.color) == [DIVERGING[-1][1], DIVERGING[0][1]]
