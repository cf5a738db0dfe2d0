"""The page Depth profiles, run by Streamlit's own test runner, and its parts."""

import base64
import csv
import html
import io
import json
import re
import tomllib

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from laya import checkpoints
from laya.checkpoints import load
from laya.data import ImageSet
from laya.data.zips import open_zip
from laya.explanation import explain
from laya.studies import profiles
from laya.ui.inspect.usual import unusual
from laya.ui.profiles.download import as_csv
from tests.conftest import PROJECT, encode, pack
from tests.ui.test_app import answer, texts

pytestmark = pytest.mark.filterwarnings("ignore")
FASHION = "fashion-mnist-mlp"
REPORT = checkpoints.read_profiles(checkpoints.find(FASHION))
SAMPLES = checkpoints.samples(FASHION)


def open_page(model: str = FASHION) -> AppTest:
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=120)
    test.query_params["model"] = model
    return test.run().switch_page("pages/profiles.py").run()


@pytest.fixture
def app() -> AppTest:
    test = open_page()
    assert not test.exception
    return test


def said(app: AppTest) -> str:
    """All Markdown text of the page, without the signs that keep it plain."""
    return "\n".join(block.value for block in app.markdown).replace("\\", "")


def heatmap(app: AppTest) -> dict:
    """The Plotly figure of the classes, as it went to the browser."""
    figures = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return next(figure for figure in figures if figure["data"][0]["type"] == "heatmap")


def test_the_shipped_profile_is_shown(app):
    depth = {name: profiles.depth(each["all"]["alpha_mean"]) for name, each in REPORT["classes"].items()}
    low, high = min(depth, key=depth.get), max(depth, key=depth.get)
    assert f"“{low}” is decided shallowest and “{high}” deepest" in answer(app)
    cells = heatmap(app)["data"][0]
    shown = dict(zip([label.rpartition(" (")[0] for label in cells["y"]], cells["z"], strict=True))
    assert {html.unescape(name): row for name, row in shown.items()} == {
        name: each["all"]["alpha_mean"] for name, each in REPORT["classes"].items()
    }


def test_sorting_grouping_and_right_against_wrong(app):
    app.selectbox(key="profile-sort").set_value("name").run()
    assert [label.rpartition(" (")[0] for label in heatmap(app)["data"][0]["y"]] == sorted(REPORT["classes"])
    app.selectbox(key="profile-sort").set_value("depth").run()
    depths = [profiles.depth(row) for row in heatmap(app)["data"][0]["z"]]
    assert depths == sorted(depths)
    app.segmented_control(key="profile-part").set_value("difference").run()
    assert not app.exception
    cells = heatmap(app)["data"][0]
    row = cells["z"][[label.startswith("Coat") for label in cells["y"]].index(True)]
    coat = REPORT["classes"]["Coat"]
    expected = [a - b for a, b in zip(coat["right"]["alpha_mean"], coat["wrong"]["alpha_mean"], strict=True)]
    assert row == pytest.approx(expected)
    app.segmented_control(key="profile-grouping").set_value("predicted").run()
    app.segmented_control(key="profile-quantity").set_value("contribution").run()
    assert not app.exception
    cells = heatmap(app)["data"][0]
    row = cells["z"][[label.startswith("Coat") for label in cells["y"]].index(True)]
    assert row == REPORT["predicted"]["Coat"]["contribution_mean"]


def test_a_class_its_neighbours_and_its_confusions(app):
    app.selectbox(key="profile-class").set_value("Coat").run()
    app.selectbox(key="profile-other").set_value("Bag").run()
    assert not app.exception
    mean = {name: each["all"]["alpha_mean"] for name, each in REPORT["classes"].items()}
    far = {name: profiles.apart(mean["Coat"], mean[name]) for name in mean if name != "Coat"}
    nearest = min(far, key=far.get)
    assert f"Most alike: {nearest} ({far[nearest]:.2f})" in html.unescape(texts(app))


def zip_of(**classes: str) -> bytes:
    files = {f"{name}/{i}.png": SAMPLES[label].read_bytes() for i, (name, label) in enumerate(classes.items())}
    return pack(files | {"Coat/broken.png": b"no picture"})


