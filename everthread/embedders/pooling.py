"""Poolings of an encoder's token states to the vectors of a text, as modules of torch, which they need.

A pooling takes the states (N, T, D) and the mask (N, T), 1 for a token and 0 for padding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

MASK_SCORE = -10_000.0  # added to the score of a padded token: e^-10000 is 0, and no sum overflows
SPREAD = 0.3  # standard deviation of the scores by which further poolings of a text begin to differ


class BasePooling(nn.Module):  # type: ignore[misc]
    """One vector a text: the mean of the tokens, or the first one. Returns (N, D)."""

    def __init__(self, method: str, normalise: bool) -> None:
        super().__init__()
        self.method, self.normalise = method, normalise

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        vector = states[:, 0] if self.method == "cls" else _mean(states, mask)
        return _normalise(vector) if self.normalise else vector


class AttentionPooling(nn.Module):  # type: ignore[misc]
    """One vector of a question and several of a text, each a mean of the tokens with weights of its own.

    The weights are a softmax of a linear function of the states (Lin et al. 2017, "A structured self-attentive sentence
    embedding"). goodai-ltm's own models have such poolings. Row 0 is the question's, the others are the text's; rows 0
    and 1 begin as the plain mean, so that an untrained model finds at least what its base finds.
    """

    def __init__(self, dim: int, vectors: int) -> None:
        super().__init__()
        self.scores = nn.Linear(dim, 1 + vectors, bias=False)
        nn.init.zeros_(self.scores.weight[:2].detach())
        nn.init.normal_(self.scores.weight[2:].detach(), std=SPREAD / dim**0.5)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        scores = self.scores(states) + (1.0 - mask[:, :, None]) * MASK_SCORE  # (N, T, 1 + E)
        return _normalise(torch.softmax(scores, dim=1).transpose(1, 2) @ states)  # (N, 1 + E, D)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weight = mask.unsqueeze(-1)  # (N, T, 1)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1.0)  # (N, D)


def _normalise(vectors: Tensor) -> Tensor:
    return vectors / torch.linalg.vector_norm(vectors, dim=-1, keepdim=True).clamp(min=1e-12)
