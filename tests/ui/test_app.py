"""The pages, run by Streamlit's own test runner: what they show must be what the library says."""

import html
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from streamlit.testing.v1 import AppTest

from laya import checkpoints
from laya.attribution import Settings
from laya.checkpoints import load
from laya.explanation import Explanation, explain
from laya.explanation.faithfulness import coarseness
from laya.studies.claims import ROWS, claims
from laya.ui.glossary import TERMS
from tests.conftest import PROJECT, encode, make_model, only_checkpoints

pytestmark = pytest.mark.filterwarnings("ignore")  # Streamlit warns about running outside its server
SAMPLES = checkpoints.samples("fashion-mnist-mlp")


@pytest.fixture
def app() -> AppTest:
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    test.query_params["model"] = "fashion-mnist-mlp"
    return test.run()


def answer(app: AppTest) -> str:
    """The sentence above the chart."""
    found = [re.search(r'laya-verdict">(.*?)</p>', block.proto.body) for block in app.get("html")]
    (text,) = [html.unescape(match[1]) for match in found if match]
    return text


def texts(app: AppTest) -> str:
    """All static HTML of the page."""
    return html.unescape(" ".join(block.proto.body for block in app.get("html")))


def explained(image: bytes | Path, **options: object) -> Explanation:
    return explain(load("fashion-mnist-mlp"), image, **options)


def upload(app: AppTest, data: bytes, name: str = "x.png") -> AppTest:
    app.file_uploader(key="upload").upload(name, data)
    return app.run()


def is_empty(app: AppTest) -> bool:
    return not app.get("plotly_chart") and "At which depth" in app.markdown[0].value


def test_the_empty_page_teaches_and_offers_samples(app):
    assert not app.exception
    assert is_empty(app)
    assert len(app.button) == len(SAMPLES)
    assert "running on CPU" in texts(app) or "running on CUDA" in texts(app)


@pytest.mark.parametrize("label", ["Coat", "Blue t-shirt"])
def test_a_sample_is_explained(app, label):
    app.button(key=f"sample-{label}").click().run()
    assert not app.exception
    result = explained(SAMPLES[label])
    assert answer(app) == result.summary()
    name, probability = result.predictions[0]
    assert f"Prediction: {name}, {probability:.1%}" in texts(app)
    assert len(app.get("plotly_chart")) == 3  # depth, predictions, and what is usual for the class
    for scores in result.scores:
        rank = result.faithfulness[scores.method].spearman
        assert f"{scores.label} ({scores.family})</td><td>{rank:+.2f}</td>" in texts(app)
    for value in result.attributions["contribution"]:
        assert f"<td>{value:.4f}</td>" in texts(app)


def test_the_verdict_says_whether_to_believe_the_attention(app):
    app.button(key="sample-Coat").click().run()
    assert f'<abbr title="{TERMS["trust"]}">Attention: faithful on test images (0.87)</abbr>' in texts(app)
    assert coarseness(3) in texts(app)
    app.selectbox(key="model").set_value("cifar10-cnn").run()
    app.button(key="sample-Cat").click().run()
    assert answer(app) == (
        "This model’s attention is no guide to its decision (faithfulness 0.30 on test images); by its contribution, "
        "layer 4 of 4 (stage 3) speaks most for “cat”. Removing it costs 73 points of confidence."
    )
    assert "Attention: not faithful on test images (0.30)</abbr>" in texts(app)
    assert coarseness(4) in texts(app)
    # With another meaning of "removed" the card knows nothing, and the weights are 26, 26, 26 and 23 %.
    app.segmented_control(key="removal-cifar10-cnn").set_value("zero-state").run()
    assert answer(app).startswith("The attention is spread evenly and tells no layer apart; by its contribution, ")
    assert "faithful on test images" not in texts(app)


