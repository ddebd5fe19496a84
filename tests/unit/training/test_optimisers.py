"""What takes weight decay, and what has a learning rate of its own."""

import torch
from models import small_model
from runs import parts, settings
from torch import nn

from mtbert.learning.weightings import WEIGHTINGS
from mtbert.training.phases import adamw
from mtbert.variants.settings import PhaseSettings

EQUAL = WEIGHTINGS.build(WEIGHTINGS.choose({"name": "equal"}), ["sst"], torch.Generator())


def phase(**changes) -> PhaseSettings:
    return settings(phase={"learning_rate": 1e-3, "weight_decay": 0.01, **changes}).phases[0]


def test_biases_and_layer_norms_take_no_weight_decay():
    model = small_model()
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decayed, kept = adamw(phase(), list(model.parameters()), [], [], EQUAL).param_groups
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.01, 0.0)
    assert {names[id(p)] for p in kept["params"]} == {
        name for name in names.values() if name.endswith(".bias") or ".LayerNorm." in name
    }
    assert len(decayed["params"]) + len(kept["params"]) == len(names)


def test_learnt_weights_of_losses_have_a_rate_of_their_own_and_no_decay():
    weighting = WEIGHTINGS.build(
        WEIGHTINGS.choose({"name": "dynamic", "learning_rate": 0.25}), ["sst"], torch.Generator()
    )
    matrix = nn.Parameter(torch.ones(1, 1))
    found = adamw(phase(), [matrix, *weighting.parameters()], [], [], weighting).param_groups
    assert [(group["lr"], group["weight_decay"]) for group in found] == [(1e-3, 0.01), (0.25, 0.0)]


def test_adapters_have_a_rate_of_their_own_where_one_is_set():
    run = parts(settings(phase={"learning_rate": 1e-3, "weight_decay": 0.01, "adapter_rate": 0.5}), 1)
    found = run.phases[0]().optimiser.param_groups
    assert [(group["lr"], group["weight_decay"]) for group in found] == [
        (1e-3, 0.01),
        (1e-3, 0.0),
        (0.5, 0.01),
        (0.5, 0.0),
    ]
    of_adapters = {id(parameter) for parameter in run.model.adapter.parameters()}
    assert {id(parameter) for group in found[2:] for parameter in group["params"]} == of_adapters


def test_heads_have_a_rate_of_their_own_where_one_is_set():
    run = parts(settings(phase={"learning_rate": 1e-3, "head_rate": 0.5}), 1)
    groups = run.phases[0]().optimiser.param_groups
    assert [group["lr"] for group in groups] == [1e-3, 1e-3, 0.5, 0.5]
    of_heads = {id(parameter) for parameter in run.model.heads.parameters()}
    assert {id(parameter) for group in groups[2:] for parameter in group["params"]} == of_heads
