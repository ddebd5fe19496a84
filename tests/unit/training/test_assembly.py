"""What a training is assembled from."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import runs
from models import small_bert

from mtbert import layout
from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError
from mtbert.tasks import COURSE, SPLITS, Split
from mtbert.training import assembly
from mtbert.training.assembly import balance, steps, take_folds, take_share, weigh_classes
from mtbert.training.phases import trained_on_last


def test_classes_weigh_as_much_as_one_another_and_one_without_rows_nothing():
    table = pd.DataFrame({"id": list("abcd"), "label": [0.0, 0.0, 0.0, 1.0], "tokens1": [[7]] * 4})
    examples = Examples(table, COURSE["sst"], "cross", SpecialTokens(1, 2, 0), 8)
    assert balance(examples).tolist() == pytest.approx([4 / 15, 4 / 5, 0.0, 0.0, 0.0])


def test_the_half_of_dev_that_is_scored_has_whole_clusters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def read(settings: object, name: str, *_: object) -> Examples:
        examples = runs.examples(name, 4)
        examples.clusters = np.array([0, 0, 1, 1])
        return examples

    monkeypatch.setattr(assembly, "read_split", read)
    monkeypatch.setattr(assembly.tokens, "special_tokens", lambda _: None)
    dev = assembly._read_examples(runs.settings(), tmp_path, tmp_path)["dev"]
    assert dev["sst"].scored.tolist() == [False, False, True, True]


def test_classes_are_weighed_by_the_rows_that_are_trained_on():
    settings = runs.settings(phase={"rows": 2})
    balanced = dataclasses.replace(COURSE["sst"], balanced=True)
    settings = settings.model_copy(update={"described": {**settings.described, "sst": balanced}})
    model, train = assembly.build_model(settings, small_bert(), 1), {"sst": runs.examples("sst", 12)}
    weigh_classes(settings, model, train)
    assert model.head("sst").balance.tolist() == pytest.approx([0.4, 0.0, 0.0, 0.4, 0.0])  # rows of class 0 and 3
    assert model.head("sts").balance is None


def write_folds(data: Path, task: str, fold: list[int], dev_folds: list[int]) -> None:
    layout.examples(data, task, "dev").parent.mkdir()
    pd.DataFrame({"fold": fold}).to_parquet(layout.examples(data, task, "dev"))
    pd.DataFrame({"dev_folds": dev_folds}).to_parquet(layout.examples(data, task, "train"))


def test_a_seeds_fold_is_its_dev_and_the_others_are_its_train(tmp_path: Path):
    settings = runs.settings()
    with_folds = dataclasses.replace(COURSE["sst"], folds=3)
    settings = settings.model_copy(update={"described": {**settings.described, "sst": with_folds}})
    write_folds(tmp_path, "sst", [0, 1, 2, 0, 1, 2], dev_folds=[0b001, 0b010, 0b100] * 2)
    write_folds(tmp_path, "sts", [], dev_folds=[0] * 6)
    for seed, rows in ((1, [0, 3]), (3, [2, 5]), (4, [0, 3])):
        every: dict[Split, dict[str, Examples]] = {
            split: {task: runs.examples(task, 6) for task in ("sst", "sts")} for split in SPLITS
        }
        take_folds(settings, every, tmp_path, seed)
        assert every["dev"]["sst"].numbers.tolist() == rows
        assert every["train"]["sst"].numbers.tolist() == [row for row in range(6) if row not in rows]
        assert [len(every[split]["sts"]) for split in SPLITS] == [6, 6, 6]


def test_train_loses_the_groups_that_another_task_has_in_the_seeds_fold(tmp_path: Path):
    settings = runs.settings()
    with_folds = {name: dataclasses.replace(COURSE[name], folds=2) for name in ("sst", "sts")}
    settings = settings.model_copy(update={"described": {**settings.described, **with_folds}})
    write_folds(tmp_path, "sst", [0, 0, 1, 1], dev_folds=[0b01, 0b11, 0b11, 0b10])
    write_folds(tmp_path, "sts", [0, 0, 1, 1], dev_folds=[0b01, 0b01, 0b10, 0b10])
    for seed, sst in ((1, [3]), (2, [0])):  # seed 1: fold 0 is dev, and another task's fold 0 has the group of row 2
        every: dict[Split, dict[str, Examples]] = {
            split: {task: runs.examples(task, 4) for task in ("sst", "sts")} for split in SPLITS
        }
        take_folds(settings, every, tmp_path, seed)
        assert every["train"]["sst"].numbers.tolist() == sst
        assert len(every["dev"]["sst"]) == len(every["train"]["sts"]) == 2


def test_a_seed_that_leaves_no_row_of_train_is_refused(tmp_path: Path):
    settings = runs.settings().model_copy(update={"tasks": ["sst"]})
    with_folds = dataclasses.replace(COURSE["sst"], folds=2)
    settings = settings.model_copy(update={"described": {**settings.described, "sst": with_folds}})
    write_folds(tmp_path, "sst", [0, 1], dev_folds=[0b01, 0b11])
    every: dict[Split, dict[str, Examples]] = {split: {"sst": runs.examples("sst", 2)} for split in SPLITS}
    with pytest.raises(DataError, match="seed 1 leaves no training row of sst: each is of dev, or of a group that"):
        take_folds(settings, every, tmp_path, 1)


def test_a_share_of_train_is_in_whole_clusters_drawn_by_the_seed():
    settings = runs.settings().model_copy(update={"share": 0.5, "tasks": ["sst"]})
    rows: list[list[int]] = []
    for seed in (1, 2):
        train = {task: runs.examples(task, 8) for task in ("sst", "sts")}
        train["sst"].clusters = np.array([0, 0, 1, 1, 2, 2, 3, 3])
        take_share(settings, train, seed)
        rows.append(train["sst"].numbers.tolist())
        assert len(train["sts"]) == 8  # of another corpus
    assert rows == [[2, 3, 6, 7], [2, 3, 4, 5]]


def test_with_folds_a_share_is_of_the_rows_that_the_fold_leaves():
    settings = runs.settings().model_copy(update={"share": 0.5, "tasks": ["sst"]})
    examples = runs.examples("sst", 6)
    examples.clusters = np.array([0, 1, 1, 0, 2, 2])
    train = {"sst": examples.part(np.array([0, 3, 4, 5]))}
    take_share(settings, train, 1)
    assert train["sst"].numbers.tolist() in ([0, 3], [4, 5])


def test_rows_that_are_trained_on_are_those_of_the_last_phase_with_the_task_or_all():
    phases = [{"rows": 9}, {"rows": 2}, {"rows": 3, "tasks": ["sts"]}]
    chosen, train = [runs.settings(phase=phase).phases[0] for phase in phases], runs.examples("sst", 12)
    assert trained_on_last(chosen, "sst", train).ids == ("sst2", "sst9")
    assert trained_on_last([], "sst", train) is train


def test_examples_of_each_task_are_counted_in_its_own_batches_and_corpora_that_serve_it_add_none():
    phase = {
        "tasks": ["sst", "sts", "cfimdb_as_sst"],
        "sampler": {"name": "round_robin"},
        "epochs": 1,
        "epoch_length": "8 examples of each task",
        "batch_size": 4,
        "batch_sizes": {"sts": 2, "cfimdb_as_sst": 1},
    }
    train = {name: runs.examples("sst", 12) for name in phase["tasks"]}
    assert steps(runs.settings(phase=phase), train) == 2 + 4


def test_a_share_of_the_examples_is_rounded_up_to_whole_batches_of_each_task():
    phase = {"sampler": {"name": "round_robin"}, "epochs": 1, "epoch_length": "0.5 of all examples", "batch_size": 4}
    train = {"sst": runs.examples("sst", 12), "sts": runs.examples("sts", 5)}
    assert steps(runs.settings(phase=phase), train) == 2 + 1


def test_each_objective_draws_random_numbers_of_its_own():
    settings = runs.settings(phase={"objectives": [{"name": "smart"}, {"name": "simcse_linear"}]})
    train = {task: runs.examples(task, 12) for task in runs.TASKS_HERE}
    (build,) = assembly.phases(settings, 1, assembly.build_model(settings, small_bert(), 1), train)
    seeds = {name: objective.generator.initial_seed() for name, objective in build().objectives.items()}
    assert seeds["smart"] != seeds["simcse_linear"]


def test_a_corpus_that_serves_a_task_is_drawn_in_an_order_of_its_own():
    settings = runs.settings(phase={"tasks": ["sst", "sts", "cfimdb_as_sst"]})
    train = {
        "sst": runs.examples("sst", 12),
        "sts": runs.examples("sts", 12),
        "cfimdb_as_sst": runs.examples("sst", 12),
    }
    model = assembly.build_model(settings, small_bert(), 1)
    (build,) = assembly.phases(settings, 1, model, train)
    drawn = {name: stream.next().ids for name, stream in build().streams.items()}
    assert drawn["sst"] != drawn["cfimdb_as_sst"]
