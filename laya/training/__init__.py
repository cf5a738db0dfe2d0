"""Training a head on a frozen backbone, or both end to end."""

from laya.training.config import TrainingConfig
from laya.training.loop import TrainingResult, train

__all__ = ["TrainingConfig", "TrainingResult", "train"]
