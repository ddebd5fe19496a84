"""What a head is, and what its outputs mean for each kind of task.

A head maps the embeddings of an example (one for a single sentence or a cross-encoded pair, two for a bi-encoded pair)
to outputs [batch, size]: class logits, the logit of "yes", a logit for each label of a set, or a score. The loss and
the probabilities follow from the task's kind alone: cross entropy, binary cross entropy with logits (of sets the mean
over labels), mean squared error.
"""

from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtbert.errors import SettingsError
from mtbert.tasks import Task

OutputBias = Literal["plain", "middle", "scaled"]


class Head(nn.Module):
    """From embeddings to outputs. Subclasses take (settings, task, width, embeddings) and define `forward`.

    Args:
        task: the task that it serves; SettingsError where it cannot serve it.
        embeddings: number of embeddings of an example, 1 or 2.

    Attributes:
        learns: whether it can be trained.
        balance: of a balanced task, the weight of each class in the loss, float32 [classes]; no part of the weights.
        thresholds: of sets of labels, the least probability at which a row has each label, float32 [labels]: a half,
            or as chosen on held-out rows, and kept with the weights.
        compares: whether it compares the embeddings of a pair's two sentences, which are then encoded apart.
        needs_apart: whether its loss needs the sentences of a pair encoded without each other.
        middle, unit: of a score: outputs are counted from `middle`, in `unit`s, and so is the loss.
        temperature: of classes: what a trained model's logits are divided by before they are probabilities.
    """

    learns = True
    balance: Tensor | None
    thresholds: Tensor | None
    compares = False
    needs_apart = False
    middle = 0.0
    unit = 1.0
    temperature = 1.0

    def __init__(self, settings: Any, task: Task, width: int, embeddings: int) -> None:
        super().__init__()
        self.check(settings, task, embeddings)
        self.settings = settings
        self.task = task
        self.inputs = width * embeddings
        self.register_buffer("balance", None, persistent=False)
        self.register_buffer("thresholds", torch.full((task.classes,), 0.5) if task.several else None)

    @classmethod
    def check(cls, settings: Any, task: Task, embeddings: int) -> None:
        """Raise SettingsError where such a head cannot serve the task with that number of embeddings of an example."""

    @property
    def outputs(self) -> int:
        """Size of an output: a logit for each class or label, one logit for a yes-or-no task, or one score."""
        return self.task.classes if self.task.kind in ("classes", "sets") else 1

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return outputs [batch, size] from embeddings, each [batch, width]."""
        raise NotImplementedError

    def output_layer(self, width: int, bias: OutputBias) -> nn.Linear:
        """Make a fresh last layer from `width` to `outputs`: PyTorch's `plain` one, or with scores from the `middle`.

        A score that starts near 0 spends tens of steps on learning the mean of the labels, and its large errors disturb
        the shared encoder. `scaled` counts outputs from the middle in quarters of the range, so that a loss is about as
        large as that of classes, whatever the range is.
        """
        layer = nn.Linear(width, self.outputs)
        if self.task.kind == "score" and bias != "plain":
            middle = (self.task.lowest + self.task.highest) / 2
            if bias == "scaled":
                self.middle, self.unit = middle, (self.task.highest - self.task.lowest) / 4
            else:
                nn.init.constant_(layer.bias, middle)
        return layer

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss over the batch, of sets over labels, too; outputs [batch, size], labels as of a batch.

        Where the task is balanced each row's loss is weighted with n / (k n_c), n rows of k classes, n_c of the row's:
        King and Zeng (2001), section 4.2; scikit-learn's `balanced`.
        """
        if self.balance is not None:
            log_probabilities = self.log_probabilities(outputs)  # [batch, classes]
            weights = self.balance[labels.long()]
            return (weights * F.nll_loss(log_probabilities, labels.long(), reduction="none")).mean()
        if self.task.kind == "classes":
            return F.cross_entropy(outputs, labels.long())
        if self.task.kind == "binary":
            return F.binary_cross_entropy_with_logits(outputs.squeeze(-1), labels)
        if self.task.kind == "sets":
            return F.binary_cross_entropy_with_logits(outputs, labels)
        return self.squared_error(self.scores(outputs), labels)

    def squared_error(self, scores: Tensor, others: Tensor) -> Tensor:
        """Return the mean squared difference of scores [batch] on the loss's scale; for score tasks only."""
        return F.mse_loss(scores / self.unit, others / self.unit)

    def scores(self, outputs: Tensor) -> Tensor:
        """Return the predicted scores [batch]; for score tasks only."""
        return self.middle + self.unit * outputs.squeeze(-1)

    def log_probabilities(self, outputs: Tensor) -> Tensor:
        """Return the log of each class's probability [batch, classes]; of sets those of no and yes to each label.

        These are [batch, labels, 2]. A score has none.
        """
        if self.task.kind == "sets":
            return F.logsigmoid(torch.stack([-outputs, outputs], dim=-1))
        if self.task.kind == "binary":
            return F.logsigmoid(torch.cat([-outputs, outputs], dim=-1))
        return F.log_softmax(outputs, dim=-1)


class PairHead(Head):
    """A head that compares two embeddings. Messages name it by its module.

    Raises: SettingsError for a task of another kind, or of single sentences.

    Attributes:
        kinds: the kinds of tasks that it serves.
    """

    compares = True
    kinds: ClassVar[tuple[str, ...]] = ("score",)

    @classmethod
    def check(cls, settings: Any, task: Task, embeddings: int) -> None:
        """Raise SettingsError as above."""
        if embeddings != 2 or task.kind not in cls.kinds:
            name = cls.__module__.rpartition(".")[2]
            raise SettingsError(
                f"model.heads.{task.name} is {name}, which compares two embeddings: it needs a task of pairs of kind "
                f"{' or '.join(cls.kinds)}"
            )

    @property
    def extent(self) -> float:
        """Width of the labels' range."""
        return self.task.highest - self.task.lowest

    def scaled(self, share: Tensor) -> Tensor:
        """Map 0 to 1 onto the labels' range: [batch] -> [batch, 1]."""
        return (self.task.lowest + share * self.extent).unsqueeze(-1)


def cosine(first: Tensor, second: Tensor) -> Tensor:
    """Return the cosines [batch] of embeddings [batch, width], in fp32."""
    return F.cosine_similarity(first.float(), second.float(), dim=-1)
