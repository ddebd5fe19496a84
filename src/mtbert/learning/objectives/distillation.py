"""Distillation: a model learns from what other models predict, its teachers, and by and by from the labels.

What it does: each teacher predicts the training rows once, before training. The student's loss starts as the distance
from these predictions, and moves step by step to the distance from the labels.

Formula: loss = lambda l(y) + (1 - lambda) l(t), of which the loop computes l(y), the task's own loss; so
    term = (1 - lambda) (l(t) - l(y)), where l(t) is the mean over the batch of
    classes, yes or no: -sum_c t_c log q_c; of sets of labels its mean over the labels
    scores: (s - t)^2, on the scale of the head's own loss
    lambda = gold + (1 - gold) n / N behind n of the phase's N steps, or `gold` where it is not annealed.

Source: Clark et al. (2019), "BAM! Born-Again Multi-Task Networks for Natural Language Understanding", section 3: models
of one task each teach the shared one, "teacher annealing". Targets that are probabilities: Hinton et al. (2015),
"Distilling the Knowledge in a Neural Network", section 2, at temperature 1.

Symbols: y the labels; t `soft_labels`, the teacher's probabilities, not calibrated, or its scores; q the student's
probabilities, s its scores; lambda `share`.

Shapes: t as `soft_labels` returns it.

Mind that Clark et al. mix labels before the loss is computed. For classes that is the same; for scores it is the same
gradient, and the loss differs by lambda (1 - lambda) (y - t)^2. In a balanced task l(y) weighs rows by their class and
l(t) does not, since the teacher learnt with these weights. A training that stops early stops before lambda is 1.
"""

import torch
from pydantic import Field
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.errors import TrainingError
from mtbert.learning.objectives.base import Objective
from mtbert.models.heads.base import Head
from mtbert.models.multitask import MultitaskModel
from mtbert.settings import Section


class Settings(Section):
    """Section `distillation`; see the module's symbols.

    Attributes:
        annealed: whether lambda rises from `gold` to 1 over the phase's steps; otherwise it stays.
        gold: lambda at the first step, the share of the labels.
    """

    annealed: bool = True
    gold: float = Field(default=0.0, ge=0, lt=1)


def soft_loss(head: Head, outputs: Tensor, soft_labels: Tensor) -> Tensor:
    """Return l(t), a scalar, of outputs [batch, size] and a teacher's soft labels of the same rows."""
    if head.task.kind == "score":
        return head.squared_error(head.scores(outputs), soft_labels)
    return -(soft_labels * head.log_probabilities(outputs)).sum(dim=-1).mean()


class Distillation(Objective):
    """Moves a task's loss from the teacher's predictions to the labels."""

    settings: Settings
    learns_from_teachers = True
    changes = (*Objective.changes, "share")

    def __init__(self, settings: Settings, model: MultitaskModel, generator: torch.Generator) -> None:
        super().__init__(settings, model, generator)
        self.share = torch.tensor(settings.gold, device=generator.device)

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return what turns the task's own loss into the mixture; TrainingError where no teacher has predicted."""
        if batch.soft_labels is None:
            raise TrainingError(f"no teacher has predicted the rows of {batch.task}, which distillation learns from")
        taught = soft_loss(self.model.head(batch.task), outputs, batch.soft_labels)
        return (1 - self.share) * (taught - self.model.loss(batch, outputs))

    def after_step(self, done: float) -> None:
        """Set lambda for the next step."""
        if self.settings.annealed:
            self.share.fill_(self.settings.gold + (1 - self.settings.gold) * done)
