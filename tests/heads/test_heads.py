"""The four heads against the formulas."""

import math

import pytest
import torch

from laya.errors import LayaError
from laya.heads import HEADS, REMOVALS, LayaHead, ScalarMixHead, build_head
from tests import oracle

WIDTHS, CLASSES = (6, 5, 4), 3


@pytest.fixture
def hidden() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(4, width, generator=generator) for width in WIDTHS]


def head_of(name: str, **options: object) -> torch.nn.Module:
    torch.manual_seed(0)
    head = build_head(name, WIDTHS, CLASSES, options)
    if isinstance(head, ScalarMixHead):
        torch.nn.init.normal_(head.weights)
    return head


@pytest.mark.parametrize("tau", [0.3, 1.5, 8.0])
@pytest.mark.parametrize("psi_width", [None, 3])
def test_laya_equals_the_formulas(hidden, tau, psi_width):
    head = head_of("laya", dim=7, scorer_width=9, psi_width=psi_width)
    logits, alpha, contributions = oracle.laya(head, hidden, tau)
    output = head(hidden, tau=tau)
    torch.testing.assert_close(output.logits.double(), logits, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(output.alpha.double(), alpha, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(head.terms(output).double(), contributions, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", HEADS)
def test_logits_are_the_bias_plus_one_term_a_layer(hidden, name):
    head = head_of(name)
    output = head(hidden)
    torch.testing.assert_close(head.bias + head.terms(output).sum(1), output.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["laya", "scalar_mix"])
def test_alpha_is_a_distribution_over_layers(hidden, name):
    alpha = head_of(name)(hidden).alpha
    assert alpha.shape == (4, 3)
    assert (alpha > 0).all()
    torch.testing.assert_close(alpha.sum(1), torch.ones(4))


def test_laya_weighs_each_input_differently_and_scalar_mix_does_not(hidden):
    assert head_of("laya")(hidden).alpha.std(0).max() > 1e-4
    assert head_of("scalar_mix")(hidden).alpha.std(0).max() < 1e-7


def test_one_layer_carries_everything():
    head = LayaHead((6,), 3, dim=7)
    x = torch.randn(2, 6)
    output = head([x])
    torch.testing.assert_close(output.alpha, torch.ones(2, 1))
    torch.testing.assert_close(output.logits, head.classifier(head.adapters[0](x)))


def test_a_cold_head_picks_one_layer_and_a_hot_one_averages(hidden):
    head = head_of("laya")
    with torch.no_grad():
        head.scorer[2].weight *= 100  # scores far enough apart for the coldest temperature that is allowed
    scores = head(hidden).scores
    cold, hot = head(hidden, tau=1e-3).alpha, head(hidden, tau=1e6).alpha
    torch.testing.assert_close(cold, torch.nn.functional.one_hot(scores.argmax(1), 3).float())
    torch.testing.assert_close(hot, torch.full((4, 3), 1 / 3), atol=1e-4, rtol=0)


def test_equal_scores_give_equal_weights(hidden):
    head = head_of("laya")
    torch.nn.init.zeros_(head.scorer[2].weight)
    torch.nn.init.zeros_(head.scorer[2].bias)
    assert (head(hidden).alpha == head(hidden).alpha[0, 0]).all()


def test_scalar_mix_weights_are_the_softmax_of_its_parameters(hidden):
    head = head_of("scalar_mix", tau=2.0)
    expected = oracle.softmax([w / 2 for w in head.weights.tolist()])
    assert head(hidden).alpha[0].tolist() == pytest.approx(expected, abs=1e-6)


# --- taking layers away ----------------------------------------------------------------------------------------------

GONE = torch.tensor([True, False, False])


def test_zero_term_drops_the_term_and_keeps_the_weights(hidden):
    head = head_of("laya", dim=7)
    logits, _, contributions = oracle.laya(head, hidden, head.tau)
    left = head.without(head(hidden), GONE.expand(4, 3), "zero-term")
    torch.testing.assert_close(left.double(), logits - contributions[:, 0], atol=1e-6, rtol=1e-6)


def test_renormalise_shares_the_weight_out_among_the_others(hidden):
    head = head_of("laya", dim=7)
    _, alpha, contributions = oracle.laya(head, hidden, head.tau)
    kept = contributions[:, 1:].sum(1) / (1 - alpha[:, :1])
    left = head.without(head(hidden), GONE.expand(4, 3), "renormalise")
    torch.testing.assert_close(left.double(), kept + head.bias.double(), atol=1e-6, rtol=1e-6)


def test_zero_state_runs_the_head_again_with_an_empty_layer(hidden):
    head = head_of("laya", dim=7, psi_width=3)
    logits, _, _ = oracle.laya(head, [torch.zeros_like(hidden[0]), *hidden[1:]], head.tau)
    left = head.without(head(hidden), GONE.expand(4, 3), "zero-state")
    torch.testing.assert_close(left.double(), logits, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("mode", REMOVALS)
def test_leading_dimensions_are_alternatives(hidden, mode):
    head = head_of("laya")
    output = head(hidden, tau=0.7)
    choices = torch.eye(3, dtype=torch.bool).unsqueeze(1).expand(3, 4, 3)
    together = head.without(output, choices, mode)
    for i in range(3):
        torch.testing.assert_close(together[i], head.without(output, choices[i], mode))


@pytest.mark.parametrize("mode", REMOVALS)
def test_removing_nothing_changes_nothing(hidden, mode):
    head = head_of("laya")
    output = head(hidden)
    torch.testing.assert_close(head.without(output, torch.zeros(4, 3, dtype=torch.bool), mode), output.logits)


@pytest.mark.parametrize("mode", ["zero-term", "renormalise"])
def test_removing_everything_leaves_the_bias(hidden, mode):
    head = head_of("laya")
    left = head.without(head(hidden), torch.ones(4, 3, dtype=torch.bool), mode)
    torch.testing.assert_close(left, head.bias.expand(4, 3), atol=1e-6, rtol=1e-6)


def test_renormalise_stays_finite_when_one_layer_has_all_the_weight(hidden):
    head = head_of("laya")
    with torch.no_grad():
        head.scorer[2].weight *= 1e4
    output = head(hidden, tau=1e-3)
    assert (output.alpha.max(1).values == 1).all()
    mask = torch.nn.functional.one_hot(output.alpha.argmax(1), 3).bool()
    assert head.without(output, mask, "renormalise").isfinite().all()


@pytest.mark.parametrize("name", ["concat", "last_layer"])
def test_a_linear_head_without_a_layer_is_the_head_on_zeros(hidden, name):
    head = head_of(name)
    zeroed = head([torch.zeros_like(hidden[0]), *hidden[1:]]).logits
    for mode in ("zero-term", "zero-state"):
        torch.testing.assert_close(head.without(head(hidden), GONE.expand(4, 3), mode), zeroed)
    with pytest.raises(LayaError, match="no layer weights to renormalise; choose zero-term or zero-state"):
        head.without(head(hidden), GONE.expand(4, 3), "renormalise")


def test_concat_and_last_layer_are_linear_classifiers(hidden):
    concat, last = head_of("concat"), head_of("last_layer")
    torch.testing.assert_close(concat(hidden).logits, concat.classifier(torch.cat(hidden, 1)))
    torch.testing.assert_close(last(hidden).logits, last.classifier(hidden[-1]))
    assert concat(hidden).alpha is None


# --- construction ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HEADS)
def test_options_rebuild_the_head(name):
    head = head_of(name)
    again = build_head(name, WIDTHS, CLASSES, head.options)
    again.load_state_dict(head.state_dict())
    assert again.options == head.options


def test_an_unknown_head_names_the_known_ones():
    with pytest.raises(LayaError, match=r"no head called 'layla'. Did you mean 'laya'\? Known: laya, last_layer"):
        build_head("layla", WIDTHS, CLASSES, {})


@pytest.mark.parametrize("tau", [0.0, -1.0, 1e-40, math.nan, math.inf, "1"])
def test_a_temperature_must_be_positive(hidden, tau):
    with pytest.raises(LayaError, match="must be a number from 0"):
        head_of("laya")(hidden, tau=tau)


def test_bad_sizes_and_options_are_refused():
    for build in (
        lambda: LayaHead((), 3),
        lambda: LayaHead((4,), 1),
        lambda: LayaHead((4,), 3, dim=0),
        lambda: LayaHead((4,), 3, tau=0),
        lambda: build_head("laya", WIDTHS, CLASSES, {"depth": 3}),
    ):
        with pytest.raises(LayaError):
            build()


# --- what only the training sees, and what keeps the attention honest -------------------------------------------------


def test_a_shared_layernorm_puts_every_z_on_one_scale_and_keeps_the_split_exact(hidden):
    head = head_of("laya", dim=7, norm=True)
    loud = [1000 * hidden[0], *hidden[1:]]
    output = head(loud)
    for i, z in enumerate(output.values):
        raw = head.adapters[i](loud[i]).double()
        mean, variance = raw.mean(-1, keepdim=True), raw.var(-1, keepdim=True, correction=0)
        torch.testing.assert_close(z.double(), (raw - mean) / (variance + 1e-5).sqrt(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(head.bias + head.terms(output).sum(1), output.logits, atol=1e-5, rtol=1e-5)


def test_layer_dropout_leaves_layers_out_at_random_but_never_all_of_them():
    torch.manual_seed(0)
    head = head_of("laya", layer_dropout=0.6)
    many = [torch.randn(1, width).expand(20_000, width) for width in WIDTHS]
    head.train()
    alpha = head(many).alpha
    torch.testing.assert_close(alpha.sum(1), torch.ones(len(alpha)))
    left_out = (alpha == 0).sum(1)
    assert left_out.max() == 2
    # With p = 0.6, all three draws fall below p in 0.216 of the cases; the layer that drew the most then stays.
    expected = [0.4**3, 3 * 0.4**2 * 0.6, 3 * 0.4 * 0.6**2 + 0.6**3]
    assert (torch.bincount(left_out, minlength=3) / len(alpha)).tolist() == pytest.approx(expected, abs=0.02)
    head.eval()
    assert (head(many).alpha > 0).all()


def test_dropout_acts_while_training_alone(hidden):
    for name in HEADS:
        head = head_of(name, dropout=0.5).train()
        assert not torch.equal(head(hidden).logits, head(hidden).logits), name
        head.eval()
        assert torch.equal(head(hidden).logits, head(hidden).logits), name


@pytest.mark.parametrize("name", HEADS)
def test_a_centred_head_gives_the_same_probabilities_and_speaks_against_the_average_class(hidden, name):
    head = head_of(name)
    before = head(hidden).logits.softmax(-1)
    head.centre()
    output = head(hidden)
    torch.testing.assert_close(output.logits.softmax(-1), before, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(head.terms(output).sum(-1), torch.zeros(4, 3), atol=1e-5, rtol=0)
    assert head.bias.sum().item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("options", [{"layer_dropout": 1.0}, {"dropout": -0.1}, {"dropout": "x"}])
def test_a_share_must_be_in_range(options):
    with pytest.raises(LayaError, match=r"must be a number in \[0, 1\)"):
        head_of("laya", **options)


@pytest.mark.parametrize("name", HEADS)
def test_a_scaled_head_is_the_plain_head_on_divided_states(hidden, name):
    scaled, plain = head_of(name, scaled=True), head_of(name)
    spread = [torch.tensor([0.5, 2.0, 4.0, 8.0, 1.0, 1e3])[: h.shape[1]] for h in hidden]
    # Two images, one standard deviation of each unit apart (with n - 1): their difference over the root of 2.
    scaled.fit_scale([torch.stack([s * 0, s * math.sqrt(2)]) for s in spread])
    plain.load_state_dict({k: v for k, v in scaled.state_dict().items() if not k.startswith("scale_")})
    divided = [h / s for h, s in zip(hidden, spread, strict=True)]
    a, b = scaled(hidden), plain(divided)
    torch.testing.assert_close(a.logits, b.logits)
    torch.testing.assert_close(scaled.terms(a), plain.terms(b))
    target = torch.tensor([0, 1, 2, 0])
    through = scaled.slopes(a, hidden, target)
    for u, v, s in zip(through, plain.slopes(b, divided, target), spread, strict=True):
        torch.testing.assert_close(u, v / s)
    build_head(name, WIDTHS, CLASSES, scaled.options).load_state_dict(scaled.state_dict())
