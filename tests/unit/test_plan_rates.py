"""Kinds of training, and the section `search`."""

import pytest

from mtbert.plan.rates import kind_of, of_phase, settled
from mtbert.schedules import SCHEDULES


@pytest.mark.parametrize(
    ("trainable", "kind"),
    [
        (["encoder", "features", "adapters", "connector", "heads"], "encoder"),
        (["layer_12", "heads"], "encoder"),
        (["attention"], "encoder"),
        (["adapters", "heads", "pooler", "output_norms"], "adapters"),
        (["connector", "heads"], "adapters"),
        (["output_norms", "heads"], "adapters"),
        (["biases", "heads"], "adapters"),
        (["heads"], "heads"),
        (["heads", "pooler"], "heads"),
    ],
)
def test_what_is_trained_and_the_schedule_make_the_kind(trainable: list[str], kind: str) -> None:
    assert kind_of(trainable, "slanted_triangular") == kind
    assert kind_of(trainable, "constant") == f"{kind}_constant"


@pytest.mark.parametrize("name", [*SCHEDULES])
def test_a_schedule_that_starts_with_the_full_rate_makes_a_kind_of_its_own(name: str) -> None:
    first = SCHEDULES.build({"name": name}).factor(0, 100)
    assert kind_of(["heads"], name) == ("heads_constant" if first == 1 else "heads")


def test_a_part_that_is_frozen_again_does_not_count() -> None:
    phase = {"trainable": ["encoder", "heads"], "schedule": {"name": "slanted_triangular", "warmup": 0.1}}
    assert of_phase({**phase, "frozen": ["encoder"]}) == "heads"
    assert of_phase({**phase, "frozen": ["layer_1"]}) == "encoder"


def test_where_no_rate_is_stated_for_a_constant_schedule_that_of_the_others_holds() -> None:
    phase = {"trainable": ["heads"], "schedule": "constant", "learning_rate": 1e-5}
    rest = {"trainable": ["heads"], "schedule": "constant"}
    assert settled({**phase, "learning_rates": {"encoder_constant": 1e-3}}) == {**rest, "learning_rate": 1e-5}
    assert settled({**phase, "learning_rates": {"heads": 1e-3}}) == {**rest, "learning_rate": 1e-3}
    both = {"heads": 1e-3, "heads_constant": 1e-4}
    assert settled({**phase, "learning_rates": both}) == {**rest, "learning_rate": 1e-4}
