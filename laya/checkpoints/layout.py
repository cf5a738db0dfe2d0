"""Where checkpoints lie, and what the files of one are called."""

import os
from pathlib import Path

WEIGHTS, CONFIG, METRICS, CARD = "model.safetensors", "config.json", "metrics.json", "README.md"
EVIDENCE, PROFILES, DATA = "evidence.json", "profiles.json", "data.json"
SEARCH = "search.md"
BACKBONES = "backbones"
SHIPPED = Path(__file__).parents[2] / "checkpoints"


def roots() -> list[Path]:
    """The folders that hold checkpoints: those in LAYA_CHECKPOINTS (more than one as in PATH), then ours."""
    given = os.environ.get("LAYA_CHECKPOINTS", "").split(os.pathsep)
    return [*(Path(each) for each in given if each), SHIPPED]
