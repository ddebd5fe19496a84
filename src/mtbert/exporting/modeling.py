"""A multi-task BERT of mtbert as a model of transformers.

    model = AutoModel.from_pretrained(folder, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    inputs = tokenizer(first, second, truncation=True, padding=True, return_tensors="pt")
    model(**inputs, task="sts").logits

Where the sentences of a pair are encoded apart (`config.pair_encoding` is `bi`), the inputs hold all first sentences,
then all second ones, and `sequences` is 2: `tokenizer([*first, *second], ...)`.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers import PretrainedConfig, PreTrainedModel
from transformers.utils.generic import ModelOutput

from mtbert.adapters.base import Shape
from mtbert.encoder.bert import Bert, Config, Encoder
from mtbert.model import MultitaskModel
from mtbert.tasks import Task


class MtbertConfig(PretrainedConfig):
    """The configuration of the model.

    Args:
        bert: the encoder's sizes.
        tasks: each task's row of mtbert's table, by name.
        parts: settings of features, adapter and connector; heads: of each task's head.
        pooling: which embedding of a sequence each task's head reads.
        pair_encoding: `cross` puts both sentences of a pair into one sequence, `bi` each into its own.
        max_tokens: longest sequence.
        vocabulary: word pieces by id, where features need them.
        typed: whether token types count; else all are taken as 0.
    """

    model_type = "mtbert"

    def __init__(
        self,
        bert: dict[str, Any] | None = None,
        tasks: dict[str, Any] | None = None,
        parts: dict[str, Any] | None = None,
        heads: dict[str, Any] | None = None,
        pooling: dict[str, str] | None = None,
        pair_encoding: str = "cross",
        max_tokens: int = 128,
        vocabulary: list[str] | None = None,
        typed: bool = True,
        **kwargs: Any,
    ) -> None:
        self.bert, self.tasks, self.parts, self.heads = bert or {}, tasks or {}, parts or {}, heads or {}
        self.pooling, self.pair_encoding, self.max_tokens = pooling or {}, pair_encoding, max_tokens
        self.vocabulary, self.typed = vocabulary or [], typed
        super().__init__(**kwargs)


@dataclass
class MtbertOutput(ModelOutput):
    """A task's outputs.

    Attributes:
        logits: the head's outputs [batch, size]: a logit for each class, the logit of "yes", or the score.
        embeddings: the embeddings that the head reads, [batch, sequences, width].
    """

    logits: Tensor | None = None
    embeddings: Tensor | None = None


class MtbertModel(PreTrainedModel):
    """Encoder, features, adapter, connector, and a head for each task.

    Attributes:
        builders: the classes of features, adapter and connector by these names, and of heads by task.
    """

    config_class = MtbertConfig
    builders = {}  # not typed: transformers resolves a class's types in a module that lacks them
    head_builders = {}

    def __init__(self, config: MtbertConfig) -> None:
        super().__init__(config)
        bert, names = Bert(Config(**config.bert)), list(config.tasks)
        encoder = Encoder(bert, typed=config.typed)
        shape = Shape(encoder.width, encoder.layers, bert.config.intermediate_size, bert.config.initializer_range)
        given = {name: SimpleNamespace(**options) for name, options in config.parts.items()}
        adapter = self.builders["adapter"](given["adapter"], shape, names)
        adapter.meet([layer.linears() for layer in encoder.layer_modules()])
        heads = {name: self._head(config, name, encoder.width) for name in names}
        pooling: Any = config.pooling
        self.model = MultitaskModel(
            encoder,
            self.builders["features"](given["features"], encoder.width, config.vocabulary),
            adapter,
            self.builders["connector"](given["connector"], encoder.width, names),
            heads,
            pooling,
        )
        self.post_init()

    def _head(self, config: MtbertConfig, name: str, width: int) -> Any:
        row: dict[str, Any] = dict(config.tasks[name])
        row["sentences"] = tuple(row["sentences"])  # JSON has no tuples
        task = Task(**row)
        embeddings = 2 if task.is_pair and config.pair_encoding == "bi" else 1
        return self.head_builders[name](SimpleNamespace(**config.heads[name]), task, width, embeddings)

    def _init_weights(self, module: Any) -> None:
        """Do nothing: all weights are read."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        task: str | None = None,
        sequences: int = 1,
        **kwargs: Any,
    ) -> MtbertOutput:
        """Return the outputs of the task's head for each example; ids, mask and types are [rows, tokens]."""
        embeddings = self.embeddings(input_ids, attention_mask, token_type_ids, task, sequences)
        with torch.autocast(input_ids.device.type, enabled=False):
            logits = self.model.head(self.task(task))(*(embedding.float() for embedding in embeddings))
        return MtbertOutput(logits=logits, embeddings=torch.stack(embeddings, dim=1))

    def embeddings(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        task: str | None = None,
        sequences: int = 1,
    ) -> tuple[Tensor, ...]:
        """Return the embeddings [batch, width] that the task's head reads."""
        batch: Any = SimpleNamespace(
            task=self.task(task),
            input_ids=input_ids,
            mask=torch.ones_like(input_ids) if attention_mask is None else attention_mask,
            token_types=torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids,
            sequences=sequences,
        )
        return self.model.embeddings(batch)

    def task(self, name: str | None) -> str:
        """Return the task; ValueError where the model lacks it, or none is named and there are several."""
        names = list(self.config.tasks)
        if name is None and len(names) == 1:
            return names[0]
        if name is None or name not in names:
            raise ValueError(f"task is {name!r}; allowed: {', '.join(names)}")
        return name
