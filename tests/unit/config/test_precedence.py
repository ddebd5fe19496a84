"""Which value counts, and what reaches which file."""

from collections.abc import Callable
from typing import Any

import pytest

Planned = Callable[..., dict[str, Any]]
PALS = {"pals", "frozen-pals", "sbert-pals", "smart-pals"}
SINGLE = {"bert-sst", "bert-qqp", "bert-sts"}


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """The files that differ, but for what the catalog tells of overrides."""

    def rest(node: Any) -> Any:
        told = "overrides"
        return {key: rest(value) for key, value in node.items() if key != told} if isinstance(node, dict) else node

    return {name for name in before if rest(before[name]) != rest(after[name])}


@pytest.mark.parametrize(
    ("edit", "files"),
    [
        (("pals.dim", 276), PALS),
        (("training.adapter_rate", 3e-3), PALS),
        (("smart.radius", 0.1), {"smart-pals"}),
        (("mlp.width", 128), {*SINGLE, "frozen-bert", *PALS}),
        (("catalog.pals.pals.dim", 12), {"pals"}),
        (("catalog.bert-sst.training.epochs", 1), {"bert-sst"}),
        (("pretrain.sbert.batch_size", 16), {"pretrain"}),
        (("encoder.weights", "fp16"), {"encoder", "pretrain", "catalog"}),
        (("run.threads", 3), {*SINGLE, "frozen-bert", *PALS, "pretrain"}),
        (("seeds", [1, 2]), {"catalog"}),
        (("limit.milliseconds", 20), {"catalog"}),
        (("profiles.laptop.training.epochs", 9), set()),
    ],
)
def test_an_edit_reaches_the_files_that_it_concerns(planned: Planned, edit: tuple[str, Any], files: set[str]) -> None:
    assert changed(planned(), planned(edit)) == files


def test_layers_from_weak_to_strong(planned: Planned) -> None:
    layers = [
        ("profiles.sample.training", {"learning_rate": 2e-3}),
        ("training.learning_rate", 3e-3),
        ("catalog.pals.training.learning_rate", 4e-3),
        ("catalog.pals.phases", [{"learning_rate": 5e-3}]),
    ]
    no_preset = (("profiles.sample.training", {}), ("catalog.pals.preset", "my-pal-bert"))

    def rate(*edits: tuple[str, Any]) -> float:
        return planned(*edits)["pals"]["phases"][0]["learning_rate"]

    assert rate(*no_preset) == 2e-5  # the default
    assert rate(("profiles.sample.training", {}), ("catalog.pals.preset", "choose-pals")) == 1e-5
    assert [rate(*layers[:count]) for count in (1, 2, 3)] == [2e-3, 3e-3, 4e-3]
    assert rate(*layers[:2], layers[3]) == 5e-3


def test_null_gives_way_in_every_layer(planned: Planned) -> None:
    edits = (("profiles.sample.mlp.dropout", None), ("catalog.pals.mlp", {"dropout": None}))
    assert planned(*edits)["pals"]["model"]["heads"]["sst"]["dropout"] == 0.3


def test_a_rate_is_one_number_or_one_by_kind_and_the_strongest_layer_counts(planned: Planned) -> None:
    def rates(*edits: tuple[str, Any]) -> list[float]:
        found = planned(("profiles.sample.training", {"epochs": 1}), *edits)
        return [found[name]["phases"][0]["learning_rate"] for name in ("pals", "frozen-pals", "frozen-bert")]

    assert rates() == [2e-5, 2e-5, 1e-3]
    assert rates(("profiles.sample.training.learning_rate", 3e-5)) == [3e-5, 3e-5, 3e-5]
    assert rates(("training.learning_rate", {"adapters": 4e-5, "heads": 5e-5})) == [2e-5, 4e-5, 5e-5]
    assert rates(("training.learning_rate", {"others": 3e-5})) == [3e-5, 3e-5, 1e-3]
    own = ("catalog.frozen-pals.training.learning_rate", 6e-5)
    assert rates(("training.learning_rate.encoder", 4e-5), own) == [4e-5, 6e-5, 1e-3]


@pytest.mark.parametrize(
    ("number", "by_kind"),
    [
        (("training.learning_rate", 1e-4), ("catalog.pals.training.learning_rate", {"heads": 0.01})),
        (("catalog.pals.training.learning_rate", 1e-4), ("catalog.pals.phases", [{"learning_rate": {"heads": 0.01}}])),
        (("tuned.pals.training.learning_rate", 1e-4), ("training.learning_rate", {"heads": 0.01})),
    ],
)
def test_rates_by_kind_over_a_number_leave_it_to_the_other_kinds(
    planned: Planned, number: tuple[str, Any], by_kind: tuple[str, Any]
) -> None:
    assert planned(number, by_kind)["pals"]["phases"][0]["learning_rate"] == 1e-4


