"""How long an epoch is: in steps, in examples of each task, or as a share of the examples there are."""

import functools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest
from runs import examples, settings

from mtbert import assembly
from mtbert.plan import resolve
from mtbert.plan.layers import over
from mtbert.plan.params import Params
from mtbert.reporting import claims
from mtbert.reporting.evidence import tasks_of
from mtbert.reporting.fairness import Conduct, unequal
from mtbert.settings import PhaseSettings

ROOT = Path(__file__).parents[2]
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
        ({"steps_per_epoch": 7}, 7, 7),
        ({"rows": 30}, 8, 8 + 6),  # of the 100 and the 21 that there are
    ],
)
def test_steps_of_a_model_of_one_task_and_of_two(phase: dict, alone: int, together: int):
    assert (steps(["sst"], **phase), steps(["sst", "sts"], **phase)) == (alone, together)


def test_two_lengths_of_one_epoch_are_refused():
    with pytest.raises(
        pydantic.ValidationError, match="steps_per_epoch and share_of_examples all set how long an epoch"
    ):
        settings(phase={"steps_per_epoch": 7, "share_of_examples": 0.5})


def test_a_length_in_a_stronger_layer_takes_the_place_of_any_other():
    weak = {"steps_per_epoch": 7, "epochs": 2}
    assert over(weak, {"examples_per_task": 9}) == {"examples_per_task": 9, "epochs": 2}
    assert over({"share_of_examples": 0.5}, {"steps_per_epoch": "all"}) == {"steps_per_epoch": "all"}
    assert over(weak, {"examples_per_task": None}) == weak


EVERY = claims.load()
SIZES = {"sst": 8544, "qqp": 141498, "sts": 6040, "cfimdb": 1701, "snli_as_qqp": 366_000, "cfimdb_as_sst": 1701}
PARTS = [
    pytest.param(profile, part, id=f"{profile}-{name}-{number}")
    for profile in ("sample", "laptop")
    for name, claim in EVERY.claims.items()
    for number, part in enumerate(claim.parts)
    if not part.confounded
]


@functools.cache
def params(profile: str) -> Params:
    return Params(ROOT / "params.yaml").put(("profile",), profile)


@functools.cache
def epoch(profile: str, variant: str) -> tuple[int, int, frozenset[str]]:
    """Updates and examples of the first epoch of a variant, and its tasks."""
    document, _ = resolve.variant(params(profile), variant)
    phase = PhaseSettings(**document["phases"][0])
    train: Any = {task: range(SIZES[task]) for task in phase.tasks}
    groups = assembly._sampler(phase, train).groups(1, np.random.default_rng(0))
    seen = sum(phase.batch_sizes.get(task, phase.batch_size) for group in groups for task in group)
    return len(groups), seen, frozenset(document["tasks"])


def for_each_task(profile: str, side: tuple[str, ...]) -> tuple[float, float]:
    """Updates and examples of an epoch of the variants that make a side, over the number of their tasks."""
    updates, seen, tasks = zip(*(epoch(profile, name) for name in side), strict=True)
    count = len(frozenset().union(*tasks))
    return sum(updates) / count, sum(seen) / count


@pytest.mark.parametrize(("profile", "part"), PARTS)
def test_both_sides_of_a_claim_make_as_many_updates_for_a_task_or_see_as_many_examples(profile: str, part: claims.Part):
    if part.ours[0] in params(profile).get("ensembles"):
        return  # a vote trains nothing of its own
    ours, other = for_each_task(profile, part.ours), for_each_task(profile, part.other)
    assert ours[0] == other[0] or ours[1] == other[1]


@functools.cache
def conduct(variant: str) -> Conduct:
    """What a variant's training under `laptop` takes, of one seed."""
    document, _ = resolve.variant(params("laptop"), variant)
    updates, seen = 0, Counter[str]()
    for phase in (PhaseSettings(**one) for one in document["phases"]):
        train: Any = {task: range(SIZES[task]) for task in phase.tasks}
        sampler, generator = assembly._sampler(phase, train), np.random.default_rng(0)
        for group in (group for epoch in range(phase.epochs) for group in sampler.groups(epoch + 1, generator)):
            updates += 1
            seen.update({task: phase.batch_sizes.get(task, phase.batch_size) for task in group})
    return Conduct({}, updates=updates, examples=dict(seen))


def members(side: tuple[str, ...]) -> list[str]:
    ensembles = params("laptop").get("ensembles")
    return [name for row in side for name in (ensembles[row]["members"] if row in ensembles else [row])]


@pytest.mark.parametrize("part", [one.values[1] for one in PARTS if one.values[0] == "laptop"])
def test_the_budgets_of_laptop_keep_no_claim_from_a_verdict(part: claims.Part):
    ours, other = ([conduct(name) for name in members(side)] for side in (part.ours, part.other))
    assert unequal(ours, other, tasks_of(part.metric), part.differs) == []


@pytest.mark.parametrize("part", [one.values[1] for one in PARTS if one.values[0] == "laptop"])
def test_variants_of_claims_about_qqp_score_all_of_its_dev_rows_in_laptop(part: claims.Part):
    if part.metric == "qqp":
        scored = {resolve.variant(params("laptop"), name)[0]["run"]["scored_rows"] for side in (part.ours, part.other)
                  for name in members(side)}  # fmt: skip
        assert scored == {"all"}


def test_budgets_that_differ_by_more_than_the_claim_says_are_seen():
    ours, other = ([conduct(name)] for name in ("mypal-annealed", "mypal-pals"))
    assert unequal(ours, other, ["sst"], ["examples"]) == []
    assert unequal(ours, other, ["sst"], []) == ["2,752 and 6,912 examples of SST-5"]
