"""Total effects against Captum called directly, and Grad-CAM on tokens against autograd written out."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerGradCam, LayerIntegratedGradients

from laya.attribution.total import _apart, pixel_gradients, total_effects
from laya.backbones import CNN, MLP, Timm
from laya.errors import LayaError
from laya.heads import build_head
from laya.model import LayaClassifier

pytestmark = pytest.mark.filterwarnings("ignore:Setting (forward|backward)")  # Captum announces its hooks


def model_of(backbone: torch.nn.Module) -> LayaClassifier:
    torch.manual_seed(0)
    return LayaClassifier(backbone, build_head("laya", backbone.widths, 3, {"dim": 7})).eval()


def hooks(model: torch.nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) + len(m._backward_hooks) for m in model.modules())


@pytest.mark.parametrize("mirror", [False, True])
def test_the_layers_are_those_of_captum_called_directly(mirror):
    torch.manual_seed(0)
    model, x = model_of(CNN(stages=(5, 6), mirror=mirror)), torch.rand(1, 3, 16, 16)
    result = total_effects(model, x, 2, steps=12)
    for i, block in enumerate(model.backbone.blocks):
        values = LayerIntegratedGradients(model, block).attribute(x, target=2, n_steps=12).detach()
        assert result.integrated_gradients[i] == pytest.approx(values.sum().item(), abs=1e-4)
        cam = LayerGradCam(model, block).attribute(x, target=2)[0, 0].detach()
        torch.testing.assert_close(torch.tensor(result.maps[i]).float(), cam, atol=1e-6, rtol=1e-4)
        assert result.grad_cam[i] == pytest.approx(cam.relu().sum().item(), abs=1e-5)
    pixels = IntegratedGradients(model).attribute(x, target=2, n_steps=12)[0].sum(0)
    torch.testing.assert_close(torch.tensor(result.pixels).float(), pixels.float(), atol=1e-5, rtol=1e-4)
    assert hooks(model) == 0


def test_a_picture_and_its_mirror_image_have_the_same_effects_where_the_network_looks_at_both():
    torch.manual_seed(0)
    model, x = model_of(CNN(stages=(5, 6), mirror=True)), torch.rand(1, 3, 16, 16)
    one, other = (total_effects(model, each, 1, steps=4) for each in (x, x.flip(-1)))
    assert one.integrated_gradients == pytest.approx(other.integrated_gradients, abs=1e-5)
    for ours, theirs in zip((*one.maps, one.pixels), (*other.maps, other.pixels), strict=True):
        np.testing.assert_allclose(ours, theirs[:, ::-1], atol=1e-6)


def test_integrated_gradients_complete():
    model, x = model_of(MLP(input_shape=(1, 8, 8), units=(6, 5))), torch.rand(1, 1, 8, 8)
    result = total_effects(model, x, 0, steps=200)
    rise = float((model(x) - model(torch.zeros_like(x)))[0, 0].detach())
    assert result.pixels.sum() == pytest.approx(rise, abs=1e-3)
    # Layer 1 carries everything to the later layers, so its total effect is the whole rise; layer 2's is a part of it.
    assert abs(result.convergence[0]) < 1e-2
    assert result.integrated_gradients[0] == pytest.approx(rise, abs=1e-2)
    assert result.maps == (None, None)


def test_tokens_become_maps_of_the_pictures_grid():
    torch.manual_seed(0)
    model, x = model_of(Timm("test_vit")), torch.rand(1, 3, 32, 48)
    result = total_effects(model, x, 1, steps=2)
    for i, block in enumerate(model.backbone.model.blocks):
        kept = []
        handle = block.register_forward_hook(lambda module, args, output, kept=kept: kept.append(output))
        logits = model(x)
        handle.remove()
        (gradient,) = torch.autograd.grad(logits[0, 1], kept[0])
        weights = gradient[0, 1:].mean(0)
        expected = (kept[0][0, 1:] * weights).sum(-1).reshape(2, 3)
        torch.testing.assert_close(torch.tensor(result.maps[i]).float(), expected.detach(), atol=1e-6, rtol=1e-3)


def as_it_is(output: torch.Tensor) -> torch.Tensor:
    return output


def channels_last(output: torch.Tensor) -> torch.Tensor:
    return output.permute(0, 3, 1, 2)


def tokens(before: int, columns: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Patches row by row after so many other tokens."""
    return lambda output: output[:, before:].transpose(1, 2).unflatten(2, (-1, columns))


def grad_cams(
    model: LayaClassifier, x: torch.Tensor, target: int, layout: Callable[..., torch.Tensor]
) -> list[np.ndarray]:
    """Grad-CAM by its equations 1 and 2, at the modules of all layers, with the gradients that autograd keeps there."""
    kept: list[torch.Tensor] = []

    def keep(module: torch.nn.Module, given: object, output: torch.Tensor) -> torch.Tensor:
        output.retain_grad()
        kept.append(output)
        return output.clone()  # later modules may work in place

    handles = [module.register_forward_hook(keep) for module in model.backbone.layer_modules]
    model(x.clone().requires_grad_())[0, target].backward()
    for handle in handles:
        handle.remove()
    pairs = [(layout(output.detach()), layout(output.grad)) for output in kept]
    return [(slope.mean((2, 3), keepdim=True) * value).sum(1)[0].numpy() for value, slope in pairs]


