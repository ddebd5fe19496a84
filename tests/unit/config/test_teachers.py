"""Which models can teach a variant."""

from collections.abc import Callable
from typing import Any

import pytest
from unit.config.conftest import edited

from mtbert.config import checks, resolve

SINGLE = ["own-single-sst", "own-single-qqp", "own-single-sts"]
OWN = ("profile", "own")
ALL = ("variants", [*SINGLE, "own-distilled"])
STUDENT = "catalog.own-distilled"


def test_the_way_of_a_study_learns_from_one_model_per_task_by_distillation(planned: Callable[..., dict[str, Any]]):
    plan = planned(OWN, ALL)
    assert plan["own-distilled"]["teachers"] == SINGLE
    options = plan["own-distilled"]["phases"][0]["objectives"]
    assert options == [{"name": "distillation", "annealed": True, "gold": 0.0}]
    assert "teachers" not in plan["own-single-sst"]


def test_it_is_the_shared_model_but_for_its_loss(planned: Callable[..., dict[str, Any]]):
    plan = planned(OWN, ("variants", [*SINGLE, "own-shared", "own-distilled"]))
    shared, distilled = plan["own-shared"], plan["own-distilled"]
    assert distilled["model"] == shared["model"]
    (ours,), (theirs,) = distilled["phases"], shared["phases"]
    assert {key for key in ours if ours[key] != theirs[key]} == {"objectives"}


@pytest.mark.parametrize(
    "variants", [["own-distilled"], ["own-distilled", *SINGLE], [*SINGLE[:2], "own-distilled", SINGLE[2]]]
)
def test_teachers_are_listed_before_the_student(refused: Callable[..., list[str]], variants: list[str]):
    late = ", ".join([name for name in SINGLE if name not in variants[: variants.index("own-distilled")]])
    assert refused(OWN, ("variants", variants)) == [
        f"variants.own-distilled.teachers: own-distilled learns from {late}, which `variants` does not list before it; "
        "list each teacher there, before own-distilled"
    ]


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ([(f"{STUDENT}.teachers", SINGLE[:2])], "no teacher of own-distilled learns sts; allowed: one teacher a task"),
        (
            [("catalog.again", {"tasks": ["sst"], "preset": None}), (f"{STUDENT}.teachers", [*SINGLE, "again"])],
            "own-single-sst and again both teach sst; allowed: one teacher a task",
        ),
        (
            [(f"{STUDENT}.tasks", ["sst", "qqp"])],
            "own-single-sts learns sts, which own-distilled does not; allowed: tasks sst, qqp",
        ),
        (
            [("catalog.own-single-sst.training.spared", 0.05)],
            "own-single-sst trains on rows that own-distilled holds out: training.spared is 0.05 there and 0.1 here; "
            "allowed: at least 0.1 there",
        ),
        (
            [("catalog.own-single-sst.phases", [{"epochs": 1}, {"epochs": 1, "spared": 0.05}])],
            "own-single-sst trains on rows that own-distilled holds out: training.spared is 0.05 there and 0.1 here; "
            "allowed: at least 0.1 there",
        ),
        (
            [("catalog.own-single-sst.run.selection", "whole")],
            "run.keep of own-single-sst is best, which is chosen on dev; allowed: last, or run.selection: spared",
        ),
        (
            [
                ("catalog.own-single-sst.run.selection", "half"),
                ("catalog.own-single-sst.training.schedule", "reduce_on_plateau"),
            ],
            "the schedule of own-single-sst watches dev; allowed: another, or run.selection: spared",
        ),
        ([("catalog.own-single-sst.phases", [])], "own-single-sst is not trained; allowed: teachers that are"),
        (
            [(f"{STUDENT}.training.supervised", False)],
            "the loss moves from the teachers to the labels; allowed with it: training.supervised: true",
        ),
    ],
    ids=[
        "a task without",
        "two",
        "another task",
        "spared rows",
        "spared rows of a phase",
        "dev",
        "schedule",
        "untrained",
        "unsupervised",
    ],
)
def test_what_cannot_teach_is_refused(edits: list, told: str):
    assert told in messages(edits)


def messages(edits: list) -> list[str]:
    """What is told of a student and teachers, without the checks of other things that come first."""
    names = [*SINGLE, "again", "own-distilled"]
    params = edited(OWN, *edits)
    names = [name for name in names if params.get("catalog", name)]
    params = params.put(("variants",), names)
    selected = {}
    for name in names:
        document, faults = resolve.variant(params, name)
        assert document, faults
        selected[name] = document
    return [fault.message for fault in checks.selection_faults(params, selected)]


def test_teachers_that_hold_out_more_rows_than_the_student_may_teach():
    assert messages([(f"catalog.{name}.training.spared", 0.2) for name in SINGLE]) == []


def test_an_objective_that_learns_from_teachers_needs_them(refused: Callable[..., list[str]]):
    edits = [("catalog.own-shared.uses", ["distillation"]), ("variants", ["own-shared"])]
    (told,) = refused(OWN, *edits)
    assert told.endswith("distillation learns from other models; allowed with it: `teachers`, a list of variants")


def test_teachers_need_an_objective_that_learns_from_them(refused: Callable[..., list[str]]):
    edits = [("catalog.own-shared.teachers", SINGLE), ("variants", [*SINGLE, "own-shared"])]
    (told,) = refused(OWN, *edits)
    assert told.endswith(
        "no phase of own-shared learns from its teachers; allowed: `uses` with distillation, or no teachers"
    )


def test_an_unknown_teacher_is_refused(refused: Callable[..., list[str]]):
    (told,) = refused(OWN, ALL, (f"{STUDENT}.teachers", ["own-singel-sst"]))
    assert "unknown variant 'own-singel-sst'; did you mean own-single-sst?" in told
