"""How long an epoch is: in steps, in examples of each task, or as a share of the examples there are."""

import pytest
from runs import examples, settings

from mtbert import assembly

TRAIN = {"sst": examples("sst", 100), "sts": examples("sts", 21)}


def steps(tasks: list[str], **phase) -> int:
    given = {"tasks": tasks, "sampler": {"name": "round_robin"}, "batch_size": 4, "steps_per_epoch": None, **phase}
    return assembly._sampler(settings(phase=given).phases[0], TRAIN).steps


@pytest.mark.parametrize(
    ("phase", "alone", "together"),
    [
        ({}, 25, 25 + 6),
        ({"share_of_examples": 0.5}, 13, 13 + 3),
        ({"examples_per_task": 20}, 5, 10),
        ({"examples_per_task": 20, "batch_sizes": {"sst": 1}}, 5, 10),  # as many updates, whatever a task's batch
        ({"examples_per_task": 20, "sampler": {"name": "interleaved"}}, 5, 5),
        ({"steps_per_epoch": 7, "examples_per_task": 20, "share_of_examples": 0.5}, 7, 7),
    ],
)
def test_steps_of_a_model_of_one_task_and_of_two(phase: dict, alone: int, together: int):
    assert (steps(["sst"], **phase), steps(["sst", "sts"], **phase)) == (alone, together)
