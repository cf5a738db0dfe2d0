"""Where the arithmetic happens: chosen here and nowhere else."""

import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from laya.errors import GpuFullError, LayaError


def pick_device() -> torch.device:
    """CUDA when a GPU is available, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def within_memory() -> Iterator[None]:
    """Say in a sentence when the memory does not suffice for what is done inside; also a decorator.

    Raises
    ------
    GpuFullError
        The GPU's memory is used up.
    LayaError
        The machine's is.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise GpuFullError(
            "The GPU has no memory left for this; try again later, or start with CUDA_VISIBLE_DEVICES set to nothing, "
            "which uses the CPU."
        ) from error
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        raise LayaError("There is not enough memory for this; try a smaller model or fewer pictures.") from error


def describe(device: torch.device) -> str:
    """A device in words, for footers and logs: ``"CPU"`` or ``"CUDA (NVIDIA H200)"``."""
    if device.type == "cuda":
        return f"CUDA ({torch.cuda.get_device_name(device)})"
    return device.type.upper()


def machine() -> str:
    """This machine in words, for the record of a run."""
    device = describe(pick_device())
    count = torch.get_num_threads()
    threads = f", {count} thread{'s' * (count > 1)}" if device == "CPU" else ""
    return f"{device}{threads} ({platform.machine()}), Python {platform.python_version()}, torch {torch.__version__}"
