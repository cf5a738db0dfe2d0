"""Depth profiles against plain NumPy over single explanations."""

import json
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from laya.data import ImageSet
from laya.errors import LayaError
from laya.explanation import explain
from laya.studies import profiles
from laya.studies.profiles import Moments, Sums, apart, build, by_similarity, collect, depth, distances
from laya.studies.profiles.outliers import auroc
from laya.studies.profiles.sketch import Sketch
from laya.studies.profiles.sums import QUANTILES
from tests.conftest import CLASSES, make_model

N = 60


@pytest.fixture
def data(tmp_path, monkeypatch) -> ImageSet:
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("laya.studies.evaluation.BATCH", 16)
    monkeypatch.setattr("laya.studies.profiles.table.CHUNK", 7)
    rng = np.random.default_rng(2)
    pixels = rng.integers(0, 256, (N, 8, 8), dtype=np.uint8)
    labels = rng.integers(0, 3, N)
    return ImageSet("noise", CLASSES, labels, lambda i: pixels[i], [f"image {i}" for i in range(N)])


@pytest.fixture
def single(checkpoint, data) -> dict[str, np.ndarray]:
    """Every figure of every image, each image explained by itself."""
    own = [explain(checkpoint, data.load(i)) for i in range(N)]
    true = [explain(checkpoint, data.load(i), target=CLASSES[data.labels[i]]) for i in range(N)]
    return {
        "predicted": np.array([each.target for each in own]),
        "confidence": np.array([max(each.probabilities) for each in own]),
        "alpha": np.array([each.attributions["alpha"] for each in own]),
        "true": np.array([each.attributions["contribution"] for each in true]),
        "chosen": np.array([each.attributions["contribution"] for each in own]),
    }


def check(profile: dict, single: dict[str, np.ndarray], mine: np.ndarray, contribution: str = "true") -> None:
    assert profile["n"] == mine.sum()
    for name, values in (("alpha", single["alpha"][mine]), ("contribution", single[contribution][mine])):
        if not mine.any():
            assert profile[f"{name}_mean"] is None
            assert profile[f"{name}_std"] is None
            continue
        assert profile[f"{name}_mean"] == pytest.approx(values.mean(0), abs=1e-6)
        if mine.sum() == 1:
            assert profile[f"{name}_std"] is None
        else:
            assert profile[f"{name}_std"] == pytest.approx(values.std(0, ddof=1), abs=1e-6)
        if f"{name}_quantiles" in profile:
            exact = np.quantile(values, QUANTILES, axis=0, method="lower")
            np.testing.assert_allclose(profile[f"{name}_quantiles"], exact, rtol=0.0201, atol=1e-4)


def check_all(result: dict, single: dict[str, np.ndarray], labels: np.ndarray) -> None:
    right = single["predicted"] == labels
    check(result["overall"], single, np.ones(N, dtype=bool))
    check(result["right"], single, right)
    check(result["wrong"], single, ~right)
    for number, name in enumerate(CLASSES):
        of_class = labels == number
        each = result["classes"][name]
        assert each["n"] == of_class.sum()
        check(each["all"], single, of_class)
        check(each["right"], single, of_class & right)
        check(each["wrong"], single, of_class & ~right)
        check(result["predicted"][name], single, single["predicted"] == number, "chosen")
    for each in result["confusions"]:
        true, predicted = CLASSES.index(each["true"]), CLASSES.index(each["predicted"])
        assert true != predicted
        check(each, single, (labels == true) & (single["predicted"] == predicted))
    assert sum(each["n"] for each in result["confusions"]) == (~right).sum()


def test_every_figure_is_that_of_plain_numpy(checkpoint, data, single):
    result = build(checkpoint, data)
    check_all(result, single, data.labels)
    assert result["alpha_entropy"] == pytest.approx(np.mean(stats.entropy(single["alpha"], axis=1)), abs=1e-6)
    information = stats.entropy(single["alpha"].mean(0)) - np.mean(stats.entropy(single["alpha"], axis=1))
    assert result["alpha_mutual_information"] == pytest.approx(information, abs=1e-6)
    assert (result["n"], result["skipped"]) == (N, 0)
    json.dumps(result, allow_nan=False)


def test_two_halves_add_up_to_the_whole(checkpoint, data, single):
    halves = [data.subset(np.arange(23)), data.subset(np.arange(23, N))]
    tables = [collect(checkpoint, half) for half in halves]
    check_all(Sums.of(tables).report(), single, data.labels)


def test_a_killed_run_goes_on_and_ends_the_same(checkpoint, data, single, tmp_path, monkeypatch):
    def kill(what: str, done: int, total: int) -> None:
        assert total == N
        if done == 48:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(checkpoint, data, on_progress=kill)
    loaded: list[int] = []
    again = ImageSet(data.name, data.classes, data.labels, lambda i: loaded.append(i) or data.raw(i), data.sources)
    digest = data.digest()
    monkeypatch.setattr(ImageSet, "digest", lambda self: digest)
    result = build(checkpoint, again)
    assert loaded == list(range(48, N))
    check_all(result, single, data.labels)
    loaded.clear()
    build(checkpoint, again)
    assert not loaded  # and a second time it is read from the cache


