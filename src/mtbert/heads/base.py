"""What a head is, and what its outputs mean for each kind of task.

A head maps the embeddings of an example (one for a single sentence or a cross-encoded pair, two for a bi-encoded pair)
to outputs [batch, size]: class logits, the logit of "yes", or a score. The loss and the probabilities follow from the
task's kind alone: cross entropy, binary cross entropy with logits, mean squared error.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtbert.tasks import Task


class Head(nn.Module):
    """From embeddings to outputs. Subclasses take (settings, task, width, embeddings) and give `forward`.

    Args:
        task: which task it serves.
        width: width of an embedding.
        embeddings: how many there are for an example, 1 or 2.
    """

    def __init__(self, task: Task, width: int, embeddings: int) -> None:
        super().__init__()
        self.task = task
        self.inputs = width * embeddings

    @property
    def outputs(self) -> int:
        """Size of an output: one logit a class, one for a yes-or-no task, one score."""
        return self.task.classes if self.task.kind == "classes" else 1

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Outputs [batch, size] from embeddings [batch, width] each."""
        raise NotImplementedError

    def output_layer(self, width: int) -> nn.Linear:
        """A fresh last layer from `width` to `outputs`; a score starts in the middle of its range.

        Started at 0, it first spends tens of steps on learning the mean of the labels, and pushes the shared encoder
        about with the large errors of that time.
        """
        layer = nn.Linear(width, self.outputs)
        if self.task.kind == "score":
            nn.init.constant_(layer.bias, (self.task.lowest + self.task.highest) / 2)
        return layer

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Mean loss over the batch; outputs [batch, size], labels [batch] (float)."""
        if self.task.kind == "classes":
            return F.cross_entropy(outputs, labels.long())
        if self.task.kind == "binary":
            return F.binary_cross_entropy_with_logits(outputs.squeeze(-1), labels)
        return F.mse_loss(outputs.squeeze(-1), labels)

    def log_probabilities(self, outputs: Tensor) -> Tensor:
        """Log of each class's probability [batch, classes]; for class tasks only."""
        if self.task.kind == "binary":
            return F.logsigmoid(torch.cat([-outputs, outputs], dim=-1))
        return F.log_softmax(outputs, dim=-1)