def test_a_zip_of_ones_own(app):
    app.segmented_control(key="profile-source").set_value("My pictures").run()
    assert not app.exception
    data = zip_of(Coat="Coat", Bag="Bag", ankle_boot="Ankle boot")
    app.file_uploader(key="profile-zip").upload("mine.zip", data)
    app.run()
    assert "4 pictures in 3 folders" in said(app)
    (button,) = [button for button in app.button if button.label == "Build the profile"]
    button.click().run()
    assert not app.exception
    expected = profiles.build(load(FASHION), open_zip(data, "mine.zip"), kept=False)
    cells = heatmap(app)["data"][0]
    labels = {html.unescape(label): row for label, row in zip(cells["y"], cells["z"], strict=True)}
    assert labels["Ankle boot (1)"] == expected["classes"]["Ankle boot"]["all"]["alpha_mean"]
    assert labels["Dress (no samples)"] == [None, None, None]
    assert "1 file could not be read and was left out" in html.unescape(app.warning[0].value).replace("\\", "")
    assert "broken.png" in app.warning[0].value.replace("\\", "")


def cards(app: AppTest) -> list:
    return [button for button in app.button if (button.key or "").startswith("outlier-")]


def picture_of(card: object) -> Image.Image:
    """The picture in the label of a card."""
    data = re.search(r"data:image/webp;base64,([^)]+)", card.label)[1]
    return Image.open(io.BytesIO(base64.b64decode(data)))


def numbered(index: int) -> np.ndarray:
    """A picture of 28 x 28 that carries its place in 14 stripes, black or white."""
    bits = [255 * (index >> bit & 1) for bit in range(14)]
    return np.tile(np.repeat(bits, 2), (28, 1)).astype(np.uint8)


def number_of(picture: Image.Image) -> int:
    """The place that a picture carries."""
    stripes = np.asarray(picture.convert("L")).mean(axis=0).reshape(14, -1).mean(axis=1)
    return sum(1 << bit for bit in range(14) if stripes[bit] > 127)


def as_reported(count: int) -> ImageSet:
    """A data set that the shipped report could be of: the outliers have the classes that it says."""
    labels = np.zeros(count, dtype=np.int64)
    for each in REPORT["outliers"]["images"]:
        labels[int(each["image"].removeprefix("test image "))] = list(REPORT["classes"]).index(each["true"])
    sources = [f"test image {index}" for index in range(count)]
    return ImageSet("fashion-mnist", tuple(REPORT["classes"]), labels, numbered, sources, "test")


def test_pictures_of_the_test_set_are_shown_where_it_is_at_hand(monkeypatch):
    asked = []
    monkeypatch.setattr("laya.ui.profiles.source.at_hand", lambda *what: asked.append(what) or as_reported(10_000))
    app = open_page()
    assert not app.exception
    assert set(asked) == {("fashion-mnist", "test")}
    images = REPORT["outliers"]["images"][:12]
    assert len(cards(app)) == 12
    for card, each in zip(cards(app), images, strict=True):
        assert number_of(picture_of(card)) == int(each["image"].removeprefix("test image "))
        label = card.label.replace("\\", "")
        assert label.startswith(f"![{each['image']}](data:image/webp;base64,")
        right = each["true"] == each["predicted"]
        words = "rightly predicted" if right else f"taken for {each['predicted']}"
        end = f"**{each['true']}** *{words}* *confidence {each['confidence']:.1%}* *distance {each['distance']:.2f}*"
        assert label.endswith(end)
        assert ("wrong" in card.key) != right
    asked.clear()
    app.run()
    assert not asked  # the data is opened once, and only the small pictures stay
    assert all(each["image"] in texts(app) for each in images)  # the table, under Numbers


