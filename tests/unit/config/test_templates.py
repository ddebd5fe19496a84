"""Variants that are written once for any tasks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from architectures import theirs
from unit.config.conftest import PARAMS

from mtbert import files
from mtbert.config import planning, templates
from mtbert.errors import SettingsError
from mtbert.models.adapters import ADAPTERS, Shape

ENTRIES = {"single": {"tasks": "each", "row": "One"}, "shared": {"tasks": "all"}, "plain": {"tasks": ["rel"]}}
TASKS = ["is_urgent", "rel"]


def test_an_entry_of_each_task_becomes_one_for_each_and_one_of_all_has_all():
    assert templates.expand(ENTRIES, TASKS) == {
        "single-is-urgent": {"tasks": ["is_urgent"], "row": "One"},
        "single-rel": {"tasks": ["rel"], "row": "One"},
        "shared": {"tasks": ["is_urgent", "rel"]},
        "plain": {"tasks": ["rel"]},
    }


def test_members_that_name_an_entry_of_each_task_are_its_variants():
    ensembles = {"joined": {"members": ["single", "plain"], "merge": "mean"}, "faulty": {"members": None}}
    assert templates.members(ensembles, ENTRIES, TASKS) == {
        "joined": {"members": ["single-is-urgent", "single-rel", "plain"], "merge": "mean"},
        "faulty": {"members": None},
    }


def test_teachers_that_name_an_entry_of_each_task_are_its_variants():
    taught = {"taught": {"tasks": "all", "teachers": ["single", "plain"]}, "faulty": {"teachers": "single"}}
    expanded = templates.expand(ENTRIES | taught, TASKS)
    assert expanded["taught"]["teachers"] == ["single-is-urgent", "single-rel", "plain"]
    assert expanded["faulty"]["teachers"] == "single"


def test_every_way_of_ones_own_study_sees_as_many_examples_of_each_task_but_for_the_samplers(
    planned: Callable[..., dict[str, Any]],
):
    names = [name for name in PARAMS.get("catalog") if name.startswith("own-")]
    plan = planned(("profile", "own"), ("variants", names))
    phases = {name: plan[name]["phases"] for name in names}
    budgets = {
        tuple(phase[key] for key in ("epochs", "epoch_length", "batch_size", "spared"))
        for of in phases.values()
        for phase in of
    }
    assert len(budgets) == 1
    samplers = {name: of[0]["sampler"]["name"] for name, of in phases.items()}
    assert {name for name in names if samplers[name] != "round_robin"} == {"own-annealed", "own-proportional"}
    assert {plan[name]["run"]["selection"] for name in names} == {"spared"}
    ensembles = plan["catalog"]["ensembles"]
    assert {name for name, of in ensembles.items() if of["selected"] and of["paper"] == "own"} == {
        "own-merged-mean", "own-merged-arithmetic", "own-merged-ties",
    }  # fmt: skip


def test_ways_of_a_study_are_trained_with_their_own_recipe_alone():
    with pytest.raises(SettingsError, match="own-lora is trained with profile own alone, got laptop; `mtbert study"):
        planning.plan(PARAMS.put(("profile",), "laptop").put(("variants",), ["own-lora"]))


@pytest.mark.parametrize(
    ("edits", "width", "layers", "dim"),
    [
        ([("encoder.name", "tiny")], 192, 2, 428),
        ([("encoder.name", "minilm-4")], 384, 4, 214),
        ([("encoder.name", "bert-base-uncased")], 768, 12, 98),
        ([("encoder.name", "modernbert-base")], 768, 22, 90),
        ([("encoder.name", "minilm-4"), ("pals.dim", 276), ("pals.layers", "top_half")], 384, 4, 218),
        ([("encoder.name", "FOLDER")], 24, 5, 2601),
    ],
)
def test_low_rank_layers_of_a_study_have_as_many_weights_as_its_pals(
    planned: Callable[..., dict[str, Any]],
    tmp_path: Path,
    edits: list[tuple[str, Any]],
    width: int,
    layers: int,
    dim: int,
):
    config = theirs("modernbert").config.to_dict()
    files.write_json(tmp_path / "config.json", config)
    for name in ("model.safetensors", "tokenizer.json"):  # which the plan digests alone
        (tmp_path / name).touch()
    edits = [(key, f"{tmp_path}/" if value == "FOLDER" else value) for key, value in edits]
    plan = planned(("profile", "own"), *edits, ("variants", ["own-pals", "own-low-rank"]))
    chosen = {name: plan[name]["model"]["adapter"] for name in ("own-pals", "own-low-rank")}
    assert chosen["own-low-rank"]["dim"] == dim
    built = [ADAPTERS.build(ADAPTERS.choose(of), Shape(width, layers, 4 * width), ["a", "b"]) for of in chosen.values()]
    pals, low_rank = (sum(weights.numel() for weights in adapter.parameters()) for adapter in built)
    assert low_rank == pytest.approx(pals, rel=0.005)


def test_a_fault_of_a_variant_that_an_entry_makes_is_told_at_the_entry():
    file, line, key = PARAMS.find(("catalog", "own-single-sst", "tasks"))
    assert (file.name, key) == ("own.yaml", "variants.own-single.tasks")
    assert "own-single" in file.read_text().splitlines()[line - 1]


def test_an_entry_of_each_task_is_changed_before_it_is_expanded_and_each_variant_after(
    planned: Callable[..., dict[str, Any]],
):
    edits = [
        ("profile", "own"),
        ("variants", ["own-single-sst", "own-single-sts"]),
        ("catalog", {"own-single": {"training": {"epochs": 1}}, "own-single-sts": {"training": {"batch_size": 8}}}),
    ]
    plan = planned(*edits)
    phases = [plan[name]["phases"][0] for name in ("own-single-sst", "own-single-sts")]
    assert [(phase["epochs"], phase["batch_size"]) for phase in phases] == [(1, 32), (1, 8)]
    assert "own-single" not in plan["catalog"]["variants"]
    assert plan["catalog"]["variants"]["own-single-sts"]["overrides"] == {
        "catalog.own-single.training.epochs": 1,
        "catalog.own-single-sts.training.batch_size": 8,
    }


def test_a_fault_in_what_changes_an_entry_of_each_task_is_told_there(refused: Callable[..., list[str]]):
    (told,) = refused(("profile", "own"), ("catalog.own-single", {"training": {"epochs": 0}}))
    assert told.startswith("catalog.own-single.training.epochs: ")
