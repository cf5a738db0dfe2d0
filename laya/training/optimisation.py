"""How the weights learn: optimiser, schedule, lookahead, precision."""

from bisect import bisect_right
from typing import Any

import torch
from torch import Tensor, nn

from laya.training.config import TrainingConfig

LOOKAHEAD = 5  # steps between two steps of the slow weights (arXiv 2404.00498)


def make_optimiser(config: TrainingConfig, trained: nn.Module) -> torch.optim.Optimizer:
    """The optimiser of a recipe; batch norms' biases are a group of their own where they learn faster."""
    rate, decay, times = config.learning_rate, config.weight_decay, config.bias_rate
    norms = [module for module in trained.modules() if times > 1 and isinstance(module, nn.BatchNorm2d)]
    still, quick = {id(norm.weight) for norm in norms}, {id(norm.bias) for norm in norms}
    learning = [p for p in trained.parameters() if p.requires_grad and id(p) not in still]
    groups: list[dict[str, Any]] = [{"params": [p for p in learning if id(p) not in quick]}]
    if quick:
        biases = [p for p in learning if id(p) in quick]
        groups.append({"params": biases, "lr": rate * times, "weight_decay": decay / times})  # shrinks like the rest
    if config.optimiser == "sgd":
        momentum = {"cosine": 0.9, "triangle": 0.85}[config.schedule]  # cosine moves it between 0.95 and 0.85
        return torch.optim.SGD(groups, rate, momentum=momentum, nesterov=True, weight_decay=decay)
    return torch.optim.AdamW(groups, rate, weight_decay=decay)


def make_schedule(
    config: TrainingConfig, optimiser: torch.optim.Optimizer, done: int, steps: int
) -> torch.optim.lr_scheduler.OneCycleLR:
    """The schedule of the cycle that follows after ``done`` epochs of ``steps`` steps, at its beginning."""
    starts = [0, *config.restarts, config.epochs]
    cycle = bisect_right(starts, done) - 1
    length = starts[cycle + 1] - starts[cycle]
    peaks = [config.learning_rate / 2**cycle * rate for rate in (1, config.bias_rate)][: len(optimiser.param_groups)]
    triangle = {"anneal_strategy": "linear", "cycle_momentum": False, "pct_start": 0.25, "div_factor": 5}
    shape: dict[str, Any] = triangle if config.schedule == "triangle" else {}
    return torch.optim.lr_scheduler.OneCycleLR(optimiser, peaks, total_steps=steps * length, **shape)


def look_ahead(trained: nn.Module, slow: dict[str, Tensor], share: float) -> None:
    """Move the slow weights towards the fast ones, the less the larger the ``share`` of the training that is done.

    References
    ----------
    M. Zhang et al., "Lookahead Optimizer", NeurIPS 2019; with the schedule of K. Jordan, arXiv 2404.00498.
    """
    kept = 0.95**LOOKAHEAD * share**3
    for name, tensor in trained.state_dict().items():
        if tensor.is_floating_point():
            slow[name].lerp_(tensor, 1 - kept)
            tensor.copy_(slow[name])
        else:
            slow[name].copy_(tensor)  # a count of batches


def copy_state(module: nn.Module) -> dict[str, Tensor]:
    """A module's tensors as they are now."""
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def precision(config: TrainingConfig, model: nn.Module, device: torch.device) -> torch.autocast:
    """The precision of the passes in training: bfloat16, which needs no scaling of the loss, where it is quicker.

    That is on a GPU that has it, and for a network with convolutions on a processor that has it: without the
    instructions it is slower than single precision, and small matrices do not make up for the conversions.
    """
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # torch has it since 2.11
        able = any(known.get(each) for each in ("avx512_bf16", "amx_bf16"))
        able = able and any(isinstance(module, nn.Conv2d) for module in model.modules())
    return torch.autocast(device.type, torch.bfloat16, enabled=able and config.mixed and not config.frozen)
