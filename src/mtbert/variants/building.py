"""Build a model from its settings, for training, prediction and export alike, and read examples as it sees them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from mtbert import layout, seeding
from mtbert.data import batches
from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.models import multitask
from mtbert.models.encoder.base import Backbone
from mtbert.models.encoder.encoder import Encoder
from mtbert.models.heads import HEADS
from mtbert.models.multitask import MultitaskModel
from mtbert.tasks import Split
from mtbert.variants.settings import TECHNIQUE_KEYS, VariantSettings


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
        **{kind: partial(registry.build, getattr(chosen, kind)) for kind, registry in TECHNIQUE_KEYS["model"].items()},
        heads={name: partial(HEADS.build, chosen.heads[name]) for name in settings.tasks},
        tasks=tasks,
        pooling=chosen.pooling,
        apart=[task.name for task in tasks if chosen.is_apart(task)],
        vocabulary=vocabulary,
    )


def read_split(
    settings: VariantSettings, corpus: str, task: str, split: Split, data: Path, special: SpecialTokens
) -> Examples:
    """Read a split of a corpus that serves a task as a model of these settings encodes it; DataError where it is empty.

    Args:
        settings: of the model.
        corpus: its name below `data`, the task's own or another.
        task: one of the model's tasks.
        split: which split.
        data: the folder of all examples.
        special: the tokenizer's special tokens.
    """
    described = settings.described[task]
    encoding = "bi" if settings.model.is_apart(described) else "cross"
    return batches.load(layout.examples(data, corpus, split), described, encoding, special, settings.model.max_tokens)
