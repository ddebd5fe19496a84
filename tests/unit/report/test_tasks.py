"""Each task of the way to keep: confusion, the most confident errors, and curves."""

from dataclasses import replace
from pathlib import Path

import made
import pandas as pd
import pytest

from mtbert.judge import Scoreboard, judge
from mtbert.report.pictures import tasks as of_each
from mtbert.scores.columns import CONFIDENCE, MOVES
from mtbert.tasks import COURSE


def rows(*cells: tuple[int, int, float, float, float]) -> pd.DataFrame:
    """Rows of number, seed, label, prediction and the confidence."""
    table = pd.DataFrame(cells, columns=["row", "seed", "label", "prediction", CONFIDENCE])
    return table.assign(id=[f"id-{row}" for row in table["row"]])


def test_the_confusion_of_a_class_is_the_share_of_its_rows_that_is_taken_for_each():
    seen = rows((0, 1, 0, 0, 0.9), (1, 1, 0, 1, 0.9), (2, 1, 1, 1, 0.9), (3, 1, 1, 1, 0.9))
    assert of_each.confusion(seen, 3).tolist() == [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 0]]


def test_the_most_confident_errors_are_those_that_the_seeds_agree_on():
    right = [(2, 1, 1, 1, 1.0), (2, 2, 1, 1, 1.0)]
    seen = rows((0, 1, 0, 1, 0.9), (0, 2, 0, 1, 0.7), (1, 1, 0, 1, 0.95), (1, 2, 0, 0, 0.95), *right)
    errors = of_each.most_confident(seen, COURSE["qqp"])
    assert errors["id"].tolist() == ["id-0", "id-1"]
    assert errors["off"].tolist() == pytest.approx([0.8, 0.475])


def test_where_nobody_kept_the_confidence_it_is_the_share_of_the_runs_that_say_so():
    seen = rows((0, 1, 0, 1, float("nan")), (0, 2, 0, 1, float("nan")), (1, 1, 0, 1, float("nan")))
    seen = pd.concat([seen, rows((1, 2, 0, 0, float("nan")))])
    assert of_each.most_confident(seen, COURSE["qqp"])["off"].tolist() == [1.0, 0.5]


def test_the_most_confident_errors_of_a_score_are_those_farthest_off():
    unsure = float("nan")
    seen = rows((0, 1, 5.0, 1.0, unsure), (0, 2, 5.0, 2.0, unsure), (1, 1, 0.0, 0.5, unsure))
    assert of_each.most_confident(seen, COURSE["sts"])["off"].tolist() == [3.5, 0.5]


def test_a_task_shows_its_classes_errors_and_curves_and_texts_only_where_they_may_be_shown(tmp_path: Path):
    said = {"sst": [0.0, 1.0, 2.0, 4.0], "qqp": [0.0, 1.0, 1.0, 1.0], "sts": [0.0, 1.0, 2.0, 4.0]}
    results = made.results({("a", 1): said, ("b", 1): said}, {name: {"paper": "own", "row": name} for name in "ab"})
    results.predictions[CONFIDENCE] = 0.75
    dev = [{"variant": "a", "seed": 1, "phase": 1, "step": 10, "name": "dev/qqp", "value": 0.5}]
    results.history = pd.concat([results.history, pd.DataFrame(dev)], ignore_index=True)
    judgement = judge(Scoreboard(results))
    told = of_each.render(judgement.results, judgement.answer, tmp_path, {"qqp": ["w", "x", "y", "a text"]})
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.splitlines() if line.startswith("|")]
    assert ["other question", "50", "50"] in lines
    assert ["a text", "other question", "duplicate", "0.75"] in lines
    assert ["sst-3", "positive", "very positive", "0.75"] in lines
    assert ["sts-3", "5.00", "4.00", "1.00"] in lines
    assert (tmp_path / "pictures/curves.png").is_file()
    assert told.startswith("With *a*, the mean over seeds.")


def test_where_no_ways_are_compared_the_errors_are_those_of_all_models(tmp_path: Path):
    results = made.results({("a", 1): {"qqp": [0.0, 1.0, 1.0, 1.0]}, ("b", 1): {"qqp": [0.0, 1.0, 0.0, 1.0]}})
    results.predictions[CONFIDENCE] = 0.75
    told = of_each.render(results, None, tmp_path, {})
    assert told.startswith("With all models, the mean over seeds.")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.splitlines() if line.startswith("|")]
    assert lines[-2:] == [
        ["qqp-3", "other question", "duplicate", "0.75"], ["qqp-2", "duplicate", "other question", "0.38"],
    ]  # fmt: skip


MOODS = replace(COURSE["sst"], classes=2, names=("joy", "anger"), several=True, metric="micro_f1")


def test_a_label_of_sets_has_its_rows_precision_recall_and_f1_over_runs():
    seen = rows((0, 1, 1, 1, 0), (1, 1, 3, 0, 0), (2, 1, 0, 1, 0), (0, 2, 1, 1, 0), (1, 2, 3, 1, 0), (2, 2, 0, 0, 0))
    assert [*of_each._label_lines(seen, MOODS)] == [
        {"label": "joy", "rows": "2", "precision": "0.75", "recall": "0.75", "F1": "0.75"},
        {"label": "anger", "rows": "1", "precision": "\N{EN DASH}", "recall": "0.00", "F1": "0.00"},
    ]


def test_an_error_in_a_set_names_its_labels():
    assert of_each._value(MOODS, 3.0) == "joy, anger"
    assert of_each._value(MOODS, 0.0) == "no label"


def test_the_mean_average_precision_of_runs_is_moved_by_clusters_of_rows():
    seen = rows((0, 1, 1, 1, 0), (1, 1, 0, 1, 0), (2, 1, 0, 1, 0)).assign(
        variant="shared", cluster=[7, 7, 2], **{MOVES: [0.1, 0.2, -0.3]}
    )
    precisions = pd.Series([0.5, 0.75], pd.MultiIndex.from_tuples([("lora", 1), ("shared", 1)]))
    side = of_each.precision_side(seen, precisions)
    assert (side.scores.tolist(), side.rows, side.clusters) == ([0.75], 3, 2)
    assert side.moves.ravel().tolist() == pytest.approx([-0.3, 0.3])


def test_the_f1_of_runs_is_that_of_each_runs_sets():
    seen = rows((0, 1, 1, 1, 0), (1, 1, 3, 0, 0), (0, 2, 1, 1, 0), (1, 2, 3, 3, 0)).assign(
        variant="shared", cluster=[0, 1, 0, 1]
    )
    assert of_each.f1_side(seen, MOODS, "micro_f1").scores.tolist() == pytest.approx([2 / 4, 1])


def test_a_class_that_has_the_name_of_another_column_has_a_column_of_its_own():
    seen = rows((0, 1, 0, 0, 0.9), (1, 1, 0, 1, 0.9), (2, 1, 1, 1, 0.9))
    lines = [*of_each._confusion_lines(seen, replace(COURSE["qqp"], names=("class", "a  b")))]
    assert lines == [
        {"class": "class", "class (1)": "50", "a b": "50"},
        {"class": "a b", "class (1)": "0", "a b": "100"},
    ]