@pytest.mark.parametrize(
    ("name", "size", "layout"),
    [
        ("test_resnet", (64, 96), as_it_is),
        ("test_mambaout", (64, 96), channels_last),
        ("test_vit2", (32, 48), tokens(1, 3)),  # a register
        ("test_vit_relpos", (160, 160), tokens(0, 10)),
        ("deit_tiny_distilled_patch16_224", (32, 48), tokens(2, 3)),  # a class and a distillation token
        ("vit_tiny_patch16_dinov3_qkvb", (32, 48), tokens(5, 3)),  # a class token and four registers
        (
            "levit_128s",
            (224, 224),
            lambda output: output.unflatten(1, (int(output.shape[1] ** 0.5), -1)).movedim(-1, 1),
        ),
        pytest.param("swin_tiny_patch4_window7_224", (224, 224), channels_last, marks=pytest.mark.slow),
    ],
)
def test_maps_lie_as_the_picture_does_whatever_the_layout(name, size, layout):
    model, x = model_of(Timm(name)), torch.rand(1, 3, *size)
    result = total_effects(model, x, 1, steps=1)
    for ours, expected in zip(result.maps, grad_cams(model, x, 1, layout), strict=True):
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    sums = [each.clip(min=0).sum() for each in result.maps]
    assert result.grad_cam == pytest.approx(sums, rel=1e-5)


class Several(MLP):
    """Blocks that hand out channels last, in the second place of a tuple; what comes first nobody uses."""

    def __init__(self) -> None:
        super().__init__(input_shape=(3, 4, 6), units=(5, 7))
        self.blocks = torch.nn.ModuleList(Pair(*widths) for widths in ((3, 5), (5, 7)))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        value, found = x.movedim(1, -1), []
        for block in self.blocks:
            value = block(value)[1]
            found.append(value.movedim(-1, 1).contiguous())
        return tuple(found)


class Pair(torch.nn.Linear):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value = super().forward(x).sin()
        return value.sum(-1), value


def test_a_module_may_hand_out_several_tensors():
    model, x = model_of(Several()), torch.rand(1, 3, 4, 6)
    result = total_effects(model, x, 1, steps=50)
    for i, block in enumerate(model.backbone.blocks):
        kept = []
        handle = block.register_forward_hook(lambda module, given, output, kept=kept: kept.append(output[1]))
        (gradient,) = torch.autograd.grad(model(x)[0, 1], kept)
        handle.remove()
        expected = (gradient.mean((1, 2), keepdim=True) * kept[0]).sum(-1)[0]
        np.testing.assert_allclose(result.maps[i], expected.detach().numpy(), rtol=1e-4, atol=1e-7)
    rise = float((model(x) - model(torch.zeros_like(x)))[0, 1].detach())
    assert result.integrated_gradients[0] == pytest.approx(rise, abs=1e-3)  # all passes through the first block


@pytest.mark.parametrize(
    "name",
    [
        "coat_tiny",  # its modules are not called
        "pit_ti_224",  # they are called with a tuple
        "crossvit_tiny_240",  # they hand out lists
        pytest.param("legacy_xception", marks=pytest.mark.slow),  # they hold a copy of what is handed out
        pytest.param("tnt_s_patch16_224", marks=pytest.mark.slow),  # they hand out pixels of patches as a batch
    ],
)
def test_layers_without_modules_of_their_own_have_no_total_effects(name):
    model = model_of(Timm(name))
    with pytest.raises(LayaError, match="layers of this network cannot be reached one by one"):
        total_effects(model, torch.rand(1, 3, *model.backbone.preprocessing.size), 1, steps=1)
    assert hooks(model) == 0


@pytest.mark.parametrize("target", [-1, 3, 99, 1.7, None, True, "cat"])
def test_only_classes_are_explained(target):
    model, x = model_of(CNN(stages=(5, 6))), torch.rand(1, 3, 16, 16)
    for explain in (total_effects, pixel_gradients):
        with pytest.raises(LayaError, match=r"a whole number from 0 to 2, not"):
            explain(model, x, target, steps=2)


def test_an_empty_map_says_why_and_where_there_is_something_to_see():
    model, x = model_of(Timm("test_vit", "class")), torch.rand(1, 3, 32, 48)
    result = total_effects(model, x, 1, steps=1)
    *before, last = result.maps
    assert all(each.any() for each in before)
    assert not last.any()  # after the last block nothing flows from the patches to the class token
    assert last.shape == (2, 3)
    assert result.empty == (
        *(None,) * 5,
        "The head reads the class token alone, so after this layer no place has an influence any more; look at block 5 "
        "of 6 or earlier.",
    )
    both = total_effects(model_of(Timm("test_vit", "class+patches")), x, 1, steps=1)
    assert both.empty == (None,) * 6
    vectors = total_effects(model_of(MLP(input_shape=(1, 8, 8), units=(6, 5))), torch.rand(1, 1, 8, 8), 1, steps=1)
    assert all("one long vector" in reason for reason in vectors.empty)


