"""One image in, one explanation out."""

import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import laya
from laya import checkpoints
from laya.attribution import Settings
from laya.checkpoints import Card, Checkpoint, load
from laya.errors import LayaError
from laya.explanation import Explanation, Faithfulness, Seconds, explain, explain_trace, trace_image
from laya.inputs.preprocessing import to_tensor
from laya.intervals import Interval
from tests import oracle
from tests.conftest import CLASSES, PREPROCESSING, encode, make_model

CARD = Card(
    {
        "alpha": Interval(0.3, 0.29, 0.32, 80),
        "contribution": Interval(0.9, 0.88, 0.93, 80),
        "uniform": Interval(None, None, None, 0),
    },
    "validation",
)


@pytest.fixture
def picture(noise) -> Image.Image:
    return noise("L", (8, 8))


def test_the_numbers_are_those_of_the_formulas(checkpoint: Checkpoint, picture):
    result = explain(checkpoint, picture, target="green")
    trace = checkpoint.model.trace(to_tensor([picture], checkpoint.preprocessing).to(checkpoint.device))
    logits, alpha, terms = oracle.laya(checkpoint.model.head, list(trace.hidden), checkpoint.model.head.tau)
    assert result.probabilities == pytest.approx(logits[0].softmax(0).tolist(), abs=1e-6)
    assert result.attributions["alpha"] == pytest.approx(alpha[0].tolist(), abs=1e-6)
    assert result.attributions["contribution"] == pytest.approx(terms[0, :, 1].tolist(), abs=1e-6)
    kept = logits[0].softmax(0)[1]
    effects = [float(kept - (logits[0] - terms[0, i]).softmax(0)[1]) for i in range(3)]
    assert result.effect == pytest.approx(effects, abs=1e-6)
    assert sum(result.attributions["alpha"]) == pytest.approx(1, abs=1e-6)
    assert result.completeness_error < 1e-4
    assert result.path_error < 0.01
    order = np.argsort(result.attributions["contribution"])[-1]
    assert result.faithfulness["contribution"].deletion_at_1 == pytest.approx(effects[order], abs=1e-6)


