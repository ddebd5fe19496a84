"""Kinds of training, and the section `search`."""

import pytest

from mtbert.plan.rates import kind_of, of_phase


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
def test_what_is_trained_is_one_of_three_kinds(trainable: list[str], kind: str) -> None:
    assert kind_of(trainable) == kind


def test_a_part_that_is_frozen_again_does_not_count() -> None:
    assert of_phase({"trainable": ["encoder", "heads"], "frozen": ["encoder"]}) == "heads"
    assert of_phase({"trainable": ["encoder", "heads"], "frozen": ["layer_1"]}) == "encoder"