def test_target_removal_and_temperature_are_followed(app):
    app.button(key="sample-Coat").click().run()
    app.selectbox[1].select("Shirt").run()
    assert answer(app) == explained(SAMPLES["Coat"], target="Shirt").summary()
    (removal,) = app.get("button_group")
    removal.set_value("zero-state").run()
    settings = Settings(removal="zero-state")
    assert answer(app) == explained(SAMPLES["Coat"], target="Shirt", settings=settings).summary()
    app.select_slider[0].set_value(5.0).run()
    settings = Settings(tau=5.0, removal="zero-state")
    assert answer(app) == explained(SAMPLES["Coat"], target="Shirt", settings=settings).summary()
    assert "temperature 5 instead of the model's own 2" in texts(app)
    # Another image starts from its own prediction, not from the old target.
    app.button(key="sample-Bag").click().run()
    assert app.selectbox[1].value == "Bag"


def test_an_upload_is_explained_and_the_preparation_can_be_turned_off(app):
    data = SAMPLES["Blue t-shirt"].read_bytes()
    upload(app, data, "shirt.jpg")
    assert answer(app) == explained(data).summary()
    assert "shirt.jpg: cropped to the object; longest edge scaled to 28 pixels" in texts(app)
    app.toggle(key="recipe").set_value(False).run()
    assert answer(app) == explained(data, recipe=False).summary()
    assert "shirt.jpg: scaled and cropped at the centre to 28 x 28 pixels; turned grey" in texts(app)


def test_the_result_is_always_that_of_the_bytes_in_the_uploader(app):
    first, second = (SAMPLES[name].read_bytes() for name in ("Coat", "Sandal"))
    upload(app, first)
    for step in (20, 100, 60):
        app.slider(key="steps").set_value(step).run()
    app.selectbox[1].select("Dress").run()
    upload(app, second)  # the same name, another picture
    assert answer(app) == explained(second, settings=Settings(steps=60)).summary()
    assert app.selectbox[1].value == "Sandal"
    app.file_uploader(key="upload").set_value(None).run()
    assert is_empty(app)
    upload(app, first)
    assert answer(app) == explained(first, settings=Settings(steps=60)).summary()


def test_the_last_choice_counts(app):
    upload(app, SAMPLES["Coat"].read_bytes())
    app.button(key="sample-Bag").click().run()
    assert "sample “Bag”" in texts(app)
    app.file_uploader(key="upload").set_value(None).run()  # the hidden upload goes; the sample stays
    assert "sample “Bag”" in texts(app)


