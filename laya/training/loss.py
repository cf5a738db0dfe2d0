"""What is minimised."""

import torch
from torch import Tensor, nn

from laya.heads import HeadOutput
from laya.model import LayaClassifier
from laya.training.config import TrainingConfig


def class_weights(labels: Tensor, classes: int) -> Tensor:
    """Weights (K,) that let every class count as much as any other: ``N / (K n_c)``; 0 for a class without images.

    Parameters
    ----------
    labels : (N,).
    classes : K.
    """
    counts = torch.bincount(labels, minlength=classes).float()
    return torch.where(counts > 0, len(labels) / (int((counts > 0).sum()) * counts.clamp_min(1)), 0.0)


def loss_of(
    config: TrainingConfig, model: LayaClassifier, output: HeadOutput, labels: Tensor, weights: Tensor | None = None
) -> Tensor:
    """Cross-entropy of the logits, and of every layer's own vote if the recipe says so, with ``weights`` of classes."""
    smoothing = config.label_smoothing
    loss = nn.functional.cross_entropy(output.logits, labels, weights, label_smoothing=smoothing)
    if config.auxiliary:
        votes = model.head.votes(output) + model.head.bias  # (B, L, K)
        each = labels.unsqueeze(1).expand(votes.shape[:2])
        own = nn.functional.cross_entropy(votes.flatten(0, 1), each.flatten(), weights, label_smoothing=smoothing)
        loss = loss + config.auxiliary * own
    return loss
