"""What changes from epoch to epoch, kept as safetensors so that a killed training goes on; never as a pickle."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise
from torch import Tensor, nn

from laya.errors import LayaError
from laya.files import write
from laya.training.config import TrainingConfig
from laya.training.history import Epoch, best_epoch
from laya.training.optimisation import copy_state, make_optimiser, make_schedule


@dataclass
class TrainingState:
    """A training between two epochs.

    Attributes
    ----------
    trained : the module that learns; its weights are the present ones.
    optimiser, schedule : as they are now.
    best : the tensors of the epoch with the best validation accuracy.
    slow : the slow weights of the lookahead; empty without one.
    history : the epochs so far.
    """

    trained: nn.Module
    optimiser: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.OneCycleLR
    best: dict[str, Tensor]
    slow: dict[str, Tensor]
    history: list[Epoch] = field(default_factory=list)

    @classmethod
    def begin(cls, config: TrainingConfig, trained: nn.Module, steps: int) -> Self:
        """Before the first epoch, which has so many steps."""
        optimiser = make_optimiser(config, trained)
        schedule = make_schedule(config, optimiser, 0, steps)
        slow = copy_state(trained) if config.lookahead else {}
        return cls(trained, optimiser, schedule, copy_state(trained), slow)

    def add(self, epoch: Epoch) -> None:
        """Take an epoch into the history, and its weights as the best where they are."""
        self.history.append(epoch)
        if best_epoch(self.history) == epoch:
            self.best = copy_state(self.trained)

    def store(self, file: Path, config: TrainingConfig) -> None:
        """Write all that the training needs to go on, in one step."""
        sides = {"model": self.trained.state_dict(), "best": self.best, "slow": self.slow}
        tensors = {f"{side}.{name}": tensor for side, values in sides.items() for name, tensor in values.items()}
        state = self.optimiser.state_dict()
        tensors |= {
            f"optimiser.{i}.{name}": value for i, values in state["state"].items() for name, value in values.items()
        }
        words = {
            "config": json.dumps(asdict(config), sort_keys=True),
            "history": json.dumps([asdict(epoch) for epoch in self.history]),
            "groups": json.dumps(state["param_groups"]),
            "schedule": json.dumps(self.schedule.state_dict()),
        }
        write(file, serialise({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata=words))

    def restore(self, file: Path, config: TrainingConfig, steps: int) -> None:
        """Go back to where a training was killed.

        Raises
        ------
        LayaError
            The file is damaged or belongs to another recipe.
        """
        try:
            self._restore(file, config, steps)
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise LayaError("The saved state of the training is damaged; train without --resume.") from error

    def _restore(self, file: Path, config: TrainingConfig, steps: int) -> None:
        with safe_open(file, "pt") as stored:
            words = stored.metadata()
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  # not a mapping
        if TrainingConfig.from_dict(json.loads(words["config"])) != config:  # a setting that is new is at its default
            raise LayaError(
                "The interrupted training had other settings; train without --resume, or into another folder."
            )

        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

        self.trained.load_state_dict(part("model."))
        self.history = [Epoch(**epoch) for epoch in json.loads(words["history"])]
        # The cycle of the last epoch that is done.
        self.schedule = make_schedule(config, self.optimiser, len(self.history) - 1, steps)
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in part("optimiser.").items():
            index, key = name.split(".", 1)
            state.setdefault(int(index), {})[key] = value
        self.optimiser.load_state_dict({"state": state, "param_groups": json.loads(words["groups"])})
        self.schedule.load_state_dict(json.loads(words["schedule"]))
        device = next(self.trained.parameters()).device
        self.best, self.slow = (
            {name: tensor.to(device) for name, tensor in part(side).items()} for side in ("best.", "slow.")
        )
