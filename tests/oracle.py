"""The LAYA head, written out from the formulas in plain Python: slow, literal, and independent of laya.heads."""

import math

import torch
from torch import Tensor, nn


def linear(layer: nn.Linear, x: list[float]) -> list[float]:
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    return [sum(w * v for w, v in zip(row, x, strict=True)) + b for row, b in zip(weight, bias, strict=True)]


def gelu(x: float) -> float:
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))


def softmax(x: list[float]) -> list[float]:
    top = max(x)
    powers = [math.exp(v - top) for v in x]
    return [p / sum(powers) for p in powers]


def laya(head: nn.Module, hidden: list[Tensor], tau: float) -> tuple[Tensor, Tensor, Tensor]:
    """logits (B, K), alpha (B, L) and contributions to every class (B, L, K), in double precision.

    z_i = g_i(h_i);  s = MLP([z_1, ..., z_L]);  alpha = softmax(s / tau);  logits = W sum_i alpha_i z_i + b.
    """
    all_logits, all_alpha, all_contributions = [], [], []
    for b in range(hidden[0].shape[0]):
        z = [linear(adapter, h[b].tolist()) for adapter, h in zip(head.adapters, hidden, strict=True)]
        joined = [value for z_i in z for value in z_i]
        if not isinstance(head.psi, nn.Identity):
            joined = [gelu(value) for z_i in z for value in linear(head.psi[0], z_i)]
        first, _, second = head.scorer
        scores = linear(second, [gelu(value) for value in linear(first, joined)])
        alpha = softmax([score / tau for score in scores])
        h_agg = [sum(a * z_i[d] for a, z_i in zip(alpha, z, strict=True)) for d in range(len(z[0]))]
        weight = head.classifier.weight.tolist()
        all_logits.append(linear(head.classifier, h_agg))
        all_alpha.append(alpha)
        all_contributions.append(
            [
                [a * sum(w * v for w, v in zip(row, z_i, strict=True)) for row in weight]
                for a, z_i in zip(alpha, z, strict=True)
            ]
        )
    return tuple(torch.tensor(value, dtype=torch.float64) for value in (all_logits, all_alpha, all_contributions))