def test_a_click_on_a_picture_explains_it(monkeypatch):
    monkeypatch.setattr("laya.ui.profiles.source.at_hand", lambda *what: as_reported(10_000))
    app = open_page()
    cards(app)[2].click().run()
    assert not app.exception
    each = REPORT["outliers"]["images"][2]
    place = int(each["image"].removeprefix("test image "))
    result = explain(load(FASHION), Image.fromarray(numbered(place)))
    assert result.summary() in texts(app)
    assert f"{each['distance']:.2f}" in texts(app)
    figures = {chart.proto.id.rsplit("-", 1)[0]: chart for chart in app.get("plotly_chart")}
    (usual,) = [json.loads(chart.proto.spec) for chart in figures.values() if "this picture" in chart.proto.spec]
    assert usual["data"][-1]["y"] == pytest.approx(result.attributions["alpha"])
    assert usual["data"][0]["name"].startswith(f"predicted as {each['predicted']} (")
    app.run()
    assert result.summary() not in texts(app)  # the dialog is closed by whatever comes next


@pytest.mark.parametrize(
    ("data", "reason"),
    [(None, "is not on this machine"), (as_reported(9_999), "on this machine is not the one that was profiled")],
)
def test_without_the_very_data_set_there_is_a_table_and_the_reason(monkeypatch, data, reason):
    monkeypatch.setattr("laya.ui.profiles.source.at_hand", lambda *what: data)
    app = open_page()
    assert not app.exception
    assert not cards(app)
    assert f"The pictures themselves cannot be shown, for the data set fashion-mnist {reason}." in texts(app)
    assert all(each["image"] in texts(app) for each in REPORT["outliers"]["images"][:12])


def test_pictures_of_a_zip_are_shown_and_stay_in_the_session(app, tmp_path, monkeypatch):
    monkeypatch.setenv("LAYA_CACHE", str(tmp_path / "cache"))
    other = encode(Image.effect_noise((50, 20), 90).convert("L"))
    names = {"Coat/a.png": SAMPLES["Coat"].read_bytes(), "Coat/b.png": SAMPLES["Coat"].read_bytes(), "Bag/c.png": other}
    app.segmented_control(key="profile-source").set_value("My pictures").run()
    app.file_uploader(key="profile-zip").upload("mine.zip", pack(names | {"Bag/d.png": other}))
    app.run()
    next(button for button in app.button if button.label == "Build the profile").click().run()
    assert not app.exception
    shown = {re.match(r"!\[(.*?)\]", card.label.replace("\\", ""))[1]: picture_of(card) for card in cards(app)}
    assert set(shown) == set(names | {"Bag/d.png": other})
    assert shown["Bag/c.png"].size == (150, 60)  # three times as large, its pixels square
    assert shown["Coat/a.png"].size == (168, 168)
    cards(app)[0].click().run()
    assert not app.exception
    assert "Prediction: " in texts(app)
    assert not (tmp_path / "cache").exists()
    kept = app.session_state["kept-outliers"][1]  # small copies, in this session alone
    assert max(len(small) for small in kept) < 40_000


def test_two_pictures_of_one_name_are_not_mixed_up(app):
    coat, bag = (SAMPLES[name].read_bytes() for name in ("Coat", "Bag"))
    app.segmented_control(key="profile-source").set_value("My pictures").run()
    names = {"one/Coat/a.png": coat, "two/Coat/a.png": coat, "one/Bag/b.png": bag, "one/Bag/c.png": bag}
    app.file_uploader(key="profile-zip").upload("mine.zip", pack(names))
    app.run()
    next(button for button in app.button if button.label == "Build the profile").click().run()
    assert not app.exception
    told = {card.label.replace("\\", "").partition(" **")[0]: card.disabled for card in cards(app)}
    assert told["Coat/a.png"]
    assert sum(told.values()) == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_stand_on_the_ground_of_the_page_and_on_paper_when_taken_away(theme, monkeypatch):
    taken = []
    monkeypatch.setattr("laya.ui.profiles.page.take_away", lambda report, chart: taken.append(chart))
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=120)
    app.context["theme"] = theme
    app.query_params["model"] = FASHION
    app.run().switch_page("pages/profiles.py").run()
    assert not app.exception
    config = tomllib.loads((PROJECT / ".streamlit" / "config.toml").read_text())
    assert heatmap(app)["data"][0]["colorscale"][0][1] == config["theme"][theme]["backgroundColor"]
    assert taken[-1].data[0].colorscale[0][1] == "#FFFFFF"


