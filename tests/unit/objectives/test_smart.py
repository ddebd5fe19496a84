"""SMART, by hand: where the noise goes in, the moving average. Its formula: tests/reference."""

import dataclasses

import pytest
import torch
from models import small_batch, small_model

from mtbert.learning.objectives import OBJECTIVES
from mtbert.tasks import COURSE


def smart(model, **options):
    return OBJECTIVES.build(OBJECTIVES.choose({"name": "smart", **options}), model, torch.Generator().manual_seed(0))


def test_a_sum_over_the_batch_is_of_classes_alone():
    model, batch = small_model().eval(), small_batch("sts")
    built = [smart(model, reduction=reduction, noise=1.0) for reduction in ("mean", "sum")]
    mean, total = (objective.term(batch, model(batch)).item() for objective in built)
    assert mean == total > 0


def test_several_labels_a_row_count_on_average_as_in_the_heads_loss(monkeypatch):
    sets = {
        count: dataclasses.replace(COURSE["sst"], several=True, classes=count, metric="micro_f1") for count in (1, 5)
    }
    first, second = torch.tensor([[0.0], [1.0]]), torch.tensor([[2.0], [1.5]])
    model = small_model()
    changes = []
    for count, task in sets.items():
        monkeypatch.setattr(model.heads["sst"], "task", task)
        changes.append(smart(model).difference("sst", first.repeat(1, count), second.repeat(1, count)).item())
    assert changes[0] == pytest.approx(changes[1]) == pytest.approx(0.40243, abs=1e-5)


def test_noise_is_behind_dropout():
    model, batch = small_model().train(), small_batch("sst")
    model.encoder.backbone.embeddings.dropout.p = 1.0  # nothing of the words is left
    noise, read = torch.rand(4, 6, 24), []
    model.encoder.layer_modules()[0].register_forward_pre_hook(lambda layer, inputs: read.append(inputs[0]))
    smart(model).noised(batch, noise)
    assert torch.equal(read[0], noise)


def test_noise_is_for_one_pass_even_if_that_fails():
    model, batch = small_model().eval(), small_batch("sst")
    before = model(batch)
    assert not torch.allclose(smart(model).noised(batch, torch.ones(4, 6, 24)), before)
    with pytest.raises(RuntimeError, match="must match the size"):
        smart(model).noised(batch, torch.ones(4, 7, 24))
    assert torch.equal(model(batch), before)


def test_noise_is_found_where_the_encoder_computes_in_bf16():
    model, batch = small_model().eval(), small_batch("sst")
    objective = smart(model)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = model(batch)
        worst = objective.worst_noise(batch, outputs)
        changed = objective.difference("sst", objective.noised(batch, worst), outputs)
    assert worst.dtype == torch.float32
    assert worst.abs().amax(dim=-1).flatten().tolist() == pytest.approx([1.0] * 24, rel=0.1)
    assert changed > 0


def test_the_average_moves_by_the_momentum():
    model = small_model()
    objective = smart(model, momentum=0.75, momentum_later=0.5)
    weight = model.heads["sts"].linear.weight
    before = weight.detach().clone()
    with torch.no_grad():
        weight += 1.0
    objective.after_step(done=0.1)
    torch.testing.assert_close(objective.average["heads.sts.linear.weight"], before + 0.25)
    objective.after_step(done=0.11)  # later half of the way that is left, 0.75
    torch.testing.assert_close(objective.average["heads.sts.linear.weight"], before + 0.625)


def test_the_bregman_term_is_the_distance_to_the_average_model():
    model, batch = small_model().eval(), small_batch("sts")
    objective = smart(model, weight=0.0, bregman=2.0)
    assert objective.term(batch, model(batch)).item() == 0.0
    with torch.no_grad():
        model.heads["sts"].linear.bias += 0.5  # every score moves by one half: 2 * 0.25
    assert objective.term(batch, model(batch)).item() == pytest.approx(0.5, rel=1e-4)


def test_finding_the_noise_leaves_no_gradient_behind():
    model, batch = small_model(), small_batch("qqp")
    smart(model).worst_noise(batch, model(batch))
    assert all(p.grad is None for p in model.parameters())


def test_only_what_is_trained_is_averaged():
    model = small_model()
    model.train_only(["heads"])
    assert all(name.startswith("heads.") for name in smart(model).average)
