"""A multi-task encoder of mtbert as a model of transformers.

    model = AutoModel.from_pretrained(folder, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    inputs = tokenizer(first, second, truncation=True, padding=True, return_tensors="pt")
    model(**inputs, task="sts").logits
    model(**inputs, pairs=True).logits          # of all tasks of pairs, by task, in one pass of the encoder

Where the sentences of a task's pairs are encoded apart (`config.apart` names it), the inputs hold all first sentences,
then all second ones, and `sequences` is 2: `tokenizer([*first, *second], ...)`.
"""

from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from mtbert.models.encoder.encoder import Encoder
from mtbert.models.multitask import build
from mtbert.tasks import Task

ROLES = ("query", "document")  # what sentence-transformers names as the task in encode_query and encode_document


class MtbertConfig(PretrainedConfig):
    """The configuration of the model.

    Attributes:
        backbone: the encoder's sizes.
        pooler: whether it has one.
        hidden_size: its width.
        typed: whether the encoder distinguishes the sentences of a pair by token types.
        tasks: each task's row of mtbert's table, by name.
        parts: settings of `features`, `adapter` and `connector`.
        heads: settings of each task's head.
        temperatures: what the logits of tasks with classes are divided by, where training fitted it.
        pooling: which embedding of a sequence each task's head reads.
        apart: the tasks of pairs whose two sentences are encoded apart; others have both in one sequence.
        max_tokens: longest sequence.
        vocabulary: word pieces by id, where features need them.
        embedding_task: the task of an embedding for which none is named; None where sentences have no embeddings.
    """

    model_type = "mtbert"


