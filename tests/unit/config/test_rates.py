"""Kinds of training."""

from typing import Any

import pytest

from mtbert.config.rates import of_phase, with_rate
from mtbert.learning.schedules import SCHEDULES

CONSTANT = SCHEDULES.choose({"name": "constant"})
WARMED_UP = SCHEDULES.choose({"name": "slanted_triangular", "warmup": 0.1})


@pytest.mark.parametrize(
    ("trainable", "kind"),
    [
        (["encoder", "features", "adapters", "connector", "heads"], "encoder"),
        (["layer_12", "heads"], "encoder"),
        (["attention"], "encoder"),
        (["adapters", "heads", "pooler", "output_norms"], "adapters"),
        (["biases", "heads"], "adapters"),
        (["heads"], "heads"),
        (["heads", "pooler"], "heads"),
    ],
)
def test_what_is_trained_and_how_it_starts_make_the_kind(trainable: list[str], kind: str) -> None:
    assert of_phase({"trainable": trainable, "schedule": WARMED_UP}) == kind
    assert of_phase({"trainable": trainable, "schedule": CONSTANT}) == f"{kind}_constant"


@pytest.mark.parametrize(
    ("schedule", "kind"),
    [
        ({"name": "reduce_on_plateau", "factor": 0.5}, "heads_constant"),
        ({"name": "slanted_triangular", "warmup": 0.0}, "heads_constant"),
    ],
)
def test_a_schedule_is_asked_for_its_first_step(schedule: dict[str, Any], kind: str) -> None:
    assert of_phase({"trainable": ["heads"], "schedule": SCHEDULES.choose(schedule)}) == kind


def test_where_no_part_is_named_the_whole_model_is_trained() -> None:
    assert of_phase({"trainable": None, "schedule": CONSTANT}) == "encoder_constant"


def test_a_part_that_is_frozen_again_does_not_count() -> None:
    phase = {"trainable": ["encoder", "heads"], "schedule": WARMED_UP}
    assert of_phase({**phase, "frozen": ["encoder"]}) == "heads"
    assert of_phase({**phase, "frozen": ["layer_1"]}) == "encoder"


def test_where_no_rate_is_stated_for_a_constant_schedule_that_of_the_others_holds() -> None:
    rest = {"trainable": ["heads"], "schedule": CONSTANT}
    others = {**rest, "learning_rate": {"others": 1e-5, "encoder_constant": 1e-3}}
    assert with_rate(others) == {**rest, "learning_rate": 1e-5}
    assert with_rate({**rest, "learning_rate": {"others": 1e-5, "heads": 1e-3}}) == {**rest, "learning_rate": 1e-3}
    both = {"heads": 1e-3, "heads_constant": 1e-4}
    assert with_rate({**rest, "learning_rate": both}) == {**rest, "learning_rate": 1e-4}


def test_a_rate_that_is_one_number_holds_for_every_kind() -> None:
    phase = {"trainable": ["heads"], "schedule": CONSTANT, "learning_rate": 1e-5}
    assert with_rate(phase) == phase
