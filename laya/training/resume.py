"""The state between epochs: safetensors only, nothing is ever unpickled."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save as serialise
from torch import Tensor, nn

from laya.errors import LayaError
from laya.files import write
from laya.training.config import TrainingConfig
from laya.training.history import Epoch
from laya.training.optimisation import make_schedule


def store(
    file: Path,
    config: TrainingConfig,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    history: list[Epoch],
    best: dict[str, Tensor],
    slow: dict[str, Tensor],
) -> None:
    """Write all that a training needs to go on, in one step."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    tensors |= {f"slow.{name}": tensor for name, tensor in slow.items()}
    state = optimiser.state_dict()
    tensors |= {
        f"optimiser.{i}.{name}": value for i, values in state["state"].items() for name, value in values.items()
    }
    words = {
        "config": json.dumps(asdict(config), sort_keys=True),
        "history": json.dumps([asdict(epoch) for epoch in history]),
        "groups": json.dumps(state["param_groups"]),
        "schedule": json.dumps(schedule.state_dict()),
    }
    write(file, serialise({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata=words))


def restore(
    file: Path,
    config: TrainingConfig,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    steps: int,
) -> tuple[list[Epoch], dict[str, Tensor], dict[str, Tensor], torch.optim.lr_scheduler.OneCycleLR]:
    """Put model and optimiser back to where they were: history, best weights, slow weights and the schedule.

    Raises
    ------
    LayaError
        The state belongs to another recipe. What is damaged raises what safetensors, JSON or torch raise on it.
    """
    with safe_open(file, "pt") as stored:
        words = stored.metadata()
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  # not a mapping
    if TrainingConfig.from_dict(json.loads(words["config"])) != config:  # a setting that came later is at its default
        raise LayaError("The interrupted training had other settings; train without --resume, or into another folder.")

    def part(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

    model.load_state_dict(part("model."))
    history = [Epoch(**epoch) for epoch in json.loads(words["history"])]
    schedule = make_schedule(config, optimiser, len(history) - 1, steps)  # the cycle of the last epoch that is done
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in part("optimiser.").items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": json.loads(words["groups"])})
    schedule.load_state_dict(json.loads(words["schedule"]))
    device = next(model.parameters()).device
    best, slow = ({k: tensor.to(device) for k, tensor in part(prefix).items()} for prefix in ("best.", "slow."))
    return history, best, slow, schedule
