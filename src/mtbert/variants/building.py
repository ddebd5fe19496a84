"""Build a model from its settings, for training, prediction and export alike."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from mtbert import seeding
from mtbert.data.tokens import SpecialTokens
from mtbert.models import multitask
from mtbert.models.adapters import ADAPTERS
from mtbert.models.connectors import CONNECTORS
from mtbert.models.encoder.base import Backbone
from mtbert.models.encoder.encoder import Encoder
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS
from mtbert.models.multitask import MultitaskModel
from mtbert.registry import Registry
from mtbert.variants.settings import VariantSettings

PARTS: dict[str, Registry[..., Any]] = {"features": FEATURES, "adapter": ADAPTERS, "connector": CONNECTORS}


def build_model(
    settings: VariantSettings,
    weights: Backbone,
    seed: int,
    vocabulary: Sequence[str] = (),
    special: SpecialTokens | None = None,
) -> MultitaskModel:
    """Build the model with fresh adapters and heads, drawn by the seed; the tokenizer brings the last two arguments."""
    torch.manual_seed(seeding.derive(seed, "weights"))
    chosen = settings.model
    tasks = [settings.described[name] for name in settings.tasks]
    mask_token = special.mask if special else None
    return multitask.build(
        Encoder(weights, chosen.dropout, mask_token, chosen.token_types == "by_sentence"),
        **{kind: partial(registry.build, getattr(chosen, kind)) for kind, registry in PARTS.items()},
        heads={name: partial(HEADS.build, chosen.heads[name]) for name in settings.tasks},
        tasks=tasks,
        pooling=chosen.pooling,
        apart=[task.name for task in tasks if chosen.is_apart(task)],
        vocabulary=vocabulary,
    )
