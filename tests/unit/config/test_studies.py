"""Variants that are written once for any tasks."""

from collections.abc import Callable
from typing import Any

from unit.config.conftest import PARAMS

from mtbert.config import studies

ENTRIES = {"single": {"tasks": "each", "row": "One"}, "shared": {"tasks": "all"}, "plain": {"tasks": ["rel"]}}
TASKS = ["is_urgent", "rel"]


def test_an_entry_of_each_task_becomes_one_for_each_and_one_of_all_has_all():
    assert studies.expanded(ENTRIES, TASKS) == {
        "single-is-urgent": {"tasks": ["is_urgent"], "row": "One"},
        "single-rel": {"tasks": ["rel"], "row": "One"},
        "shared": {"tasks": ["is_urgent", "rel"]},
        "plain": {"tasks": ["rel"]},
    }


def test_members_that_name_an_entry_of_each_task_are_its_variants():
    ensembles = {"joined": {"members": ["single", "plain"], "merge": "mean"}, "faulty": {"members": None}}
    assert studies.members(ensembles, ENTRIES, TASKS) == {
        "joined": {"members": ["single-is-urgent", "single-rel", "plain"], "merge": "mean"},
        "faulty": {"members": None},
    }


def test_every_way_of_ones_own_study_sees_as_many_examples_of_each_task_but_for_the_samplers(
    planned: Callable[..., dict[str, Any]],
):
    names = [name for name in PARAMS.get("catalog") if name.startswith("own-")]
    for profile in ("sample", "laptop", "paper"):
        plan = planned(("profile", profile), ("variants", names))
        phases = {name: plan[name]["phases"] for name in names}
        budgets = {
            tuple(phase[key] for key in ("epochs", "examples_per_task", "batch_size", "spared"))
            for of in phases.values()
            for phase in of
        }
        assert len(budgets) == 1
        samplers = {name: of[0]["sampler"]["name"] for name, of in phases.items()}
        assert {name for name in names if samplers[name] != "round_robin"} == {"own-annealed", "own-proportional"}
        assert {plan[name]["run"]["keep"] for name in names} == {"last"}
        ensembles = plan["catalog"]["ensembles"]
        assert {name for name, of in ensembles.items() if of["selected"] and of["paper"] == "own"} == {
            "own-merged-mean", "own-merged-arithmetic", "own-merged-ties",
        }  # fmt: skip


def test_a_fault_of_a_variant_that_an_entry_makes_is_told_at_the_entry():
    file, line, key = PARAMS.find(("catalog", "own-single-sst", "tasks"))
    assert (file.name, key) == ("own.yaml", "variants.own-single.tasks")
    assert "own-single" in file.read_text().splitlines()[line - 1]