def test_folders_that_are_no_classes_are_refused_by_name(app):
    app.segmented_control(key="profile-source").set_value("My pictures").run()
    app.file_uploader(key="profile-zip").upload("mine.zip", pack({"Hat/1.png": b"x", "Coat/2.png": b"x"}))
    app.run()
    assert not app.exception
    told = app.error[0].value.replace("\\", "")
    assert "does not know the class 'Hat'" in told
    assert "Ankle boot" in told
    app.file_uploader(key="profile-zip").upload("other.zip", b"this is no archive")
    app.run()
    assert "not a zip archive" in app.error[0].value.replace("\\", "")


def test_attention_that_says_nothing_is_said_to(app, monkeypatch):
    flat = REPORT | {
        "alpha_mutual_information": 0.01,
        "overall": REPORT["overall"] | {"alpha_mean": [0.95, 0.03, 0.02]},
    }
    monkeypatch.setattr(checkpoints, "read_profiles", lambda folder: flat)
    app.run()
    assert not app.exception
    assert "nearly the same for every image" in app.warning[0].value
    assert "Nearly all attention lies on layer 1" in app.warning[1].value


def test_without_a_profile_the_page_says_how_to_make_one(monkeypatch):
    monkeypatch.setattr(checkpoints, "read_profiles", lambda folder: {})
    app = open_page()
    assert not app.exception
    assert "python -m laya profile" in app.info[0].value.replace("\\", "")


def test_csv_has_every_figure_once():
    rows = list(csv.DictReader(io.StringIO(as_csv(REPORT))))
    layers = len(REPORT["layers"])
    assert len(rows) == layers * (3 + 3 * len(REPORT["classes"]) + len(REPORT["predicted"]))
    (row,) = [
        row
        for row in rows
        if (row["grouping"], row["class"], row["part"]) == ("true", "Coat", "wrong")
        and row["layer"] == REPORT["layers"][1]
    ]
    assert float(row["alpha_mean"]) == REPORT["classes"]["Coat"]["wrong"]["alpha_mean"][1]
    assert int(row["n"]) == REPORT["classes"]["Coat"]["wrong"]["n"]


PART = {
    "n": 100,
    "alpha_mean": [0.2, 0.3, 0.5],
    "alpha_quantiles": [[0.1, 0.2, 0.4], [0.15, 0.25, 0.45], [0.2, 0.3, 0.5], [0.25, 0.35, 0.55], [0.3, 0.4, 0.6]],
}


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        ((0.2, 0.3, 0.5), "Usual for “x”"),
        ((0.12, 0.45, 0.43), "more weight than usual on layer 2 (45% instead of 30%)"),
        ((0.42, 0.3, 0.28), "twice the usual weight on layer 1 (42% instead of 20%)"),
        ((0.8, 0.2, 0.0), "4 times the usual weight on layer 1 (80% instead of 20%)"),
        ((0.35, 0.4, 0.25), "half the usual weight on layer 3 (25% instead of 50%)"),
        ((0.3, 0.35, 0.35), "Unusual for “x”: less weight than usual on layer 3 (35% instead of 50%)"),
        ((0.28, 0.33, 0.39), "less weight than usual on layer 3 (39% instead of 50%)"),
        ((0.29, 0.3, 0.41), "Usual for “x”"),  # inside what 90 % have
    ],
)
def test_what_is_unusual_is_said_in_words(alpha, words):
    assert words in unusual("x", alpha, PART)


def test_few_images_say_nothing_of_what_is_usual():
    assert "too few" in unusual("x", (1.0, 0.0, 0.0), PART | {"n": 3})


def test_inspect_holds_an_image_against_its_class():
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    test.query_params["model"] = FASHION
    test.query_params["sample"] = "Coat"
    test.run()
    assert not test.exception
    result = explain(load(FASHION), SAMPLES["Coat"])
    name = result.predictions[0][0]
    sentence = unusual(name, result.attributions["alpha"], REPORT["predicted"][name])
    assert sentence in said(test)
