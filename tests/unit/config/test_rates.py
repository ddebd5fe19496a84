"""Kinds of training, and the section `search`."""

from typing import Any

import pytest

from mtbert.config.rates import kind_of, of_phase, settled, starts_at_full_rate
from mtbert.registry import Technique
from mtbert.settings import NoOptions
from mtbert.training.schedules import SCHEDULES
from mtbert.training.schedules.base import Schedule


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
def test_what_is_trained_and_how_it_starts_make_the_kind(trainable: list[str], kind: str) -> None:
    assert kind_of(trainable, at_full_rate=False) == kind
    assert kind_of(trainable, at_full_rate=True) == f"{kind}_constant"


@pytest.mark.parametrize(
    ("schedule", "full"),
    [
        ({"name": "constant"}, True),
        ({"name": "reduce_on_plateau", "factor": 0.5}, True),
        ({"name": "slanted_triangular", "warmup": 0.1}, False),
        ({"name": "slanted_triangular", "warmup": 0.001}, False),
        ({"name": "slanted_triangular", "warmup": 0.0}, True),
    ],
)
def test_a_schedule_is_asked_for_its_first_step(schedule: dict[str, Any], full: bool) -> None:
    assert starts_at_full_rate(schedule) is full


class HalfAtFirst(Schedule):
    """A schedule of a user's own."""

    def factor(self, step: int, steps: int) -> float:
        """Half of the rate for the first half."""
        return 0.5 if 2 * step < steps else 1.0


def test_so_is_a_schedule_of_a_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEDULES._techniques, "half", Technique(NoOptions, HalfAtFirst))
    assert not starts_at_full_rate({"name": "half"})


def test_a_schedule_with_a_faulty_option_is_left_to_the_check_of_its_section() -> None:
    assert not starts_at_full_rate({"name": "slanted_triangular", "warmup": 2})


def test_a_part_that_is_frozen_again_does_not_count() -> None:
    phase = {"trainable": ["encoder", "heads"], "schedule": {"name": "slanted_triangular", "warmup": 0.1}}
    assert of_phase({**phase, "frozen": ["encoder"]}) == "heads"
    assert of_phase({**phase, "frozen": ["layer_1"]}) == "encoder"


def test_where_no_rate_is_stated_for_a_constant_schedule_that_of_the_others_holds() -> None:
    rest = {"trainable": ["heads"], "schedule": {"name": "constant"}}
    phase = {**rest, "learning_rate": 1e-5}
    assert settled({**phase, "learning_rates": {"encoder_constant": 1e-3}}) == {**rest, "learning_rate": 1e-5}
    assert settled({**phase, "learning_rates": {"heads": 1e-3}}) == {**rest, "learning_rate": 1e-3}
    both = {"heads": 1e-3, "heads_constant": 1e-4}
    assert settled({**phase, "learning_rates": both}) == {**rest, "learning_rate": 1e-4}