def test_a_layer_that_is_0_and_a_class_that_depends_on_nothing_say_so():
    model, x = model_of(CNN(stages=(5, 6))), torch.rand(1, 3, 16, 16)
    torch.nn.init.zeros_(model.backbone.blocks[-1][-2].weight)  # of the last BatchNorm: only 0 leaves the ReLU
    torch.nn.init.zeros_(model.backbone.blocks[-1][-2].bias)
    result = total_effects(model, x, 1, steps=1)
    assert not result.maps[-1].any()
    assert result.empty[:2] == (None, None)
    assert "nowhere in this layer for this picture; look at stage 1, 5 channels or earlier." in result.empty[2]
    torch.nn.init.zeros_(model.head.classifier.weight)
    result = total_effects(model, x, 1, steps=1)
    assert result.empty == ("The class does not depend on this layer for this picture.",) * 3
    assert not result.pixels.any()


def test_layers_that_work_in_place_are_read_before_they_are_overwritten():
    """ReLU(inplace=True) after a layer changes what a hook on it has seen."""
    torch.manual_seed(0)
    model, x = model_of(Timm("test_resnet")), torch.rand(1, 3, 64, 64)
    assert any(getattr(module, "inplace", False) for module in model.modules())
    result = total_effects(model, x, 1, steps=4)
    for module in model.modules():
        if hasattr(module, "inplace"):
            module.inplace = False
    plain = total_effects(model, x, 1, steps=4)
    assert result.integrated_gradients == pytest.approx(plain.integrated_gradients, abs=1e-5)
    assert result.grad_cam == pytest.approx(plain.grad_cam, abs=1e-5)
    for ours, theirs in zip(result.maps, plain.maps, strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), atol=1e-5, rtol=1e-5)


def test_the_number_of_steps_does_not_change_how_many_pictures_go_through_at_once(monkeypatch):
    model, rows = model_of(CNN(stages=(5, 6))), []
    forward = LayaClassifier.forward

    def counting(self: LayaClassifier, images: torch.Tensor) -> torch.Tensor:
        rows.append(len(images))
        return forward(self, images)

    monkeypatch.setattr(LayaClassifier, "forward", counting)
    for edge, steps, at_once in ((65, 20, 8), (65, 100, 8), (64, 40, 20), (64, 100, 20)):
        rows.clear()
        total_effects(model, torch.rand(1, 3, edge, edge), 1, steps=steps)
        assert max(rows) == at_once
        assert sum(rows) >= steps * (1 + len(model.layers))


def test_progress_is_told_before_every_pass_and_a_stopped_run_leaves_nothing_behind():
    model, x = model_of(CNN(stages=(5, 6))), torch.rand(1, 3, 16, 16)
    model.train()
    seen = []

    def stop(what: str, done: int, total: int) -> None:
        seen.append((what, done, total))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        total_effects(model, x, 0, steps=20, on_progress=stop)
    assert list(dict.fromkeys(seen)) == [("pixels", 0, 4), ("stem, 24 channels", 1, 4), ("stage 1, 5 channels", 2, 4)]
    assert seen.count(("stem, 24 channels", 1, 4)) >= 3  # 20 steps, 8 at once
    assert hooks(model) == 0
    assert all(module.training for module in model.modules())


def test_the_copy_that_is_hooked_has_the_weights_of_the_model_itself():
    model = model_of(CNN(stages=(5, 6)))
    copy = _apart(model)
    assert not set(map(id, copy.modules())) & set(map(id, model.modules()))
    for (name, theirs), ours in zip(copy.state_dict().items(), model.state_dict().values(), strict=True):
        assert theirs.data_ptr() == ours.data_ptr(), name


def test_threads_that_share_a_model_get_the_answers_of_one_thread():
    """Hooks on shared modules made total effects fail, and changed predictions, while others ran the model."""
    torch.manual_seed(0)
    model = model_of(CNN(stages=(5, 6)))
    inputs = [torch.rand(1, 3, 16, 16) for _ in range(4)]
    alone = [total_effects(model, x, 1, steps=4).integrated_gradients for x in inputs]
    logits = [model.trace(x).logits for x in inputs]
    wrong: list[object] = []

    def work(number: int) -> None:
        x = inputs[number]
        for _ in range(10):
            try:
                effects = total_effects(model, x, 1, steps=4) if number < 2 else None
                if effects and effects.integrated_gradients != pytest.approx(alone[number], abs=1e-5):
                    wrong.append(number)
                for _ in range(1 if effects else 100):
                    if not torch.allclose(model.trace(x).logits, logits[number], atol=1e-5):
                        wrong.append(number)
            except Exception as error:  # noqa: BLE001
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
