"""A batch in parts is the batch: the same loss, terms and gradients."""

import pytest
import torch
from models import small_batch
from runs import parts, settings

from mtbert.training import losses
from mtbert.training.objectives import OBJECTIVES

SMART = {"name": "smart", "noise": 1e-2, "step_size": 1e-1, "radius": 1e-1}


def phase_of(**changes):
    made = parts(settings(phase=changes), 1)
    (phase,) = made.phases
    return made.model.eval(), phase


def gradients(loss, phase):
    return torch.autograd.grad(3 * loss.total, phase.parameters, allow_unused=True)


@pytest.mark.parametrize("count", [2, 3, 8])  # 8 is more than there are examples
@pytest.mark.parametrize("task", ["sst", "sts"])
def test_parts_make_the_same_loss_and_gradient(task: str, count: int):
    model, phase = phase_of()
    batch = small_batch(task, rows=5)
    whole, split = losses.of_batch(model, phase, task, batch), losses.of_micro_batches(model, phase, task, batch, count)
    torch.testing.assert_close(split.total, whole.total.detach(), atol=1e-6, rtol=0, check_stride=False)
    assert split.terms.keys() == whole.terms.keys() == {task}
    for ours, theirs in zip(gradients(split, phase), gradients(whole, phase), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_parts_of_a_pair_that_is_encoded_apart_keep_both_sentences():
    batch = small_batch("sts", rows=3, sequences=2)
    first, second = batch.micro_batches(2)
    assert (first.ids, second.ids) == (("sts-0",), ("sts-1", "sts-2"))
    assert torch.equal(second.input_ids, batch.input_ids[[1, 2, 4, 5]])
    assert torch.equal(second.labels, batch.labels[1:])


def test_examples_that_are_compared_with_one_another_cannot_be_parted():
    model, phase = phase_of()
    assert losses.can_be_split(model, phase, small_batch("sst"))
    phase.objectives["simcse"] = OBJECTIVES.build({"name": "simcse"}, model, torch.Generator())
    assert not losses.can_be_split(model, phase, small_batch("sst"))
