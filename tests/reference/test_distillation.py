"""Distillation beside torch's own losses, and beside the mixture of labels that Clark et al. (2019) have."""

import pytest
import torch
import torch.nn.functional as F

from mtbert.learning.objectives.distillation import soft_loss
from mtbert.models.heads.linear import LinearHead, Settings
from mtbert.tasks import COURSE, Task
from mtbert.training.teaching import soft_labels

OUTPUTS = torch.tensor([[0.2, -1.0, 0.5, 2.0, 0.1], [1.5, 0.0, -0.3, 0.4, -2.0]], requires_grad=True)
TEACHERS = torch.tensor([[1.0, 0.3, -0.5, 0.8, 0.0], [-1.0, 0.7, 2.0, 0.1, 0.6]])
LABELS = torch.tensor([3.0, 0.0])


def head(task: Task) -> LinearHead:
    return LinearHead(Settings(), task, 4, 1)


def gradient(loss: torch.Tensor) -> torch.Tensor:
    (found,) = torch.autograd.grad(loss, OUTPUTS)
    return found


def test_classes_have_torchs_cross_entropy_with_probabilities_and_the_gradient_of_its_divergence():
    sst = head(COURSE["sst"])
    ours = soft_loss(sst, OUTPUTS, soft_labels(sst, TEACHERS))
    torch.testing.assert_close(ours, F.cross_entropy(OUTPUTS, TEACHERS.softmax(dim=-1)))
    divergence = F.kl_div(OUTPUTS.log_softmax(dim=-1), TEACHERS.softmax(dim=-1), reduction="batchmean")
    torch.testing.assert_close(gradient(ours), gradient(divergence))


@pytest.mark.parametrize(("several", "size"), [(False, 1), (True, 5)])
def test_yes_or_no_and_sets_have_torchs_binary_cross_entropy(several: bool, size: int):
    of_kind = head(Task("mine", max(size, 2), ("text",), "label", "accuracy", several=several))
    outputs, teachers = OUTPUTS[:, :size], TEACHERS[:, :size]
    ours = soft_loss(of_kind, outputs, soft_labels(of_kind, teachers))
    torch.testing.assert_close(ours, F.binary_cross_entropy_with_logits(outputs, teachers.sigmoid()))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_mixture_of_losses_has_the_gradient_of_the_loss_of_a_mixture(share: float):
    """Clark et al. mix the labels, here one-hot, with what the teacher predicts, and compute one loss."""
    sst, sts = head(COURSE["sst"]), head(COURSE["sts"])
    one_hot = F.one_hot(LABELS.long(), 5)
    mixed = share * one_hot + (1 - share) * TEACHERS.softmax(dim=-1)
    ours = share * sst.loss(OUTPUTS, LABELS) + (1 - share) * soft_loss(sst, OUTPUTS, soft_labels(sst, TEACHERS))
    torch.testing.assert_close(gradient(ours), gradient(F.cross_entropy(OUTPUTS, mixed)))
    outputs, teachers = OUTPUTS[:, :1], TEACHERS[:, :1]
    mixed = share * LABELS + (1 - share) * teachers.squeeze(-1)
    ours = share * sts.loss(outputs, LABELS) + (1 - share) * soft_loss(sts, outputs, soft_labels(sts, teachers))
    torch.testing.assert_close(gradient(ours), gradient(F.mse_loss(outputs.squeeze(-1), mixed)))
