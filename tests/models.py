"""Small models and batches that several tests share."""

import dataclasses
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import architectures
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from mtbert.data.batches import Batch
from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Adapter, Shape
from mtbert.models.connectors import CONNECTORS
from mtbert.models.encoder.base import Backbone
from mtbert.models.encoder.bert import Bert, Config
from mtbert.models.encoder.encoder import Encoder
from mtbert.models.encoder.slot import PLAIN
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS
from mtbert.models.multitask import MultitaskModel
from mtbert.tasks import COURSE


def small_backbone(kind: str = "bert") -> Backbone:
    """An untrained encoder of any architecture, as `small_bert`."""
    if kind == "bert":
        return small_bert()
    with tempfile.TemporaryDirectory() as folder:
        return architectures.ours(kind, Path(folder))


def small_bert(width: int = 24, layers: int = 2, heads: int = 2, seed: int = 0) -> Bert:
    """An untrained BERT in evaluation mode, with larger weights than usual so that differences show."""
    return ours(small_hugging_face_bert(width, layers, heads, seed))


def ours(theirs: BertModel) -> Bert:
    """The same BERT in this project's form."""
    bert = Bert(Config(**{field.name: getattr(theirs.config, field.name) for field in dataclasses.fields(Config)}))
    bert.load_state_dict(theirs.state_dict())
    return bert.eval()


def small_hugging_face_bert(width: int = 24, layers: int = 2, heads: int = 2, seed: int = 0) -> BertModel:
    """The same from Hugging Face."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=50,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=2 * width,
        max_position_embeddings=32,
        initializer_range=0.2,
    )
    return BertModel(config).eval()


def small_batch(task: str, rows: int = 4, tokens: int = 6, sequences: int = 1, seed: int = 0) -> Batch:
    """Random tokens, the last two of the second row being padding; labels that fit the task."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.ones(rows * sequences, tokens, dtype=torch.long)
    mask[1, -2:] = 0
    kind, classes = COURSE[task].kind, COURSE[task].classes
    labels = torch.rand(rows, generator=generator) * 5
    return Batch(
        task=task,
        ids=tuple(f"{task}-{row}" for row in range(rows)),
        input_ids=torch.randint(1, 50, (rows * sequences, tokens), generator=generator),
        mask=mask,
        token_types=torch.zeros_like(mask),
        labels=labels if kind == "score" else (labels % classes).floor(),
        sequences=sequences,
    )


def small_model(
    adapter: dict | None = None, connector: dict | None = None, head: dict | None = None, **more: Any
) -> MultitaskModel:
    """A model on `small_backbone`, heads without dropout; more: tasks, embeddings of an example, pooling, kind."""
    tasks, embeddings = more.get("tasks", ("sst", "qqp", "sts")), more.get("embeddings", 1)
    head = head or {"name": "linear", "dropout": 0.0}
    encoder = Encoder(small_backbone(more.get("kind", "bert")))
    built = build_adapter(adapter or {"name": "none"}, encoder, tasks)
    heads = {task: HEADS.build(HEADS.choose(head), COURSE[task], encoder.width, embeddings) for task in tasks}
    between = CONNECTORS.build(CONNECTORS.choose(connector or {"name": "direct"}), encoder.width, list(tasks))
    features = FEATURES.build(FEATURES.choose({"name": "words"}), encoder.width, ())
    return MultitaskModel(encoder, features, built, between, heads, dict.fromkeys(tasks, more.get("pooling", "pooler")))


def build_adapter(choice: dict, encoder: Encoder, tasks: Sequence[str]) -> Adapter:
    """The adapter that `choice` describes, in that encoder."""
    layers = encoder.layer_modules()
    shape = Shape(encoder.width, len(layers), encoder.backbone.config.intermediate_size, 0.2, encoder.backbone.gated)
    adapter = ADAPTERS.build(ADAPTERS.choose(choice), shape, list(tasks)).eval()
    adapter.init_from_encoder([layer.linears() for layer in layers])
    return adapter


def hidden_of(encoder: Encoder, batch: Batch, adapter: Adapter | None = None, task: str = "sst") -> Tensor:
    """The last layer's hidden states, with that adapter in the layers."""
    slots = partial(adapter.slot, task) if adapter else lambda _: PLAIN
    return encoder(encoder.words(batch.input_ids), batch.token_types, batch.mask, slots)
