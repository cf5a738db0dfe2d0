"""The classifier and the trace of one forward pass."""

import pytest
import torch
from torch import nn

from laya.backbones import BACKBONES, MLP, Backbone, build_backbone
from laya.errors import LayaError
from laya.heads import LayaHead
from laya.model import LayaClassifier, evaluating
from tests.conftest import make_model


def test_the_mlp_hands_out_every_layer():
    torch.manual_seed(0)
    mlp = MLP(input_shape=(1, 2, 2), units=(3, 2)).eval()
    x = torch.rand(5, 1, 2, 2)
    first, second = mlp(x)
    # Linear, LayerNorm (population variance, eps 1e-5), exact GELU, written out.
    linear = mlp.blocks[0][0]
    y = x.reshape(5, 4) @ linear.weight.T + linear.bias
    y = (y - y.mean(1, keepdim=True)) / (y.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    expected = y * 0.5 * (1 + torch.erf(y / 2**0.5))
    torch.testing.assert_close(first, expected)
    assert second.shape == (5, 2)
    assert mlp.layers == ("hidden layer 1, 3 units", "hidden layer 2, 2 units")
    assert mlp.widths == (3, 2)


def test_a_feature_map_is_pooled_by_its_spatial_mean():
    activation = torch.arange(12.0).reshape(1, 2, 2, 3)
    assert MLP().pool(activation).tolist() == [[2.5, 8.5]]


@pytest.mark.parametrize("name", ["mlp", "cnn", "timm:vit_tiny_patch16_224", "torchvision:resnet18"])
def test_options_rebuild_the_backbone(name):
    backbone = build_backbone(name, {})
    assert set(BACKBONES) == {"mlp", "cnn", "timm", "torchvision"}
    assert backbone.name == name.partition(":")[0]
    build_backbone(backbone.name, backbone.options).load_state_dict(backbone.state_dict())


def test_bad_backbones_are_refused():
    with pytest.raises(LayaError, match=r"no backbone called 'mpl'\. Did you mean 'mlp'"):
        build_backbone("mpl", {})
    with pytest.raises(LayaError, match="do not fit"):
        build_backbone("mlp", {"depth": 3})
    for options in ({"units": []}, {"dropout": 1.0}, {"input_shape": [8, 8]}):
        with pytest.raises(LayaError, match="An MLP needs 1 to 256 hidden layers"):
            build_backbone("mlp", options)
    for options in ({"units": [0]}, {"units": [2**62]}, {"units": [8.0]}, {"input_shape": [0, 8, 8]}):
        with pytest.raises(LayaError, match="An MLP's size must be a whole number from 1 to 65536"):
            build_backbone("mlp", options)


def test_trace_holds_what_forward_computed():
    model = make_model()
    x = torch.rand(2, 1, 8, 8)
    trace = model.trace(x)
    torch.testing.assert_close(trace.logits, model(x))
    torch.testing.assert_close(trace.probabilities.sum(1), torch.ones(2))
    assert [tuple(h.shape) for h in trace.hidden] == [(2, 6), (2, 5), (2, 4)]
    assert not trace.logits.requires_grad


def test_another_temperature_does_not_run_the_backbone_again(monkeypatch):
    model = make_model()
    x = torch.rand(2, 1, 8, 8)
    trace = model.trace(x)
    direct = model.trace(x, tau=0.4)
    monkeypatch.setattr(model.backbone, "forward", lambda x: pytest.fail("the backbone ran again"))
    torch.testing.assert_close(model.at_temperature(trace, 0.4).logits, direct.logits)


def test_head_and_backbone_must_fit():
    with pytest.raises(LayaError, match=r"expects layers of widths \(4,\), but the backbone gives \(6, 5\)"):
        LayaClassifier(MLP(units=(6, 5)), LayaHead((4,), 3))


class Restless(Backbone):
    """Dropout and batch normalisation: both behave differently while training."""

    name = "restless"
    layers, widths, options, preprocessing, layer_modules = ("only",), (8,), {}, None, ()

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))

    def forward(self, x):
        return (self.net(x),)


def test_a_model_left_in_training_mode_is_traced_in_evaluation_mode_and_put_back():
    model = LayaClassifier(Restless(), LayaHead((8,), 3))
    model.train()
    model.head.eval()  # a mixture, to be restored exactly
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    flags = [module.training for module in model.modules()]
    x = torch.rand(1, 1, 8, 8)  # batch normalisation raises on a batch of one while training
    assert torch.equal(model.trace(x).logits, model.trace(x).logits)
    assert [module.training for module in model.modules()] == flags
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_flags_are_restored_after_a_failure():
    model = make_model().train()
    with pytest.raises(RuntimeError), evaluating(model):
        raise RuntimeError
    assert all(module.training for module in model.modules())
