"""Maps over places: exact against the formula, and in the picture's own orientation."""

import pytest
import torch

from laya.attribution.spatial import contribution_maps
from laya.backbones import CNN, MLP, Timm
from laya.errors import LayaError
from laya.heads import HEADS, build_head
from laya.model import LayaClassifier

SIZE = (32, 48)


def model_of(head: str, backbone: torch.nn.Module, **options: object) -> LayaClassifier:
    torch.manual_seed(0)
    return LayaClassifier(backbone, build_head(head, backbone.widths, 3, options)).eval()


def backbones() -> list[torch.nn.Module]:
    torch.manual_seed(0)
    return [
        CNN(stages=(5, 6)),
        Timm("test_vit", "patches"),
        Timm("test_vit", "class+patches"),
        CNN(stages=(5, 6), mirror=True),
    ]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(("head", "norm"), [*((head, False) for head in HEADS), ("laya", True), ("scalar_mix", True)])
def test_maps_and_what_has_no_place_sum_to_the_contribution_and_the_logit(head, number, norm):
    model = model_of(head, backbones()[number], **({"dim": 7, "norm": norm} if HEADS[head].attends else {}))
    x, target = torch.rand(2, 3, *SIZE), torch.tensor([2, 0])
    trace = model.trace(x)
    maps = contribution_maps(model, trace, target, SIZE)
    chosen = model.head.terms(trace.head)[torch.arange(2), :, target]
    for i, each in enumerate(maps):
        torch.testing.assert_close(each.values.sum((1, 2)) + each.placeless, chosen[:, i], atol=1e-5, rtol=1e-4)
    total = sum(each.values.sum((1, 2)) + each.placeless for each in maps) + model.head.bias[target]
    torch.testing.assert_close(total, trace.logits[torch.arange(2), target], atol=1e-4, rtol=1e-4)


def test_each_place_is_the_formula_written_out():
    """alpha_i / P * W_c . g_i(A_i[p]), place by place in double precision; the adapter's bias has no place."""
    model = model_of("laya", CNN(stages=(5, 6)), dim=7)
    x = torch.rand(1, 3, *SIZE)
    trace = model.trace(x)
    maps = contribution_maps(model, trace, torch.tensor([1]), SIZE)
    row = model.head.classifier.weight[1].double()
    for i, activation in enumerate(trace.activations):
        adapter, alpha = model.head.adapters[i], trace.alpha[0, i].double()
        height, width = activation.shape[2:]
        for p, q in ((0, 0), (1, 2), (height - 1, width - 1)):
            vector = adapter.weight.double() @ activation[0, :, p, q].double()
            expected = alpha / (height * width) * row @ vector
            assert maps[i].values[0, p, q].item() == pytest.approx(expected.item(), rel=1e-4, abs=1e-8)
        bias = (alpha * row @ adapter.bias.double()).item()
        assert maps[i].placeless[0].item() == pytest.approx(bias, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("corner", [(0, 0), (0, -1), (-1, 0), (-1, -1)])
def test_a_bright_corner_shows_in_the_same_corner(number, corner):
    backbone = backbones()[number]
    model = model_of("laya", backbone, dim=7)
    grid = (2, 3) if number == 1 else (31, 47)
    x = torch.zeros(1, 3, *SIZE)
    rows, columns = (slice(0, 16) if edge == 0 else slice(-16, None) for edge in corner)
    x[:, :, rows, columns] = 1.0
    target = torch.tensor([0])
    first = contribution_maps(model, model.trace(x), target, SIZE)[0].values[0]
    empty = contribution_maps(model, model.trace(torch.zeros_like(x)), target, SIZE)[0].values[0]
    assert tuple(first.shape) == grid
    change = (first - empty).abs()
    halves = tuple(
        slice(0, (n + 1) // 2) if edge == 0 else slice(n // 2, n) for n, edge in zip(grid, corner, strict=True)
    )
    assert change[halves].max() == change.max()


@pytest.mark.parametrize(("name", "width"), [("test_mambaout", 4), ("test_vit2", 16), ("test_vit_relpos", 16)])
def test_the_maps_lie_as_the_picture_does_whatever_the_layout(name, width):
    """Channels last inside, and a register before the patches: only the bright corner's places change most."""
    model = model_of("laya", Timm(name), dim=7)
    height, length = (64, 96) if model.backbone.accepts(3, (64, 96)) else (160, 160)
    x = torch.zeros(1, 3, height, length)
    x[..., -32:, :32] = 1.0  # bottom left: rows and columns exchanged would be top right
    target = torch.tensor([0])
    lit, dark = (
        contribution_maps(model, model.trace(each), target, (height, length))[0].values[0]
        for each in (x, torch.zeros_like(x))
    )
    assert lit.shape == (height // width, length // width)
    row, column = divmod(int((lit - dark).abs().argmax()), lit.shape[1])
    assert row >= lit.shape[0] - 32 // width
    assert column < 32 // width


def test_a_layer_without_a_map_says_why():
    def reasons(model: LayaClassifier, size: tuple[int, int] = SIZE, channels: int = 3) -> list[str | None]:
        maps = contribution_maps(model, model.trace(torch.rand(2, channels, *size)), torch.tensor([0, 1]), size)
        assert [each.values is None or not each.values.any() for each in maps] == [bool(each.empty) for each in maps]
        return [each.empty for each in maps]

    mlp = reasons(model_of("laya", MLP(input_shape=(1, 8, 8), units=(6, 5)), dim=7), (8, 8), 1)
    assert all("as one long vector" in reason for reason in mlp)
    alone = reasons(model_of("laya", Timm("test_vit", "class"), dim=7))
    assert all("reads the class token of this layer alone" in reason for reason in alone)
    assert reasons(model_of("laya", CNN(stages=(5, 6)), dim=7)) == [None] * 3
    *before, last = reasons(model_of("last_layer", CNN(stages=(5, 6))))
    assert last is None
    assert all("The head does not read this layer" in reason for reason in before)
    dead = model_of("laya", CNN(stages=(5, 6)), dim=7)
    torch.nn.init.zeros_(dead.backbone.blocks[-1][-2].weight)  # of the last BatchNorm: only 0 leaves the ReLU
    torch.nn.init.zeros_(dead.backbone.blocks[-1][-2].bias)
    *before, last = reasons(dead)
    assert before == [None] * 2
    assert "values add nothing" in last


@pytest.mark.parametrize("target", [[-1, 0], [0, 3], [0.0, 1.0], [0]])
def test_only_classes_are_explained(target):
    model = model_of("laya", CNN(stages=(5, 6)), dim=7)
    with pytest.raises(LayaError, match=r"from 0 to 2|each image: 2, not 1"):
        contribution_maps(model, model.trace(torch.rand(2, 3, *SIZE)), torch.tensor(target), SIZE)


def test_vectors_have_no_places():
    model = model_of("laya", MLP(input_shape=(1, 8, 8), units=(6, 5)), dim=7)
    maps = contribution_maps(model, model.trace(torch.rand(2, 1, 8, 8)), torch.tensor([0, 1]), (8, 8))
    assert all(each.values is None for each in maps)
    assert (
        contribution_maps(
            model_of("laya", Timm("test_vit", "class"), dim=7),
            model_of("laya", Timm("test_vit", "class"), dim=7).trace(torch.rand(1, 3, *SIZE)),
            torch.tensor([0]),
            SIZE,
        )[0].values
        is None
    )