BAD = {
    "empty": (b"", "The file is empty"),
    "cut": (encode(Image.effect_noise((64, 64), 90).convert("RGB"), "JPEG")[:900], "The file is incomplete or damaged"),
    "text": (b"no picture at all", "not a picture in a known format"),
    "heic": (b"\0\0\0\x18ftypheic", "a HEIC photo, which cannot be read here; use JPEG"),
    "bomb": (encode(Image.new("L", (7000, 7000))), "7000 x 7000 pixels, more than the limit of 40 million"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_upload_is_one_sentence_and_the_next_good_one_works(app, kind):
    data, message = BAD[kind]
    upload(app, data, "<b>../../x</b>.jpg")
    assert not app.exception
    (error,) = app.error
    assert message in error.value.replace("\\", "")
    assert not app.get("plotly_chart")
    assert str(PROJECT) not in error.value
    good = SAMPLES["Coat"].read_bytes()
    upload(app, good)
    assert not app.error
    assert answer(app) == explained(good).summary()


def test_an_animation_is_explained_by_its_first_frame_and_says_so(app):
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue")]
    upload(app, encode(frames[0], "GIF", save_all=True, append_images=frames[1:]), "x.gif")
    assert "Only the first of the file's pictures is used." in texts(app)


def test_names_are_shown_as_text(app):
    upload(app, SAMPLES["Coat"].read_bytes(), "<img src=x onerror=alert(1)>.png")
    raw = " ".join(block.proto.body for block in app.get("html"))
    assert "<img src=x" not in raw
    assert "&lt;img src=x" in raw


def test_names_are_no_markdown(app):
    upload(app, b"bad", "![pic](http://x) **bold** $x^2$.png")
    assert app.error[0].value.startswith(r"\!\[pic\]\(http\://x\) \*\*bold\*\* \$x\^2\$\.png\: The file is")


@pytest.fixture
def other_root(tmp_path: Path, monkeypatch) -> Path:
    only_checkpoints(monkeypatch, tmp_path / "models")
    return tmp_path / "models"


def run_again() -> AppTest:
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    test.query_params["model"] = "fashion-mnist-mlp"
    return test.run()


def test_without_a_model_the_page_says_what_to_do(other_root):
    app = run_again()
    assert not app.exception
    assert "There is no model yet. Train one" in app.error[0].value


def save_other(folder: Path, head: str = "laya", edit: Callable[[torch.nn.Module], None] = lambda model: None) -> None:
    model = make_model(head)
    edit(model)
    from tests.conftest import CLASSES, PREPROCESSING

    checkpoints.save(folder, model, CLASSES, PREPROCESSING, title=folder.name, training={})


def test_a_broken_checkpoint_is_named_and_hurts_no_other(other_root):
    save_other(other_root / "good")
    save_other(other_root / "unlisted")
    (other_root / "unlisted" / "config.json").write_text("{")
    save_other(other_root / "a-damaged")
    (other_root / "a-damaged" / "model.safetensors").write_bytes(b"\x80 a pickle")
    app = run_again()
    assert not app.exception
    warning = app.warning[0].value.replace("\\", "")
    assert warning == "The model unlisted cannot be used. The config.json of 'unlisted' is not readable JSON."
    assert "a pickle under another name" in app.error[0].value
    app.selectbox(key="model").set_value("good").run()
    assert not app.error
    upload(app, SAMPLES["Coat"].read_bytes())
    assert answer(app) == explain(load("good"), SAMPLES["Coat"]).summary()


def other_reading(folder: Path) -> None:
    """The same weights, read otherwise: other names, another mean."""
    file = folder / "config.json"
    config = json.loads(file.read_text()) | {"classes": ["one", "two", "three"]}
    config["preprocessing"] |= {"mean": [0.5], "std": [0.2]}
    file.write_text(json.dumps(config))


def test_checkpoints_that_share_weights_are_kept_apart(other_root):
    save_other(other_root / "a")
    save_other(other_root / "b")
    other_reading(other_root / "b")
    data = SAMPLES["Coat"].read_bytes()
    app = upload(run_again(), data)
    assert answer(app) == explain(load("a"), data).summary()
    app.selectbox(key="model").set_value("b").run()
    assert answer(app) == explain(load("b"), data).summary()


def test_a_checkpoint_that_changes_is_read_again(other_root):
    save_other(other_root / "a")
    data = SAMPLES["Coat"].read_bytes()
    before = answer(upload(run_again(), data))
    other_reading(other_root / "a")
    after = answer(upload(run_again(), data))
    assert before != after == explain(load("a"), data).summary()


def test_a_head_without_attention_is_explained_without_it(other_root):
    save_other(other_root / "concat", "concat")
    app = upload(run_again(), SAMPLES["Coat"].read_bytes())
    assert not app.exception
    assert "of the evidence" in answer(app)
    assert app.get("button_group")[0].options == ["zero-term", "zero-state"]
    assert not app.select_slider


def test_no_evidence_is_said_and_not_drawn_as_some(other_root):
    save_other(other_root / "blank", edit=lambda model: torch.nn.init.zeros_(model.head.classifier.weight))
    app = upload(run_again(), SAMPLES["Coat"].read_bytes())
    assert not app.exception
    assert "No evidence for" in app.info[0].value
    assert "not defined" in texts(app)


# --- several models --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [entry.name for entry in checkpoints.available()])
def test_the_address_names_the_model_and_its_samples_are_explained(name):
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    test.query_params["model"] = name
    test.run()
    assert test.selectbox(key="model").value == name
    label, file = next(iter(checkpoints.samples(name).items()))
    test.button(key=f"sample-{label}").click().run()
    assert not test.exception
    assert answer(test) == explain(load(name), file).summary()


def test_an_unknown_model_in_the_address_opens_the_first():
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    test.query_params["model"] = "../../etc/passwd"
    test.run()
    assert not test.exception
    assert test.selectbox(key="model").value == checkpoints.available()[0].name


def test_another_model_does_not_keep_the_sample_of_the_last(app):
    app.button(key="sample-Coat").click().run()
    app.selectbox(key="model").set_value("cifar10-cnn").run()
    assert not app.exception
    assert is_empty(app)


# --- the page Evidence -----------------------------------------------------------------------------------------------


@pytest.fixture
def evidence() -> AppTest:
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60).run()
    return test.switch_page("pages/evidence.py").run()


def test_evidence_shows_every_task_with_its_claims_and_figures(evidence):
    tables = {entry: table for entry in checkpoints.available() if (table := checkpoints.read_evidence(entry.folder))}
    assert evidence.segmented_control(key="task").options == [entry.title for entry in tables]
    for entry, table in tables.items():
        evidence.segmented_control(key="task").set_value(entry.name).run()
        assert not evidence.exception
        assert evidence.query_params["model"] == entry.name
        shown = texts(evidence)
        found = claims(table)
        for claim in found:
            assert claim.paper in shown
            assert claim.here in shown
        assert shown.count("found here, too") == sum(claim.found for claim in found)
        assert shown.count("not found here") == sum(not claim.found for claim in found)
        for row, summary in table["rows"].items():
            mean, std = summary["accuracy"]["mean"], summary["accuracy"]["std"]
            spread = "" if std is None else f" ± {std:.4f}"  # one seed has none
            assert f"{ROWS[row]}</td><td>{summary['seeds']}</td><td>{mean:.4f}{spread}" in shown
        assert table["command"] in evidence.code[0].value


def test_evidence_opens_with_the_model_of_the_address_or_of_the_other_pages():
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    app.query_params["model"] = "cifar10-cnn"
    app.run().switch_page("pages/evidence.py").run()
    assert app.segmented_control(key="task").value == "cifar10-cnn"
    app.segmented_control(key="task").set_value("fashion-mnist-mlp").run()
    app.switch_page("pages/inspect.py").run()
    assert app.selectbox(key="model").value == "fashion-mnist-mlp"


def test_evidence_without_a_table_says_how_to_make_one(tmp_path, monkeypatch):
    only_checkpoints(monkeypatch, tmp_path)
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60).run().switch_page("pages/evidence.py").run()
    assert not test.exception
    assert "python -m laya evidence" in test.info[0].value


