"""Layer attributions against answers from hand, from the formulas and from Captum called directly."""

import numpy as np
import pytest
import torch
from captum.attr import LayerGradCam
from torch import nn

from laya.attribution import ATTRIBUTIONS, METHODS, Settings, baseline_logits
from laya.attribution.posthoc import ROWS
from laya.attribution.target import check_target
from laya.errors import LayaError
from laya.heads import HEADS, REMOVALS
from tests import oracle
from tests.conftest import make_model

DEFAULT = Settings()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(3))


@pytest.fixture
def target() -> torch.Tensor:
    return torch.tensor([0, 1, 2, 0])


def compute(method: str, model, trace, target, settings=DEFAULT):
    return METHODS[method].compute(model, trace, target, settings)


def test_contribution_is_the_formulas_and_completes_to_the_logit(x, target):
    model = make_model()
    trace = model.trace(x)
    _, alpha, terms = oracle.laya(model.head, list(trace.hidden), model.head.tau)
    scores = compute("contribution", model, trace, target)
    rows = torch.arange(4)
    torch.testing.assert_close(scores.double(), terms[rows, :, target], atol=1e-6, rtol=1e-6)
    rebuilt = model.head.bias[target] + scores.sum(1)
    assert (rebuilt - trace.logits[rows, target]).abs().max() < 1e-5
    torch.testing.assert_close(compute("alpha", model, trace, target).double(), alpha, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("head", ["concat", "last_layer", "scalar_mix"])
def test_gradient_methods_on_a_linear_head_have_a_closed_form(head, x, target):
    """Where the logit is linear in every h_i, IG and gradient times activation are both the layer's linear part."""
    model = make_model(head)
    trace = model.trace(x)
    empty = model.trace(x).hidden
    zero = model.head([torch.zeros_like(h) for h in empty])
    rows = torch.arange(4)
    linear_part = (model.head.terms(trace.head) - model.head.terms(zero))[rows, :, target]
    torch.testing.assert_close(compute("integrated_gradients", model, trace, target), linear_part, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(compute("grad_cam", model, trace, target), linear_part.relu(), atol=1e-5, rtol=1e-4)


def test_integrated_gradients_equal_a_fine_riemann_sum(x, target):
    model = make_model()
    trace = model.trace(x)
    steps = 200  # of the midpoint rule
    total = [torch.zeros_like(h) for h in trace.hidden]
    for k in range(steps):
        path = [((k + 0.5) / steps * h).detach().requires_grad_() for h in trace.hidden]
        logit = model.head(path).logits.gather(1, target.view(-1, 1)).sum()
        total = [t + g / steps for t, g in zip(total, torch.autograd.grad(logit, path), strict=True)]
    expected = torch.stack([(t * h).sum(1) for t, h in zip(total, trace.hidden, strict=True)], 1)
    torch.testing.assert_close(compute("integrated_gradients", model, trace, target), expected, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("tau", [0.3, 1.5])
def test_integrated_gradients_complete_to_the_rise_of_the_logit(x, target, tau):
    model = make_model()
    trace = model.trace(x, tau=tau)
    rows = torch.arange(4)
    rise = (trace.logits - baseline_logits(model, trace))[rows, target]
    total = compute("integrated_gradients", model, trace, target).sum(1)
    assert ((total - rise).abs() <= 0.01 * rise.abs()).all()


def test_integration_in_pieces_gives_the_same(x, target, monkeypatch):
    model = make_model()
    trace = model.trace(x)
    whole = compute("integrated_gradients", model, trace, target)
    monkeypatch.setattr("laya.attribution.posthoc.ROWS", 7)
    torch.testing.assert_close(compute("integrated_gradients", model, trace, target), whole, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("steps", [50, 400, 1000])
def test_no_more_goes_through_the_head_at_once_however_many_the_steps(x, target, steps):
    model = make_model()
    trace, rows = model.trace(x), []
    model.head.register_forward_pre_hook(lambda head, arguments: rows.append(len(arguments[0][0])))
    compute("integrated_gradients", model, trace, target, Settings(steps=steps))
    assert max(rows) == min(ROWS, len(x) * steps)
    assert sum(rows) >= len(x) * steps


class Wired(nn.Module):
    """The head behind one identity module a layer, so that Captum's own layer methods can hook them."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head
        self.ports = nn.ModuleList(nn.Identity() for _ in head.widths)

    def forward(self, *hidden: torch.Tensor) -> torch.Tensor:
        return self.head([port(h) for port, h in zip(self.ports, hidden, strict=True)]).logits


def test_grad_cam_equals_captums_layer_grad_cam(x, target):
    model = make_model()
    trace = model.trace(x)
    wired = Wired(model.head)
    columns = [
        LayerGradCam(wired, port).attribute(trace.hidden, target=target, relu_attributions=True).sum(1)
        for port in wired.ports
    ]
    expected = torch.stack(columns, 1)
    torch.testing.assert_close(compute("grad_cam", model, trace, target), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mode", REMOVALS)
def test_leave_one_out_is_the_drop_of_the_targets_probability(x, target, mode):
    model = make_model()
    trace = model.trace(x)
    effects = compute("leave_one_out", model, trace, target, Settings(removal=mode))
    assert effects.shape == (4, 3)
    for layer in range(3):
        mask = torch.zeros(4, 3, dtype=torch.bool)
        mask[:, layer] = True
        left = model.head.without(trace.head, mask, mode).softmax(1)
        for image in range(4):
            drop = trace.probabilities[image, target[image]] - left[image, target[image]].detach()
            assert float(effects[image, layer]) == pytest.approx(float(drop), abs=1e-6)


def test_a_layer_that_carries_all_costs_all():
    """By hand: two layers of one unit, z = h, W = [[2], [0]], b = 0, all weight on the first; h = (3, 5).

    Logit of class 0 is 2 * 3 = 6; without layer 1 both logits are 0, so the probability falls from sigmoid(6) to 1/2.
    """
    model = make_model(units=(1, 1), classes=2, dim=1, tau=1.0)
    head = model.head
    with torch.no_grad():
        for adapter in head.adapters:
            adapter.weight.fill_(1.0)
            adapter.bias.zero_()
        head.classifier.weight.copy_(torch.tensor([[2.0], [0.0]]))
        head.classifier.bias.zero_()
        head.scorer[2].weight.zero_()
        head.scorer[2].bias.copy_(torch.tensor([60.0, -60.0]))
    output = head([torch.tensor([[3.0]]), torch.tensor([[5.0]])])
    trace = type(model.trace(torch.rand(1, 1, 8, 8)))((), (torch.tensor([[3.0]]), torch.tensor([[5.0]])), output)
    zero = torch.tensor([0])
    assert compute("contribution", model, trace, zero).tolist() == [[6.0, 0.0]]
    drop = 1 / (1 + torch.e**-6) - 0.5
    assert compute("leave_one_out", model, trace, zero)[0].tolist() == pytest.approx([drop, 0.0], abs=1e-6)


def assert_untouched(model, trace, kept) -> None:
    assert all(torch.equal(a, b) and not b.requires_grad for a, b in zip(kept, trace.hidden, strict=True))
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    for module in model.modules():
        assert len(module._forward_hooks) + len(module._forward_pre_hooks) + len(module._backward_hooks) == 0
        assert not module.training


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_stays_behind(head, method, x, target, monkeypatch):
    model = make_model(head)
    trace = model.trace(x)
    kept = [h.clone() for h in trace.hidden]
    if METHODS[method].needs_weights and not model.head.attends:
        with pytest.raises(LayaError, match="has no layer weights"):
            compute(method, model, trace, target)
        assert_untouched(model, trace, kept)
        return
    scores = compute(method, model, trace, target)
    assert scores.shape == (4, 3)
    assert not scores.requires_grad
    assert_untouched(model, trace, kept)
    if method == "alpha":  # reads the trace alone: no target and no layer can break it
        return
    for wrong in ([9] * 4, [0, 1, 2, -1], [0.0, 1.0, 2.0, 0.0], [True] * 4):
        with pytest.raises(LayaError, match=r"a whole number from 0 to 2, not (9|-1|0.0|True)"):
            compute(method, model, trace, torch.tensor(wrong))
        assert_untouched(model, trace, kept)
    with pytest.raises(LayaError, match="one target for each image: 4, not 1"):
        compute(method, model, trace, torch.tensor([0]))
    assert_untouched(model, trace, kept)

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("a layer raised")

    for name in ("forward", "terms"):
        monkeypatch.setattr(model.head, name, broken)
    with pytest.raises(RuntimeError, match="a layer raised"):
        compute(method, model, trace, target)
    assert_untouched(model, trace, kept)


def test_the_registry_is_consistent():
    assert list(METHODS) == [method.id for method in METHODS.values()]
    assert [method.id for method in ATTRIBUTIONS.values() if method.family == "intrinsic"] == ["alpha", "contribution"]
    assert METHODS["leave_one_out"].family == "measured"
    assert len({method.colour for method in METHODS.values()}) == len(METHODS)


@pytest.mark.parametrize("target", [0, 2, np.int64(1), torch.tensor(1), torch.tensor([2])])
def test_the_index_of_a_class_is_a_target(target):
    assert check_target(target, 3, 1) == [int(target)]


@pytest.mark.parametrize(
    "target", [-1, 3, 99, 10**30, 1.7, 1.0, None, True, "cat", torch.tensor([-1]), torch.tensor(1.0)]
)
def test_anything_else_is_none(target):
    with pytest.raises(LayaError, match="the index of a class, a whole number from 0 to 2, not "):
        check_target(target, 3, 1)


@pytest.mark.parametrize(("field", "value"), [("removal", "zero"), ("steps", 0), ("steps", 10_000)])
def test_settings_out_of_range_are_refused(field, value):
    with pytest.raises(LayaError):
        Settings(**{field: value})
