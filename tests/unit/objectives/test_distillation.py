"""Distillation by hand: what each kind of task learns from a teacher, and how the labels take over."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from models import small_batch, small_model
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.errors import TrainingError
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.objectives.base import Objective
from mtbert.learning.objectives.distillation import soft_loss
from mtbert.models.heads.linear import LinearHead, Settings
from mtbert.tasks import Task

HALF, THIRD = 0.6931472, 1.0986123  # minus the logarithm of one half, and of one third
SURE, UNSURE = 0.3132617, 1.3132617  # minus the logarithm of the probabilities of a logit of 1, and of the other answer


def head(classes: int, **about: Any) -> LinearHead:
    task = Task("mine", classes, ("text",), "label", "accuracy", **about)
    return LinearHead(Settings(output_bias="scaled"), task, 4, 1)


@pytest.mark.parametrize(
    ("about", "outputs", "soft_labels", "loss"),
    [
        ({"classes": 3}, [[0.0, 0.0, 0.0]] * 2, [[1.0, 0.0, 0.0], [0.3, 0.3, 0.4]], THIRD),
        ({"classes": 3}, [[1.0, 0.0, -99.0]], [[0.25, 0.75, 0.0]], 0.25 * SURE + 0.75 * UNSURE),
        ({"classes": 2}, [[1.0]], [[0.25, 0.75]], 0.25 * UNSURE + 0.75 * SURE),
        (
            {"classes": 2, "several": True},
            [[0.0, 1.0]],
            [[[0.5, 0.5], [0.25, 0.75]]],
            (HALF + 0.25 * UNSURE + 0.75 * SURE) / 2,
        ),
        # The middle of 0 to 8 is 4, and a unit is 2: scores 4 and 6, each 1 from the teacher's, or half a unit.
        ({"classes": 1, "lowest": 0.0, "highest": 8.0}, [[0.0], [1.0]], [5.0, 5.0], 0.25),
    ],
)
def test_the_loss_from_a_teacher_by_kind(about: dict[str, Any], outputs: list, soft_labels: list, loss: float):
    found = soft_loss(head(**about), torch.tensor(outputs), torch.tensor(soft_labels))
    assert found.item() == pytest.approx(loss, rel=1e-6)


def taught(task: str, soft_labels: Tensor, **options: object) -> tuple[Objective, Batch, Tensor, float, float]:
    """An objective, a batch with soft labels, its outputs, and the losses from the teacher and from the labels."""
    model = small_model().eval()
    objective = OBJECTIVES.build(OBJECTIVES.choose({"name": "distillation", **options}), model, torch.Generator())
    batch = replace(small_batch(task), soft_labels=soft_labels)
    outputs = model(batch)
    from_teacher = soft_loss(model.head(task), outputs, soft_labels).item()
    return objective, batch, outputs, from_teacher, model.loss(batch, outputs).item()


def mixture(objective: Objective, batch: Batch, outputs: Tensor) -> float:
    """The loss that is trained on, as the loop adds it up."""
    return (objective.model.loss(batch, outputs) + objective.term(batch, outputs)).item()


@pytest.mark.parametrize(("task", "soft_labels"), [("sst", torch.full((4, 5), 0.2)), ("sts", torch.full((4,), 2.5))])
def test_the_loss_goes_from_the_teachers_to_the_labels(task: str, soft_labels: Tensor):
    objective, batch, outputs, from_teacher, from_labels = taught(task, soft_labels)
    assert from_teacher != pytest.approx(from_labels, rel=0.01)
    assert mixture(objective, batch, outputs) == pytest.approx(from_teacher, rel=1e-5)
    objective.after_step(0.25)
    assert mixture(objective, batch, outputs) == pytest.approx(0.75 * from_teacher + 0.25 * from_labels, rel=1e-5)
    objective.after_step(1.0)
    assert mixture(objective, batch, outputs) == pytest.approx(from_labels, rel=1e-5)


@pytest.mark.parametrize(("annealed", "share"), [(True, 0.7), (False, 0.4)])
def test_the_labels_share_starts_at_gold_and_stays_there_where_it_is_not_annealed(annealed: bool, share: float):
    objective, *_ = taught("sst", torch.full((4, 5), 0.2), annealed=annealed, gold=0.4)
    assert objective.share.item() == pytest.approx(0.4)
    objective.after_step(0.5)
    assert objective.share.item() == pytest.approx(share)


def test_the_share_is_part_of_a_checkpoint():
    objective, *_ = taught("sst", torch.full((4, 5), 0.2))
    objective.after_step(0.5)
    other, *_ = taught("sst", torch.full((4, 5), 0.2))
    other.restore(objective.state())
    assert other.share.item() == 0.5


def test_rows_that_no_teacher_predicted_are_refused():
    objective, batch, outputs, *_ = taught("sst", torch.full((4, 5), 0.2))
    with pytest.raises(TrainingError, match="no teacher has predicted the rows of sst, which distillation learns from"):
        objective.term(replace(batch, soft_labels=None), outputs)
