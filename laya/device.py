"""Where the arithmetic happens: chosen here and nowhere else."""

import torch


def pick_device() -> torch.device:
    """CUDA when a GPU is available, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def describe(device: torch.device) -> str:
    """A device in words, for footers and logs: ``"CPU"`` or ``"CUDA (NVIDIA H200)"``."""
    if device.type == "cuda":
        return f"CUDA ({torch.cuda.get_device_name(device)})"
    return device.type.upper()
