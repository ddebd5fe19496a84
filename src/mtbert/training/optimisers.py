"""AdamW as BERT's own code uses it: weight decay for matrices only. A weighting may have its own learning rate."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from mtbert.settings import PhaseSettings
from mtbert.training.weightings.base import Weighting


def adamw(settings: PhaseSettings, parameters: Sequence[nn.Parameter], weighting: Weighting) -> torch.optim.AdamW:
    """Return the optimiser of all that a phase trains; its first group has the model's learning rate."""
    first, second = settings.betas
    return torch.optim.AdamW(
        groups(settings, parameters, weighting), lr=settings.learning_rate, betas=(first, second), eps=settings.eps,
        fused=True,
    )  # fmt: skip


def groups(settings: PhaseSettings, parameters: Sequence[nn.Parameter], weighting: Weighting) -> list[dict[str, Any]]:
    """Return the groups: matrices with weight decay; biases and LayerNorms, which are vectors, and weightings without.

    Source: Devlin et al. (2019), optimization.py, which excludes LayerNorms and biases by name. Empty groups are left
    out.
    """
    learnt = {id(parameter) for parameter in weighting.parameters()}
    of_model = [parameter for parameter in parameters if id(parameter) not in learnt]
    of_weighting = [parameter for parameter in parameters if id(parameter) in learnt]
    rate = settings.learning_rate
    all_groups = [
        {"params": [p for p in of_model if p.ndim > 1], "lr": rate, "weight_decay": settings.weight_decay},
        {"params": [p for p in of_model if p.ndim <= 1], "lr": rate, "weight_decay": 0.0},
        {"params": of_weighting, "lr": weighting.learning_rate(rate), "weight_decay": 0.0},
    ]
    return [group for group in all_groups if group["params"]]