def test_the_contract_has_these_fields_and_no_others(checkpoint, picture):
    answer = explain(checkpoint, picture).to_dict()
    assert list(answer) == [
        "model",
        "target",
        "layers",
        "predictions",
        "attributions",
        "leave_one_out",
        "faithfulness",
        "completeness_error",
        "seconds",
        "summary",
        "trust",
        "note",
    ]
    assert list(answer["attributions"]) == ["alpha", "contribution", "integrated_gradients", "grad_cam"]
    assert answer["leave_one_out"].keys() == {"mode", "effect"}
    assert answer["seconds"].keys() == {"forward", "attribution", "total"}
    assert {row["class"] for row in answer["predictions"]} == set(CLASSES)
    probabilities = [row["probability"] for row in answer["predictions"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert answer["target"] == answer["predictions"][0]["class"]
    assert answer["summary"] == explain(checkpoint, picture).summary()
    assert answer["trust"] is None
    assert answer["note"].startswith("With 3 layers and no ties, the faithfulness on one image is -1, -0.5, 0.5 or 1, ")
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_an_explanation_turns_into_json_without_loss(checkpoint, picture):
    result = explain(checkpoint, picture, settings=Settings(tau=0.7, removal="renormalise", steps=20))
    result = dataclasses.replace(result, card=CARD)
    stored = json.loads(json.dumps(dataclasses.asdict(result), allow_nan=False))
    assert stored["settings"] == {"tau": 0.7, "removal": "renormalise", "steps": 20}
    figures = {key: Interval(**value) for key, value in stored["card"]["faithfulness"].items()}
    again = Explanation(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
        | {
            "settings": Settings(**stored["settings"]),
            "seconds": Seconds(**stored["seconds"]),
            "attributions": {key: tuple(value) for key, value in stored["attributions"].items()},
            "faithfulness": {key: Faithfulness(**value) for key, value in stored["faithfulness"].items()},
            "card": Card(figures, stored["card"]["split"]),
        }
    )
    assert again == result


def test_one_backbone_pass_serves_everything(checkpoint, picture, monkeypatch):
    calls = 0
    forward = checkpoint.model.backbone.forward

    def counted(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        nonlocal calls
        calls += 1
        return forward(x)

    monkeypatch.setattr(checkpoint.model.backbone, "forward", counted)
    trace = trace_image(checkpoint, picture)
    for target in CLASSES:
        for removal in ("zero-term", "renormalise", "zero-state"):
            explain_trace(checkpoint, trace, target=target, settings=Settings(tau=0.5, removal=removal))
    assert calls == 1


def test_the_target_and_the_temperature_are_followed(checkpoint, picture):
    default = explain(checkpoint, picture)
    other = explain(checkpoint, picture, target=next(name for name in CLASSES if name != default.target_name))
    assert other.attributions["alpha"] == default.attributions["alpha"]
    assert other.attributions["contribution"] != default.attributions["contribution"]
    assert default.settings.tau == checkpoint.model.head.tau
    hot = explain(checkpoint, picture, settings=Settings(tau=1e6))
    assert hot.attributions["alpha"] == pytest.approx([1 / 3] * 3, abs=1e-5)
    # All weights equal: the probability is that of the plain mean of the layers' votes.
    trace = trace_image(checkpoint, picture)
    votes = checkpoint.model.head.votes(trace.head)[0].mean(0) + checkpoint.model.head.bias
    assert hot.probabilities == pytest.approx(votes.double().softmax(0).tolist(), abs=1e-5)


def test_bytes_a_path_and_an_image_give_the_same(checkpoint, picture, tmp_path):
    file = tmp_path / "x.png"
    file.write_bytes(encode(picture))
    answers = [explain(checkpoint, source).probabilities for source in (picture, file, str(file), encode(picture))]
    assert answers[0] == answers[1] == answers[2] == answers[3]


def test_a_turned_photo_is_explained_as_the_upright_one(checkpoint, noise):
    upright = noise("RGB", (30, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encode(upright.transpose(Image.Transpose.ROTATE_90), exif=exif)
    a, b = explain(checkpoint, encode(upright)), explain(checkpoint, turned)
    assert a.probabilities == b.probabilities
    assert a.attributions == b.attributions


def test_an_opened_image_is_read_like_its_file(checkpoint, noise):
    exif = Image.Exif()
    exif[0x0112] = 6
    for data in (encode(noise("RGB", (30, 20)), exif=exif), encode(noise("RGBA", (30, 20)))):
        assert (
            explain(checkpoint, Image.open(io.BytesIO(data))).probabilities == explain(checkpoint, data).probabilities
        )


def test_constant_scores_have_no_rank(checkpoint, picture):
    with torch.no_grad():
        checkpoint.model.head.scorer[2].weight.zero_()
        checkpoint.model.head.scorer[2].bias.zero_()
    result = explain(checkpoint, picture)
    assert result.faithfulness["alpha"].spearman is None
    assert result.faithfulness["alpha"].deletion_at_1 == pytest.approx(np.mean(result.effect))
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["faithfulness"]["alpha"]["spearman"] is None


def test_a_model_without_evidence_gives_zeros_and_no_nan(checkpoint, picture):
    with torch.no_grad():
        checkpoint.model.head.classifier.weight.zero_()
    result = explain(checkpoint, picture)
    for scores in (*result.scores[1:], result.measured):
        assert scores.values == scores.shares == (0.0, 0.0, 0.0)
    assert result.path_error == 0
    assert all(value.spearman is None for name, value in result.faithfulness.items() if name != "alpha")
    assert "No single layer is decisive" in result.summary()


def test_what_cannot_be_explained_is_said(checkpoint, picture, tmp_path):
    with pytest.raises(LayaError, match=r"no class called 'gren'\. Did you mean 'green'\? Known: red, green, blue"):
        explain(checkpoint, picture, target="gren")
    with pytest.raises(LayaError, match=r"'x\.png' cannot be read: No such file") as caught:
        explain(checkpoint, tmp_path / "x.png")
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(LayaError, match="tau must be a number from"):
        explain(checkpoint, picture, settings=Settings(tau=-1.0))


def test_a_card_says_whether_to_believe_the_attention(checkpoint, picture):
    silent = explain(checkpoint, picture)
    assert (silent.card, silent.trust()) == (None, None)
    assert "guide" not in silent.summary()
    known = dataclasses.replace(checkpoint, card=CARD)
    result = explain(known, picture)
    assert result.card == CARD
    assert result.trust() == "Attention: not faithful on held-back images (0.30)"
    assert result.summary().startswith(
        "This model’s attention is no guide to its decision (faithfulness 0.30 on held-back images); by "
    )
    assert result.to_dict()["trust"] == {
        "split": "validation",
        "methods": {
            "alpha": {"verdict": "not faithful", "mean": 0.3, "low": 0.29, "high": 0.32, "n": 80},
            "contribution": {"verdict": "faithful", "mean": 0.9, "low": 0.88, "high": 0.93, "n": 80},
        },
    }
    # The figures were measured so: at the model's own temperature and by zero-term.
    own = Settings(tau=checkpoint.model.head.tau, removal="zero-term", steps=20)
    assert explain(known, picture, target="blue", settings=own).card == CARD
    for other in (Settings(tau=5.0), Settings(removal="renormalise"), Settings(removal="zero-state")):
        assert explain(known, picture, settings=other).card is None


@pytest.mark.parametrize(
    ("low", "high", "phrase"),
    [
        (0.8, 0.9, "Attention: faithful on test images (0.84)"),
        (0.4, 0.9, "Attention: unclear on test images (0.84)"),
        (None, None, None),
    ],
)
def test_trust_is_one_short_phrase(low, high, phrase):
    card = Card({"alpha": Interval(0.84, low, high, 9)}, "test")
    assert dataclasses.replace(made((1, 0, 0), (0.1, 0, 0)), card=card).trust() == phrase


def test_a_head_without_attention_is_trusted_by_its_contribution(tmp_path, picture):
    checkpoints.save(tmp_path / "c", make_model("concat"), CLASSES, PREPROCESSING, title="c", training={})
    checkpoint = dataclasses.replace(load(str(tmp_path / "c")), card=CARD)
    result = explain(checkpoint, picture)
    assert result.trust() == "Contribution: faithful on held-back images (0.90)"
    assert list(result.to_dict()["trust"]["methods"]) == ["contribution"]


def test_one_layer_has_no_rank_and_a_headline(tmp_path, picture):
    checkpoints.save(tmp_path / "one", make_model(units=(6,)), CLASSES, PREPROCESSING, title="one", training={})
    result = explain(load(str(tmp_path / "one")), picture)
    assert result.attributions["alpha"] == (1.0,)
    assert all(each.spearman is None for each in result.faithfulness.values())
    assert result.summary().startswith("Hidden layer 1 of 1 carries 100% of the attention; removing it ")
    assert result.to_dict()["note"] == "With one layer there is no order, so its faithfulness is not defined."


def made(alpha: tuple[float, ...], effect: tuple[float, ...]) -> Explanation:
    return Explanation(
        model="m",
        weights="w",
        settings=Settings(),
        layers=("one", "two", "three"),
        classes=("cat", "dog"),
        probabilities=(0.9, 0.1),
        target=0,
        attributions={"alpha": alpha, "contribution": (1.0, -3.0, 0.0)},
        effect=effect,
        faithfulness={},
        completeness_error=0.0,
        path_error=0.0,
        seconds=Seconds(0, 0, 0),
    )


def test_the_summary_says_what_the_numbers_say():
    assert made((0.2, 0.61, 0.19), (0.01, 0.48, 0.0)).summary() == (
        "Layer 2 of 3 (two) carries 61% of the attention; removing it costs 48 points of confidence in “cat”."
    )
    assert made((0.2, 0.61, 0.19), (0.6, 0.01, 0.0)).summary() == (
        "Layer 2 of 3 (two) carries 61% of the attention; removing it costs 1 point of confidence in “cat”. "
        "Removing layer 1 (one) matters most: it costs 60 points of confidence."
    )
    assert "removing it adds 7 points of confidence" in made((0.2, 0.61, 0.19), (0.0, -0.07, 0.0)).summary()
    assert made((0.2, 0.61, 0.19), (0.001, 0.002, 0.0)).summary().endswith("the others carry the decision.")


def test_the_summary_is_true_for_signed_scores_and_effects():
    low = made((0.2, 0.5, 0.3), (-0.02, -0.30, -0.10)).summary()
    assert low == "Layer 2 of 3 (two) carries 50% of the attention; removing it adds 30 points of confidence in “cat”."
    large = made((0.2, 0.5, 0.3), (-0.50, 0.02, 0.03)).summary()
    assert large.endswith("Removing layer 1 (one) matters most: it adds 50 points of confidence.")
    against = dataclasses.replace(
        made((1, 0, 0), (0.0, 0.0, -0.4)), attributions={"contribution": (0.0, 0.0, -3.0)}
    ).summary()
    assert against == (
        "Layer 3 of 3 (three) speaks most against “cat”, and no layer for it; "
        "removing it adds 40 points of confidence in “cat”."
    )
    assert "over 99%" in made((0.001, 0.998, 0.001), (0.0, 0.5, 0.0)).summary()


def test_shares_keep_the_sign_and_fit_one_scale():
    scores = made((0.2, 0.6, 0.2), (0.1, 0.3, 0.1)).scores
    assert scores[1].shares == (0.25, -0.75, 0.0)
    assert scores[0].shares == pytest.approx((0.2, 0.6, 0.2))
    assert made((1, 0, 0), (0.1, 0.3, 0.1)).measured.shares == pytest.approx((0.2, 0.6, 0.2))


def test_the_public_names_work_from_outside(checkpoint, picture, saved: Path):
    for _ in range(2):  # lazily loaded names must stay themselves
        assert laya.explain(laya.load(str(saved)), picture).probabilities == explain(checkpoint, picture).probabilities
    assert all(hasattr(laya, name) for name in laya.__all__)
    with pytest.raises(AttributeError, match="no attribute 'explode'"):
        _ = laya.explode
