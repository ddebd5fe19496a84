"""AdamW as BERT's own code uses it: what is no matrix takes no weight decay, and a weighting may have its own rate."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from mtbert.settings import PhaseSettings
from mtbert.weightings.base import Weighting


def adamw(settings: PhaseSettings, parameters: Sequence[nn.Parameter], weighting: Weighting) -> torch.optim.AdamW:
    """The optimiser of a phase over all that it trains; the model's learning rate is that of its first group."""
    first, second = settings.betas
    return torch.optim.AdamW(
        groups(settings, parameters, weighting), lr=settings.learning_rate, betas=(first, second), eps=settings.eps,
        fused=True,
    )  # fmt: skip


def groups(settings: PhaseSettings, parameters: Sequence[nn.Parameter], weighting: Weighting) -> list[dict[str, Any]]:
    """Matrices with weight decay; biases and LayerNorms, which are vectors, without; the weighting's without.

    Source: Devlin et al. (2019), optimization.py, which leaves out LayerNorms and biases by name. Groups that would be
    empty are left out.
    """
    learnt = {id(parameter) for parameter in weighting.parameters()}
    of_model = [parameter for parameter in parameters if id(parameter) not in learnt]
    of_weighting = [parameter for parameter in parameters if id(parameter) in learnt]
    rate = settings.learning_rate
    found = [
        {"params": [p for p in of_model if p.ndim > 1], "lr": rate, "weight_decay": settings.weight_decay},
        {"params": [p for p in of_model if p.ndim <= 1], "lr": rate, "weight_decay": 0.0},
        {"params": of_weighting, "lr": weighting.learning_rate(rate), "weight_decay": 0.0},
    ]
    return [group for group in found if group["params"]]
