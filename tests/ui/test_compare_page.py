"""The page Compare, run by Streamlit's own test runner."""

import html

import pytest
from streamlit.testing.v1 import AppTest

from laya import checkpoints
from laya.checkpoints import load
from laya.explanation import comparison, explain, explain_trace, trace_image
from laya.inputs.images import read
from laya.inputs.preprocessing import prepare
from tests.conftest import PROJECT
from tests.ui.test_app import answer, texts

pytestmark = pytest.mark.filterwarnings("ignore")
FASHION = "fashion-mnist-mlp"
COAT = checkpoints.samples(FASHION)["Coat"]


@pytest.fixture
def app() -> AppTest:
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    test.query_params["model"] = FASHION
    test.run().switch_page("pages/compare.py").run()
    return test


@pytest.fixture
def coat(app) -> AppTest:
    return app.button(key="sample-Coat").click().run()


def test_the_empty_page_teaches(app):
    assert not app.exception
    assert "Do the explanations agree?" in app.markdown[0].value
    assert not app.get("plotly_chart")


def test_methods_agree_as_the_library_says(coat):
    assert not coat.exception
    result = explain(load(FASHION), COAT)
    tops = {scores.label: scores.values.index(max(scores.values)) for scores in result.scores}
    if len(set(tops.values())) == 1:
        assert f"All 4 methods rank layer {tops['Attention α'] + 1} of 3 first." in answer(coat)
    else:
        assert "do not agree on the first layer" in answer(coat)
    ranks = {scores.label: result.faithfulness[scores.method].spearman for scores in result.scores}
    best = max((rank, label) for label, rank in ranks.items() if rank is not None)[0]
    assert f"({best:+.2f})." in answer(coat)
    shown = texts(coat)
    for removal in ("zero-term", "renormalise", "zero-state"):
        assert removal in shown
    assert "has no places" not in shown
    assert "its layers have no places" in shown  # an MLP reads the picture as a vector


def test_a_choice_of_methods_is_followed(coat):
    coat.pills(key=f"methods-{FASHION}").set_value(["alpha", "grad_cam"]).run()
    assert not coat.exception
    assert "Integrated Gradients</td>" not in texts(coat)
    assert "Grad-CAM</td>" in texts(coat)


def test_weights_by_hand_change_the_prediction(coat):
    checkpoint = load(FASHION)
    trace = trace_image(checkpoint, prepare(read(COAT.read_bytes()).image, checkpoint.preprocessing).image)
    own = explain_trace(checkpoint, trace).attributions["alpha"]
    (first,) = [slider for slider in coat.slider if slider.label == checkpoint.model.layers[0]]
    first.set_value(0.0).run()
    assert not coat.exception
    weights = [0.0, *(round(share, 3) for share in own[1:])]
    values = comparison.by_hand(checkpoint, trace, weights)
    name = checkpoint.classes[values.index(max(values))]
    told = [block.value for block in coat.markdown if "instead of" in block.value]
    assert f"{name}, {max(values):.1%}" in html.unescape(told[0]).replace("\\", "")


def test_two_images_say_how_much_attention_moved(coat):
    coat.segmented_control(key="view").set_value("Images").run()
    assert not coat.exception
    assert "of the attention lies on other layers" in answer(coat)
    for change in ("turned by 90°", "upside down", "mirrored", "cropped to its middle", "grey"):
        coat.selectbox(key="change").set_value(change).run()
        assert not coat.exception, change
    coat.selectbox(key="change").set_value("another file").run()
    assert "second image" in coat.info[0].value
    coat.file_uploader(key="other-upload").upload("same.png", COAT.read_bytes())
    coat.run()
    assert answer(coat).startswith("0% of the attention lies on other layers")


def test_two_models_stand_on_one_axis(coat):
    coat.segmented_control(key="view").set_value("Models").run()
    assert not coat.exception
    if len([entry for entry in checkpoints.available() if entry.problem is None]) > 1:
        assert "of the attention lies on other layers" in answer(coat)
        assert len(coat.get("plotly_chart")) == 3
    else:
        assert "only one model" in coat.info[0].value


def test_total_effects_are_measured_on_request(coat):
    (button,) = [button for button in coat.button if button.label == "Measure the total effects"]
    button.click().run()
    assert not coat.exception
    shown = texts(coat)
    assert "Total effects, from Captum." in shown
    assert "20 steps" in shown


def test_a_link_restores_methods_classes_and_settings(coat):
    coat.pills(key=f"methods-{FASHION}").set_value(["alpha", "grad_cam"]).run()
    coat.select_slider(key=f"tau-{FASHION}").set_value(5.0).run()
    coat.slider(key="steps").set_value(30).run()
    (against,) = [box for box in coat.selectbox if box.label.endswith("against")]
    against.select_index(2).run()
    link = {name: value if isinstance(value, str) else value[0] for name, value in coat.query_params.items()}
    assert {name: link[name] for name in ("methods", "tau", "steps")} == {
        "methods": "alpha,grad_cam",
        "tau": "5",
        "steps": "30",
    }
    other = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    for name, value in link.items():
        other.query_params[name] = value
    other.run().switch_page("pages/compare.py").run()
    assert not other.exception
    assert answer(other) == answer(coat)
    assert other.pills(key=f"methods-{FASHION}").value == ["alpha", "grad_cam"]
    (again,) = [box for box in other.selectbox if box.label.endswith("against")]
    assert again.value == against.value == link["against"]
