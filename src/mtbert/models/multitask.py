"""The multi-task model: an encoder, features, an adapter, a connector and one head a task, all handed in."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.errors import SettingsError
from mtbert.models.adapters.base import Adapter, Shape
from mtbert.models.by_task import ModulesByTask
from mtbert.models.connectors.base import Connector
from mtbert.models.encoder.encoder import Encoder
from mtbert.models.features.base import Features
from mtbert.models.heads.base import Head
from mtbert.settings import Pooling
from mtbert.tasks import Task


class Trained(Protocol):
    """What a phase trains: the named parts of the model, without those that are frozen."""

    @property
    def trainable(self) -> Sequence[str]:
        """Names of parts."""
        ...

    @property
    def frozen(self) -> Sequence[str]:
        """Names of parts within them."""
        ...


def check_apart(task: str, head: Head | type[Head], mixed: Collection[str]) -> None:
    """Raise SettingsError where a head ranks sentences that a connector has shown to their partners.

    `mixed` holds the tasks where the connector shows both sentences of a pair to each other.
    """
    if head.needs_apart and task in mixed:
        raise SettingsError(
            f"model.heads.{task} ranks sentences that must not have seen one another, but the connector shows both "
            f"sentences of a pair to each other; add {task} to the connector's `apart`, or set another connector"
        )


class MultitaskModel(nn.Module):
    """One shared encoder, features before it, an adapter in it, a connector behind it; a head for each task."""

    def __init__(
        self,
        encoder: Encoder,
        features: Features,
        adapter: Adapter,
        connector: Connector,
        heads: Mapping[str, Head],
        pooling: Mapping[str, Pooling],
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.features = features
        self.adapter = adapter
        self.connector = connector
        self.heads = ModulesByTask(heads)
        self.pooling = dict(pooling)

    def head(self, task: str) -> Head:
        """Return the head of a task."""
        return self.heads[task]  # type: ignore[return-value]

    def embeddings(self, batch: Batch) -> tuple[Tensor, ...]:
        """Return an embedding [batch, width] for each sequence of an example: two for a bi-encoded pair, else one."""
        pooled = self.pooled(batch) if batch.pooled is None else batch.pooled
        return self._embeddings(batch.task, pooled, batch.sequences)

    def pooled(self, batch: Batch) -> Tensor:
        """Return the encoder's embedding of each sequence, before the connector: [rows, width]."""
        return self.pooled_of([batch.task], batch)[0]

    def pooled_of(self, tasks: Sequence[str], batch: Batch) -> list[Tensor]:
        """Return the same for each of some tasks; the encoder computes once what is the same for them."""
        words = self.features(self.encoder.words(batch.input_ids), batch.input_ids)
        slots = [partial(self.adapter.slot, task) for task in tasks]
        states = self.encoder.each(words, batch.token_types, batch.mask, slots)
        return [
            self.encoder.pooled(self.pooling[task], hidden, batch.mask)
            for task, hidden in zip(tasks, states, strict=True)
        ]

    def _embeddings(self, task: str, pooled: Tensor, sequences: int) -> tuple[Tensor, ...]:
        # not chunk, which torch.export supports for a fixed batch size only
        return self.connector(task, pooled.unflatten(0, (sequences, -1)).unbind())

    def forward(self, batch: Batch) -> Tensor:
        """Return the head's outputs [batch, size]."""
        return self.outputs(batch.task, self.embeddings(batch))

    def outputs_of(self, tasks: Sequence[str], batch: Batch) -> dict[str, Tensor]:
        """Return the outputs [batch, size] of several tasks' heads, whose examples are sequences of the same form."""
        pooled_by_task = zip(tasks, self.pooled_of(tasks, batch), strict=True)
        return {
            task: self.outputs(task, self._embeddings(task, pooled, batch.sequences)) for task, pooled in pooled_by_task
        }

    def outputs(self, task: str, embeddings: Sequence[Tensor]) -> Tensor:
        """Return the head's outputs [batch, size] of embeddings [batch, width].

        They are computed in the precision of the head's weights, fp32 in training: in bf16 scores of 3 to 5 move in
        steps of 1/64.
        """
        head = self.head(task)
        precision = next((weight.dtype for weight in head.parameters()), torch.float32)
        with torch.autocast(embeddings[0].device.type, enabled=False):
            return head(*(embedding.to(precision) for embedding in embeddings))

    def loss(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return the task's own loss, a mean over the batch; in fp32 as outputs are, also where it multiplies them."""
        with torch.autocast(outputs.device.type, enabled=False):
            return self.head(batch.task).loss(outputs, batch.labels)

    def parts(self) -> dict[str, list[nn.Parameter]]:
        """Return the parameters by the names that `training.trainable` uses."""
        return {
            **self.encoder.parts(),
            "features": list(self.features.parameters()),
            "adapters": list(self.adapter.parameters()),
            "connector": list(self.connector.parameters()),
            "heads": list(self.heads.parameters()),
        }

    def train_only(self, names: Sequence[str], frozen: Sequence[str] = ()) -> list[nn.Parameter]:
        """Freeze all parameters but those of the named parts; those of a part in `frozen` are frozen, too.

        Returns the parameters that are left to train, each once, in the model's order. SettingsError for a part that
        the model does not have.
        """
        trained = self._ids(names, frozen)
        for parameter in self.parameters():
            parameter.requires_grad_(id(parameter) in trained)
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def _ids(self, names: Sequence[str], frozen: Sequence[str] = ()) -> set[int]:
        """Return the ids of the parameters of the named parts, without those of the frozen ones."""
        parts = self.parts()
        if unknown := [name for name in (*names, *frozen) if name not in parts]:
            raise SettingsError(
                f"training.trainable or training.frozen names {unknown[0]}, which the model lacks; "
                f"allowed: {', '.join(parts)}"
            )
        if "biases" in names and not parts["biases"]:
            raise SettingsError(
                f"training.trainable names biases, of which {self.encoder.backbone.title} has none; "
                "allowed: other parts, such as layers"
            )
        ids = {id(parameter) for name in names for parameter in parts[name]}
        frozen_ids = {id(parameter) for name in frozen for parameter in parts[name]}
        return ids - frozen_ids

    def sizes(self, phases: Sequence[Trained], changed: Sequence[str] = ()) -> dict[str, int]:
        """Count the model's weights.

        Args:
            phases: all phases that it was trained in.
            changed: parts that differ from the start although no phase trained them.

        Returns:
            encoder: weights of the encoder; added: all others; trained: those that are trained now; stored: those to be
            kept beside the encoder that the training started from. Stored are the added ones, and those of the encoder
            that a phase trained or that belong to a part in `changed`.
        """
        encoder = sum(p.numel() for p in self.encoder.parameters())
        added = sum(p.numel() for p in self.parameters()) - encoder
        stored = self._ids(changed)
        for phase in phases:
            stored |= self._ids(phase.trainable, phase.frozen)
        return {
            "encoder": encoder,
            "added": added,
            "trained": sum(p.numel() for p in self.parameters() if p.requires_grad),
            "stored": added + sum(p.numel() for p in self.encoder.parameters() if id(p) in stored),
        }


def build(
    encoder: Encoder,
    features: Callable[[int, Sequence[str]], Features],
    adapter: Callable[[Shape, Sequence[str]], Adapter],
    connector: Callable[[int, Sequence[str]], Connector],
    heads: Mapping[str, Callable[[Task, int, int], Head]],
    tasks: Sequence[Task],
    pooling: Mapping[str, Pooling],
    apart: Collection[str],
    vocabulary: Sequence[str],
) -> MultitaskModel:
    """Build the parts around an encoder, always in the same order, in which a seed draws their weights.

    Args:
        encoder: the encoder.
        features: builds the features, from the width and the vocabulary.
        adapter: builds the adapter, from the encoder's shape and the tasks' names.
        connector: builds the connector, from the width and the tasks' names.
        heads: by task, what builds its head, from the task, the width, and the number of embeddings of an example.
        tasks: the model's tasks.
        pooling: by task, which embedding of a sequence its head reads.
        apart: the tasks of pairs whose two sentences are encoded apart.
        vocabulary: word pieces by id, where features need them.
    """
    config = encoder.backbone.config
    names = [task.name for task in tasks]
    shape = Shape(
        encoder.width,
        config.num_hidden_layers,
        config.intermediate_size,
        config.initializer_range,
        gated=encoder.backbone.gated,
    )
    built_features = features(encoder.width, vocabulary)
    built_adapter = adapter(shape, names)
    built_adapter.init_from_encoder([layer.linears() for layer in encoder.layer_modules()])
    built_connector = connector(encoder.width, names)
    built_heads: dict[str, Head] = {}
    for task in tasks:
        embeddings = 2 if task.name in apart else 1
        built_heads[task.name] = heads[task.name](task, encoder.width, embeddings)
    return MultitaskModel(encoder, built_features, built_adapter, built_connector, built_heads, pooling)