def test_tuned_rates_that_a_stronger_layer_overrules_are_not_said_to_be_trained(planned: Planned) -> None:
    tuned = ("tuned", {"pals": {"training": {"learning_rate": 7e-4}, "trials": []}})
    assert [*planned(tuned)["catalog"]["tuned"]] == ["pals"]
    assert planned(tuned, ("training.learning_rate", {"heads": 0.01}))["catalog"]["tuned"] != {}
    assert planned(tuned, ("training.learning_rate", {"encoder": 1e-4}))["catalog"]["tuned"] == {}


@pytest.mark.parametrize(
    ("key", "word", "file", "place"),
    [
        ("training.clip", "none", "pals", ("phases", 0, "clip")),
        ("profiles.sample.model.dropout", "own", "pals", ("model", "dropout")),
        ("profiles.sample.pretrain.sbert.max_pairs", "all", "pretrain", ("max_pairs",)),
    ],
)
def test_a_word_stands_for_no_number(planned: Planned, key: str, word: str, file: str, place: tuple[Any, ...]) -> None:
    node = planned((key, word))[file]
    for step in place:
        node = node[step]
    assert node is None


def test_a_variant_of_ones_own(planned: Planned) -> None:
    mine = {"uses": ["pals", "square_root"], "pals": {"dim": 276}}
    documents = planned(("catalog.wide", mine), ("variants", ["wide"]))
    assert documents["wide"]["model"]["adapter"]["dim"] == 276
    assert documents["wide"]["phases"][0]["sampler"] == {"name": "square_root", "divide": {}}
    assert documents["catalog"]["variants"]["wide"] == {
        "paper": None, "row": "wide", "also": [], "rival": "", "tasks": ["sst", "qqp", "sts"], "selected": True,
        "overrides": {},
    }  # fmt: skip


def test_phases_start_from_the_training_section_each_with_the_rate_of_its_kind(planned: Planned) -> None:
    phases = [{"trainable": ["heads"], "epochs": 1}, {"objectives": ["smart"]}, {"trainable": ["adapters", "heads"]}]
    rates = ("training.learning_rate", {"encoder": 1e-5, "adapters": 2e-5, "heads": 3e-5})
    found = planned(("catalog.pals.phases", phases), rates)["pals"]["phases"]
    assert [(phase["epochs"], phase["learning_rate"]) for phase in found] == [(1, 3e-5), (4, 1e-5), (4, 2e-5)]
    assert [[one["name"] for one in phase["objectives"]] for phase in found] == [[], ["smart"], []]


def test_what_an_entry_sets_for_all_phases_may_hold_in_one_of_them(planned: Planned) -> None:
    entry = {
        "uses": ["square_root", "simcse"],
        "training": {"batch_size": 7, "learning_rate": 1e-4, "objectives": ["smart"]},
        "phases": [{"learning_rate": {"heads": 1e-2}}, {"batch_size": 9, "sampler": "sequential", "objectives": []}],
    }
    first, second = planned(("catalog.x", entry), ("variants", ["x"]))["x"]["phases"]
    assert [phase["batch_size"] for phase in (first, second)] == [7, 9]
    assert [phase["sampler"]["name"] for phase in (first, second)] == ["square_root", "sequential"]
    assert [one["name"] for one in first["objectives"]] == ["smart", "simcse"]


def test_phases_of_params_yaml_may_overrule_what_a_papers_entry_sets(planned: Planned) -> None:
    own = {"phases": [{"sampler": "sequential", "trainable": ["heads"]}]}
    (phase,) = planned(("catalog.frozen-pals", own), ("variants", ["frozen-pals"]))["frozen-pals"]["phases"]
    assert (phase["sampler"]["name"], phase["trainable"]) == ("sequential", ["heads"])


def test_what_the_other_stages_need_follows_from_the_selection(planned: Planned) -> None:
    few = planned(("variants", ["pals"]))
    assert few["pretrain"] == {"needed": False}
    assert few["preprocess"]["splits"] == [
        [task, split] for task in ("qqp", "sst", "sts") for split in ("dev", "train")
    ]
    assert ["snli", "train"] in planned()["preprocess"]["splits"]
    assert planned(("held_out", 60))["preprocess"]["held_out"] == 60
    films = {"tasks": ["sst"], "training": {"tasks": ["sst", "cfimdb_as_sst"]}}
    assert ["cfimdb_as_sst", "train"] in planned(("catalog.films", films), ("variants", ["films"]))["preprocess"][
        "splits"
    ]


def test_a_variant_holds_nothing_of_what_it_does_not_use(planned: Planned) -> None:
    assert "smart" not in str(planned()["bert-sst"])
    assert list(planned()["smart-pals"]["sources"]) == [
        "learning/objectives/smart.py", "learning/samplers/annealed.py", "learning/schedules/slanted_triangular.py",
        "models/adapters/pals.py", "models/heads/mlp.py",
    ]  # fmt: skip
