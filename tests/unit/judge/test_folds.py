"""Models of folds are scored on all rows together, in whole repeats of seeds, as a baseline is."""

import json

import numpy as np
import pandas as pd
import pytest

from mtbert.judge import BudgetRuns
from mtbert.scores import tables
from mtbert.scores.results import Results
from mtbert.tasks import Task, dump_task

MOOD = Task("mood", 2, ("text",), "mood", "macro_f1", folds=2)
TALK = Task("talk", 2, ("text",), "talk", "accuracy")
TASKS = {"mood": MOOD, "talk": TALK}
LABELS = [0, 1, 0, 1, 1, 1, 0, 0, 1, 0]
FOLDS = [0, 1] * 5
SAID = [0, 1, 1, 1, 0, 1, 0, 1, 1, 0]  # of all rows together: 7 of 10 right
GUESSED = [1] * 10


def results(*seeds: int, said: list[int] | None = None) -> Results:
    """A model with these seeds, each of which predicts its fold of mood and all of talk, and a baseline."""
    runs, rows = [], []
    data = {"name": "mine", "whose": "own", "tasks": {name: dump_task(task) for name, task in TASKS.items()}}
    for kind, variant, seed in [("variant", "ours", seed) for seed in seeds] + [("baseline", "baseline-tfidf", 0)]:
        settings = {"paper": "own", "row": variant, "tasks": [*TASKS], "profile": "own"}
        runs.append({"kind": kind, "variant": variant, "seed": seed, "settings": json.dumps(settings)}
                    | {"data": json.dumps(data), "start": json.dumps({"name": "tiny"})})  # fmt: skip
        predicted = (said or SAID) if kind == "variant" else GUESSED
        table = pd.DataFrame({"row": range(10), "label": LABELS, "prediction": predicted, "fold": FOLDS})
        of_mood = table if kind == "baseline" else table[table["fold"] == MOOD.fold(seed)]
        of_both = [of_mood.assign(task="mood"), table.assign(task="talk", fold=-1)]
        rows += [part.assign(variant=variant, seed=seed) for part in of_both]
    flags = {"split": "dev", "scored": True, "in_train": False, "shares": False}
    every = pd.concat(rows).assign(id=lambda rows: rows["row"].astype(str), cluster=lambda rows: rows["row"], **flags)
    return Results(
        tables.joined([pd.DataFrame(runs)], "runs", TASKS),
        tables.joined([every], "predictions", TASKS),
        tables.joined([], "history", TASKS),
    )


def runs(*seeds: int) -> BudgetRuns:
    return BudgetRuns.from_results(results(*seeds))


def by_hand(labels: list[int], predicted: list[int]) -> float:
    """The mean F1 of both classes."""
    scores = []
    for number in (0, 1):
        hits = sum(label == said == number for label, said in zip(labels, predicted, strict=True))
        scores.append(2 * hits / (labels.count(number) + predicted.count(number)))
    return sum(scores) / 2


def test_the_score_is_that_of_all_rows_together_and_not_the_mean_over_folds() -> None:
    score = runs(1, 2).scores(["ours"], [1, 2])["mood"]
    of_folds = [by_hand(LABELS[fold::2], SAID[fold::2]) for fold in (0, 1)]
    assert (score.mean, score.rows) == (pytest.approx(by_hand(LABELS, SAID)), 10)
    assert score.mean != pytest.approx(sum(of_folds) / 2)
    assert score.interval is not None


def test_a_seed_whose_repeat_is_not_whole_does_not_count() -> None:
    assert runs(1, 2, 3).seeds(["ours"], "mood") == [1, 2]
    assert runs(1).scores(["ours"], [1]) == {}
    assert runs(1).compare(["ours"], ["baseline-tfidf"], "mood") is None


def test_a_baseline_is_compared_on_the_same_rows_and_no_side_lacks_seeds() -> None:
    found = runs(1, 2).compare(["ours"], ["baseline-tfidf"], "mood")
    assert found is not None
    assert found.mean == pytest.approx(by_hand(LABELS, SAID) - by_hand(LABELS, GUESSED))
    assert (found.rows, found.lacks_seeds(6)) == (10, False)


def test_a_second_repeat_is_a_mean_of_two_scores() -> None:
    other = [1 - value for value in SAID]
    of_both = results(1, 2, 3, 4)
    is_second = (of_both.predictions["seed"] > 2) & (of_both.predictions["task"] == "mood")
    turned = of_both.predictions["prediction"].where(~is_second, 1 - of_both.predictions["prediction"])
    both = Results(of_both.runs, of_both.predictions.assign(prediction=turned), of_both.history)
    score = BudgetRuns.from_results(both).scores(["ours"], [1, 2, 3, 4])["mood"]
    assert score.mean == pytest.approx((by_hand(LABELS, SAID) + by_hand(LABELS, other)) / 2)


def test_the_mean_over_tasks_joins_a_task_with_folds_and_one_that_all_seeds_predict() -> None:
    scores = runs(1, 2).scores(["ours"], [1, 2])
    assert scores["talk"].mean == pytest.approx(0.7)
    assert scores["overall_raw"].mean == pytest.approx((by_hand(LABELS, SAID) + 0.7) / 2)


def test_the_report_sees_the_rows_of_a_repeat_as_those_of_one_seed() -> None:
    rows = results(1, 2, 3).scored("mood")
    ours = rows[rows["variant"] == "ours"]
    assert sorted(ours["row"]) == [*range(10)]
    assert {*ours["seed"]} == {1}
    assert np.sum(rows["variant"] == "baseline-tfidf") == 10
    assert len(results(1, 2, 3).scored("talk")) == 40