class MtbertModel(PreTrainedModel):
    """Encoder, features, adapter, connector, and a head for each task.

    Attributes:
        classes: that of the encoder, `backbone`, and those of the parts, by their names in `config.parts`.
        head_classes: that of each task's head.
    """

    config_class = MtbertConfig
    classes = {}  # not typed: transformers resolves a class's types in a module that lacks them
    head_classes = {}

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        backbone = self.classes["backbone"]
        sizes = backbone.config_type(**config.backbone)
        encoder = Encoder(backbone(sizes, pooler=config.pooler), typed=config.typed)
        parts = {}
        for part, settings in config.parts.items():
            parts[part] = partial(self.classes[part], SimpleNamespace(**settings))
        heads = {}
        for task, settings in config.heads.items():
            heads[task] = partial(self.head_classes[task], SimpleNamespace(**settings))
        self.model = build(
            encoder,
            **parts,
            heads=heads,
            tasks=[Task(**row) for row in config.tasks.values()],
            pooling=config.pooling,
            apart=config.apart,
            vocabulary=config.vocabulary,
        )
        for task, temperature in config.temperatures.items():
            self.model.head(task).temperature = temperature
        self.post_init()

    def _init_weights(self, module: Any) -> None:
        """Do nothing: all weights are read."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        task: str | None = None,
        sequences: int = 1,
        pairs: bool = False,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Return as `logits` the outputs of the task's head [batch, size]; ids, mask and types are [rows, tokens].

        They are a logit for each class, the logit of "yes", or the score. ValueError where one is not finite.

        Without a task `logits` has these outputs by task, for all tasks that take such rows: single texts, or with
        `pairs` pairs; with `sequences=2` pairs whose sentences are encoded apart. The encoder computes once what they
        have in common. A model of one task needs no `task`, and has its outputs alone.
        """
        of_all = task is None and len(self.config.tasks) > 1
        tasks = self.that_take(pairs or sequences == 2, sequences) if of_all else [self.task(task)]
        first = tasks[0]
        is_apart = first in self.config.apart
        expected = 2 if is_apart else 1
        if sequences != expected:
            order = ": all first sentences, then all second ones" if is_apart else ""
            raise ValueError(f"{first}: sequences is {sequences}; allowed: {expected}{order}")
        if token_type_ids is None and self.config.typed and self.is_pair(first) and not is_apart:
            raise ValueError(
                f"{first} was trained with token types that tell the second sentence from the first; pass the "
                "token_type_ids that the export's own tokenizer returns"
            )
        if token_type_ids is not None and self.config.typed and not is_apart:
            are_pairs = (token_type_ids > 0).any(dim=1)
            if self.is_pair(first) and not are_pairs.all():
                raise ValueError(f"{first} is a task of pairs, and a row has no second sentence")
            if not self.is_pair(first) and are_pairs.any():
                raise ValueError(f"{first} is a task of single sentences, and a row has two; pairs=True asks for pairs")
        outputs = self.outputs_of(tasks, batch(input_ids, attention_mask, token_type_ids, first, sequences))
        logits: Any = outputs if of_all else outputs[first]
        return SequenceClassifierOutput(logits=logits)

    def outputs_of(self, tasks: list[str], rows: Any) -> dict[str, Tensor]:
        """Return the outputs [batch, size] of several tasks; ValueError where one is not finite."""
        outputs = self.model.outputs_of(tasks, rows)
        for task in tasks:
            head = self.model.head(task)
            if head.task.kind == "score":  # a head may have other outputs beside the score
                outputs[task] = head.scores(outputs[task]).unsqueeze(-1)
            else:
                outputs[task] = outputs[task] / head.temperature
            is_graph = torch.compiler.is_compiling()  # of ONNX, or a compiled one: it has no branches
            if not (self.training or is_graph):
                check_finite(outputs[task], task)
        return outputs

    def that_take(self, pairs: bool, sequences: int) -> list[str]:
        """Return the tasks that take rows of that form; ValueError where there is none."""
        is_apart = sequences == 2
        of_form = [task for task in self.config.tasks if self.is_pair(task) == pairs]
        tasks = [task for task in of_form if (task in self.config.apart) == is_apart]
        if not tasks:
            rows, names = "pairs" if pairs else "single texts", ", ".join(self.config.tasks)
            raise ValueError(f"no task takes {rows} with sequences={sequences}; name one of {names}")
        return tasks

    def sentence_embedding(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None, task: str | None = None
    ) -> Tensor:
        """Return the embeddings [rows, width] of single sentences that the task's head reads; inputs as above.

        Without a task, or with one of ROLES, they are those of `config.embedding_task`. ValueError for a task whose
        sentences are not encoded apart.
        """
        mixed = self.model.connector.mixed
        if task is None or (task in ROLES and task not in self.config.tasks):
            task = self.config.embedding_task
        task = self.task(task)
        if task in mixed:
            allowed = ", ".join(name for name in self.config.tasks if name not in mixed)
            raise ValueError(f"{task} shows both sentences of a pair to each other; allowed: {allowed}")
        return self.model.embeddings(batch(input_ids, attention_mask, token_type_ids, task))[0]

    def is_pair(self, task: str) -> bool:
        """Return whether a task's examples are pairs of sentences."""
        return len(self.config.tasks[task]["sentences"]) == 2

    def task(self, name: str | None) -> str:
        """Return the task; ValueError where the model lacks it, or none is named and there are several."""
        names = list(self.config.tasks)
        if name is None and len(names) == 1:
            return names[0]
        if name is None or name not in names:
            raise ValueError(f"task is {name!r}; allowed: {', '.join(names)}")
        return name


def check_finite(outputs: Tensor, task: str) -> None:
    """Raise ValueError with the rows of outputs [batch, size] that are not finite, which are no prediction."""
    is_finite = outputs.detach().isfinite().flatten(1).all(dim=1)
    if not is_finite.all():
        rows = (~is_finite).nonzero().flatten().tolist()
        raise ValueError(
            f"{task}: the outputs of rows {rows} (from 0) are not finite (NaN or infinite); load the model in "
            "float32, and if they still are, its weights are faulty: export it again"
        )


class MtbertForSequenceClassification(MtbertModel):
    """The same for transformers' pipeline `text-classification`, of a model of one task with classes."""

    def forward(self, *args: Any, **kwargs: Any) -> SequenceClassifierOutput:
        """Return a logit for each class, also of two: their softmax has the probabilities."""
        logits: Any = super().forward(*args, **kwargs).logits
        if logits.shape[-1] == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], dim=-1)
        return SequenceClassifierOutput(logits=logits)


def batch(ids: Tensor, mask: Tensor | None, types: Tensor | None, task: str, sequences: int = 1) -> Any:
    """Return the batch that mtbert's model takes."""
    return SimpleNamespace(
        task=task,
        input_ids=ids,
        mask=torch.ones_like(ids) if mask is None else mask,
        token_types=torch.zeros_like(ids) if types is None else types,
        sequences=sequences,
        pooled=None,
    )
