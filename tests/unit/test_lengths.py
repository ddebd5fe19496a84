"""How long an epoch is, as settings write it and as steps of a task."""

import pytest

from mtbert.variants.settings import Length

FORMS = (
    "all", "100 steps", "1000 examples of each task", "0.5 of all examples",
    "15 steps + 0.5 a class + 0.25 passes of each task",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_a_length_is_stated_as_it_was_written(text: str):
    assert Length.read(text).dump() == text


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("all", 10),  # of 77 classes, and 10 batches of 32
        ("64 examples of each task", 2),
        ("0.5 of all examples", 5),
        ("15 steps + 0.5 a class + 0.25 passes of each task", 56),  # 15 + 38.5 + 2.5
        ("0 steps + 0 a class + 0.01 passes of each task", 1),
    ],
)
def test_a_task_has_so_many_batches_in_an_epoch(text: str, turns: int):
    assert Length.read(text).turns(77, 10, 32) == turns


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("all", "0.5 of all examples"),
        ("0.5 of all examples", "0.25 of all examples"),
        ("100 steps", "50 steps"),
        ("1 steps", "1 steps"),
        ("64 examples of each task", "32 examples of each task"),
        ("15 steps + 0.5 a class + 0.25 passes of each task", "7.5 steps + 0.25 a class + 0.125 passes of each task"),
    ],
)
def test_half_of_a_length(text: str, half: str):
    assert Length.read(text).times(0.5).dump() == half
