"""Total effects against Captum called directly, and Grad-CAM on tokens against autograd written out."""

import threading

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerGradCam, LayerIntegratedGradients

from laya.attribution.total import _apart, total_effects
from laya.backbones import CNN, MLP, Timm
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