def test_a_broken_table_is_named_and_hurts_no_other(tmp_path, monkeypatch):
    shutil.copytree(checkpoints.find("fashion-mnist-mlp"), tmp_path / "good")
    shutil.copytree(checkpoints.find("fashion-mnist-mlp"), tmp_path / "bad")
    (tmp_path / "bad" / "evidence.json").write_text("{")
    only_checkpoints(monkeypatch, tmp_path)
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60).run().switch_page("pages/evidence.py").run()
    assert not test.exception
    assert "evidence.json" in html.unescape(test.warning[0].value).replace("\\", "")
    assert test.get("plotly_chart")


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_link_opens_the_view_that_it_was_copied_from(app):
    app.button(key="sample-Coat").click().run()
    app.selectbox[1].select("Shirt").run()
    app.segmented_control(key="removal-fashion-mnist-mlp").set_value("renormalise").run()
    link = {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}
    assert link == {"model": "fashion-mnist-mlp", "sample": "Coat", "target": "Shirt", "removed": "renormalise"}
    other = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    for name, value in link.items():
        other.query_params[name] = value
    other.run()
    assert not other.exception
    assert answer(other) == answer(app)
    # A choice in the page is followed, whatever the link said, and the next image begins with its own prediction.
    other.button(key="sample-Bag").click().run()
    assert answer(other) == explained(SAMPLES["Bag"], settings=Settings(removal="renormalise")).summary()


@pytest.mark.parametrize("value", ["../../etc/passwd", "<script>", "x" * 5000, ""])
def test_a_hostile_link_opens_the_page_as_it_is(value):
    test = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    for name in ("model", "sample", "target", "removed", "view"):
        test.query_params[name] = value
    test.run()
    assert not test.exception
    assert is_empty(test)