def test_nothing_is_kept_of_a_visitors_pictures(checkpoint, data, single, tmp_path):
    check_all(build(checkpoint, data, kept=False), single, data.labels)
    assert not (tmp_path / "cache").exists()


def test_an_empty_class_and_a_class_of_one(checkpoint, data):
    """H22: no samples is no zero, and one sample has no spread; no warning either way."""
    reds = np.flatnonzero(data.labels == 0)
    greens = np.flatnonzero(data.labels == 1)[:1]
    few = data.subset(np.concatenate([reds, greens]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = build(checkpoint, few)
    blue, green = result["classes"]["blue"], result["classes"]["green"]
    assert blue["n"] == 0
    assert blue["all"]["alpha_mean"] is blue["all"]["alpha_std"] is blue["all"]["alpha_quantiles"] is None
    assert green["n"] == 1
    assert green["all"]["alpha_mean"] is not None
    assert green["all"]["alpha_std"] is None
    assert result["overall"]["n"] == len(reds) + 1


def test_classes_are_matched_by_name(checkpoint, data, single):
    """H17: another order is sorted out, a missing class has no samples, an unknown one is refused by name."""
    order = [2, 0, 1]
    renamed = ImageSet(
        "noise", tuple(CLASSES[i] for i in order), np.argsort(order)[data.labels], data.raw, data.sources
    )
    check_all(build(checkpoint, renamed), single, data.labels)
    with pytest.raises(LayaError, match="does not know the class 'violet'; it knows red, green, blue"):
        build(checkpoint, ImageSet("x", ("red", "violet"), np.array([0, 1]), data.raw, data.sources))


def test_what_cannot_be_read_is_named_and_left_out(checkpoint, data, single, monkeypatch):
    bad = {0, 17, 31, N - 1}

    def raw(index: int) -> bytes | np.ndarray:
        return b"no picture" if index in bad else data.raw(index)

    broken = ImageSet("x", CLASSES, data.labels, raw, data.sources)
    told: list[str] = []
    result = build(checkpoint, broken, on_skip=told.append)
    assert [line.partition(":")[0] for line in told] == [f"image {i}" for i in sorted(bad)]
    assert (result["n"], result["skipped"]) == (N - 4, 4)
    kept = np.array([i not in bad for i in range(N)])
    assert result["overall"]["alpha_mean"] == pytest.approx(single["alpha"][kept].mean(0), abs=1e-6)
    with pytest.raises(LayaError, match="None of the 60 pictures can be read"):
        build(checkpoint, ImageSet("x", CLASSES, data.labels, lambda i: b"", data.sources))


def test_a_head_without_weights_has_contributions_alone(checkpoint, data):
    object.__setattr__(checkpoint, "model", make_model("concat").requires_grad_(False))
    result = build(checkpoint, data, kept=False)
    assert result["overall"]["alpha_mean"] is result["alpha_entropy"] is result["outliers"] is None
    one = explain(checkpoint, data.load(0), target=CLASSES[data.labels[0]])
    alone = build(checkpoint, data.subset(np.array([0])), kept=False)
    assert alone["overall"]["contribution_mean"] == pytest.approx(one.attributions["contribution"], abs=1e-6)
    json.dumps(result, allow_nan=False)


def test_moments_are_those_of_all_rows():
    rows = np.random.default_rng(0).normal(1e6, 1.0, (1000, 3))  # a large mean, where naive sums of squares fail
    parts = [Moments.of(part) for part in np.split(rows, [1, 5, 700])]
    total = parts[0] + parts[1] + parts[2] + parts[3]
    assert total.n == 1000
    np.testing.assert_allclose(total.mean, rows.mean(0), rtol=1e-12)
    np.testing.assert_allclose(total.std, rows.std(0, ddof=1), rtol=1e-9)


def test_a_sketch_is_right_to_within_its_accuracy():
    rng = np.random.default_rng(0)
    rows = np.stack([rng.beta(0.3, 3, 5000), rng.normal(-2, 3, 5000), np.zeros(5000)], axis=1)
    one, other = Sketch(3), Sketch(3)
    one.add(rows[:1234])
    other.add(rows[1234:])
    one.merge(other)
    for q in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0):
        exact = np.quantile(rows, q, axis=0, method="lower")
        np.testing.assert_allclose(one.quantile(q), exact, rtol=Sketch.ACCURACY * 1.001, atol=Sketch.SMALLEST)


def test_distance_is_to_the_mean_of_the_others(checkpoint, data, single):
    table = collect(checkpoint, data)
    found = distances(table, Sums.of([table]))
    for i in (0, 5, 41):
        others = (single["predicted"] == single["predicted"][i]) & (np.arange(N) != i)
        if not others.any():
            assert np.isnan(found[i])
            continue
        p, q = single["alpha"][i], single["alpha"][others].mean(0)
        m = (p + q) / 2
        divergence = (stats.entropy(p, m, base=2) + stats.entropy(q, m, base=2)) / 2
        assert found[i] == pytest.approx(np.sqrt(divergence), abs=1e-5)


def test_outliers_are_ranked_and_auroc_is_honest(checkpoint, data, single):
    table = collect(checkpoint, data)
    sums = Sums.of([table])
    report = profiles.outliers(table, sums)
    far = distances(table, sums)
    usable = ~np.isnan(far)
    order = [each["distance"] for each in report["images"]]
    assert order == sorted(order, reverse=True)
    assert order[0] == pytest.approx(np.nanmax(far))
    assert report["images"][0]["image"] == f"image {np.nanargmax(far)}"
    wrong = single["predicted"] != data.labels
    assert report["auroc"]["profile_distance"]["mean"] == pytest.approx(roc_auc_score(wrong[usable], far[usable]))
    baseline = roc_auc_score(wrong[usable], 1 - single["confidence"][usable])
    assert report["auroc"]["softmax"]["mean"] == pytest.approx(baseline)
    assert report["auroc"]["softmax"]["low"] < baseline < report["auroc"]["softmax"]["high"]


def test_outliers_are_found_again_only_where_there_is_no_doubt(checkpoint, data):
    report = build(checkpoint, data)
    expected = [int(each["image"].removeprefix("image ")) for each in report["outliers"]["images"]]
    assert profiles.places(report, data) == expected
    # The same pictures in another order, and labelled in another order of classes: found by name.
    order = np.random.default_rng(0).permutation(N)
    turned = data.subset(order)
    turned = replace(turned, classes=CLASSES[::-1], labels=2 - turned.labels)
    assert [order[place] for place in profiles.places(report, turned)] == expected
    # Another number of pictures, a name that is twice there or not at all, another class: no picture.
    nothing = [None] * len(expected)
    assert profiles.places(report, data.subset(np.arange(N - 1))) == nothing
    first = expected[0]
    twin = next(place for place in range(N) if place != first and data.labels[place] == data.labels[first])
    names = [*data.sources]
    names[twin] = names[first]
    without = [None if place in (first, twin) else place for place in expected]
    assert profiles.places(report, replace(data, sources=names)) == without
    labels = data.labels.copy()
    labels[first] = (labels[first] + 1) % 3
    assert profiles.places(report, replace(data, labels=labels)) == [None, *expected[1:]]
    with pytest.raises(LayaError, match="does not know the class"):
        profiles.places(report, replace(data, classes=("red", "green", "black")))


def test_pictures_that_could_not_be_read_count_when_outliers_are_found_again(checkpoint, data):
    def raw(index: int) -> bytes | np.ndarray:
        return b"damaged" if index == 7 else data.raw(index)

    damaged = replace(data, raw=raw)
    report = build(checkpoint, damaged)
    assert (report["n"], report["skipped"]) == (N - 1, 1)
    assert None not in profiles.places(report, damaged)


def test_auroc_by_hand():
    wrong = np.array([True, False, True, False])
    assert auroc(wrong, np.array([4.0, 1.0, 2.0, 3.0]), 0)["mean"] == 0.75  # 3 of 4 pairs are ranked right
    assert auroc(np.zeros(4, dtype=bool), np.arange(4.0), 0) is None


def test_profiles_are_ordered_by_depth_and_likeness():
    assert depth([1, 0, 0]) == 0
    assert depth([0, -0.5, 0.5]) == 0.75
    assert apart([1, 0], [0, 1]) == 1
    assert apart([0.3, 0.7], [0.3, 0.7]) == 0
    named = {"deep": [0, 0.1, 0.9], "flat": [0.4, 0.3, 0.3], "deepest": [0, 0, 1.0], "shallow": [0.9, 0.1, 0]}
    order = by_similarity(named)
    assert abs(order.index("deep") - order.index("deepest")) == 1
    assert order.index("shallow") == 0


def test_memory_does_not_grow_with_the_number_of_images(checkpoint, data):
    def peak(count: int) -> int:
        rng = np.random.default_rng(count)
        picture = rng.integers(0, 256, (8, 8), dtype=np.uint8)
        many = ImageSet(
            "many",
            CLASSES,
            rng.integers(0, 3, count),
            lambda i: np.roll(picture, i),
            [f"image {i}" for i in range(count)],
        )
        tracemalloc.start()
        table = collect(checkpoint, many)
        Sums.of([table]).report()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(200)  # what is imported or compiled on the way does not count
    small, large = peak(400), peak(4000)
    per_image = (large - small) / 3600
    assert per_image < 100  # bytes: names and labels, which the data set itself holds; a picture's figures are 44
