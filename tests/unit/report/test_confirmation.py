"""One look at labelled test rows, after dev has chosen, and what is said of it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import made
import numpy as np
import pandas as pd
import pytest

from mtbert.judge import Answer, Judgement, Plan, Scoreboard, judge, plan_of
from mtbert.judge import tables as judged_tables
from mtbert.report import answer_section, markdown
from mtbert.scores.described import BASELINES, FROZEN, TFIDF
from mtbert.scores.metrics import OVERALLS
from mtbert.scores.results import Results

ROWS = 120
OTHER_ONE = "other-gpt"
COSTS = {"price": 0.4, "currency": "EUR", "milliseconds": 800.0}
LABELS = {"sst": (np.arange(ROWS) % 5).astype(float), "qqp": (np.arange(ROWS) % 2).astype(float),
          "sts": np.linspace(0, 5, ROWS)}  # fmt: skip
EACH = {"of-sst": ["sst"], "of-qqp": ["qqp"], "of-sts": ["sts"]}


def said(task: str, share: float, random: np.random.Generator) -> list[float]:
    """Predictions of which so many are right, and of a score so near."""
    labels = LABELS[task].copy()
    if task == "sts":
        return (labels + random.normal(0, 5 * (1 - share), ROWS)).tolist()
    wrong = random.permutation(ROWS)[: round((1 - share) * ROWS)]
    labels[wrong] = (labels[wrong] + 1) % (5 if task == "sst" else 2)
    return labels.tolist()


def predicted(
    shares: dict[str, float], random: np.random.Generator, of_others: Sequence[str]
) -> dict[tuple[str, int], dict[str, list[float]]]:
    """What each model predicts with six seeds, by how good its way is; `single` is one model per task."""
    by_run = {}
    for seed in range(1, 7):
        for way, share in shares.items():
            every = of_others if way == OTHER_ONE else [*LABELS]
            for name, tasks in (EACH if way == "single" else {way: every}).items():
                by_run[name, seed] = {task: said(task, share, random) for task in tasks}
    return by_run


def answered(
    monkeypatch: pytest.MonkeyPatch,
    dev: dict[str, float],
    test: dict[str, float] | None,
    seeds: int = 0,
    has_test_of_others: bool = True,
    of_others: Sequence[str] = tuple(LABELS),
) -> Judgement:
    """What is judged of ways that are so good on dev and on test; test has no labels where it is None.

    Others have predicted the tasks `of_others`, and test if `has_test_of_others`.
    """
    monkeypatch.setattr("mtbert.judge.answer.margins", lambda _: dict.fromkeys(OVERALLS, 0.05))
    monkeypatch.setattr(made, "LABELS", {task: labels.tolist() for task, labels in LABELS.items()})
    random = np.random.default_rng(3)
    settings = {name: {"paper": "own", "row": "One model per task" if name in EACH else name.title()}
                for name in (*EACH, *dev)}  # fmt: skip
    results = made.results(predicted(dev, random, of_others), settings, {"whose": "own"})
    rows = made.results(predicted(test or dev, random, of_others), settings).predictions.assign(split="test")
    if test is None:
        rows["label"] = np.nan
    without_seeds = [*BASELINES, OTHER_ONE]
    is_baseline = results.runs["variant"].isin(without_seeds)
    runs = results.runs.assign(kind=results.runs["kind"].mask(is_baseline, "baseline"))
    runs = runs[~is_baseline | (runs["seed"] == 1)]
    runs.loc[runs["variant"] == OTHER_ONE, "stored"] = np.nan
    runs["settings"] = [
        json.dumps(json.loads(settings) | ({"costs": COSTS} if variant == OTHER_ONE else {}))
        for variant, settings in zip(runs["variant"], runs["settings"], strict=True)
    ]
    rows = pd.concat([results.predictions, rows[(rows["variant"] != OTHER_ONE) | has_test_of_others]])
    rows = rows[~rows["variant"].isin(without_seeds) | (rows["seed"] == 1)]
    results = Results(runs, rows, results.history)
    made.state_scores(results)
    return judge(Scoreboard(results), plan=Plan(seeds))


def the_answer(judgement: Judgement) -> Answer:
    """Its answer, which is there."""
    assert judgement.answer is not None
    return judgement.answer


def test_the_way_to_keep_is_compared_on_test_with_one_model_per_task(monkeypatch):
    one = answered(monkeypatch, {"single": 0.9, "shared": 0.9}, {"single": 0.8, "shared": 0.8})
    look = one.confirmation
    assert look is not None
    assert [row.label for row in look.rows] == ["Shared", "One model per task"]
    assert look.rows[0].scores["qqp"].mean == pytest.approx(0.8)
    (compared,) = look.on_test
    assert compared.difference is not None
    assert compared.difference.rows == 3 * ROWS
    assert not look.disagreements
    last = answer_section.confirmed(the_answer(one), look).splitlines()[-1]
    assert last.startswith("| Shared less One model per task |")
    assert last.count(": as good |") == 1


def test_the_best_baseline_is_looked_at_too(monkeypatch):
    one = answered(monkeypatch, {"single": 0.9, "shared": 0.9, TFIDF: 0.7, FROZEN: 0.8}, {})
    assert [way.label for way in the_answer(one).ways if way.is_baseline] == [BASELINES[FROZEN], BASELINES[TFIDF]]
    look = one.confirmation
    assert look is not None
    assert [look.other(compared).label for compared in look.on_test] == ["One model per task", BASELINES[FROZEN]]
    assert look.rows[-1].label == BASELINES[FROZEN]
    assert look.rows[-1].scores["qqp"].mean == pytest.approx(0.8)


def cells(one: Answer, label: str, folder: Path) -> dict[str, str]:
    """The line of a way by column."""
    lines = [line.split("|")[1:-1] for line in answer_section.render(one, folder).splitlines() if line.startswith("|")]
    row = next(line for line in lines if line[0].strip() == label)
    return {column.strip(): cell.strip() for column, cell in zip(lines[0], row, strict=True)}


def test_predictions_of_others_are_a_row_that_is_judged_and_not_one_to_keep(monkeypatch, tmp_path: Path):
    one = the_answer(answered(monkeypatch, {"single": 0.8, "shared": 0.8, OTHER_ONE: 0.99}, None))
    assert one.ways[0].label == "gpt"
    assert {way.label for way in one.candidates} == {"Shared", "One model per task"}
    compared = one.against_single_task_by_label["gpt"]
    assert compared.difference is not None
    assert compared.difference.seeds == (0, 6)
    text = " ".join(answer_section.sentences(one))
    gain = one.ways[0].scores[one.metric].mean - one.best.scores[one.metric].mean
    assert f"Predictions of others have a higher mean: *gpt* (+{gain:.3f})." in text
    assert "Proved to be better than one model per task: *gpt* (+0." in text
    assert "the highest mean of the ways here, without predictions of others" in text
    line = cells(one, "gpt", tmp_path)
    assert (line["weights to keep"], line["1,000 rows"], line["verdict"]) == (markdown.DASH, "0.4 EUR", "better")
    assert cells(one, "Shared", tmp_path)["1,000 rows"] == markdown.DASH


def test_others_who_predicted_some_tasks_have_a_line_without_a_mean(monkeypatch, tmp_path: Path):
    judgement = answered(monkeypatch, {"single": 0.8, "shared": 0.8, OTHER_ONE: 0.99}, None, of_others=["sst"])
    judged_tables.write(judgement, tmp_path)
    for one in (judgement, judged_tables.read(tmp_path, judgement.results)):
        assert [way.label for way in the_answer(one).ways] == [way.label for way in the_answer(judgement).ways]
        assert "gpt" not in [way.label for way in the_answer(one).ways]
        line = cells(the_answer(one), "gpt", tmp_path)
        assert [line[column][:5] for column in ("mean", "SST-5", "QQP")] == ["", "0.992", markdown.DASH]
        assert line["1,000 rows"] == "0.4 EUR"


def test_without_prices_no_column_says_them(monkeypatch, tmp_path: Path):
    one = the_answer(answered(monkeypatch, {"single": 0.8, "shared": 0.8}, None))
    assert "1,000 rows" not in cells(one, "Shared", tmp_path)


@pytest.mark.parametrize(("has_test", "looked_at"), [(True, "gpt"), (False, BASELINES[TFIDF])])
def test_others_are_looked_at_on_test_if_they_have_predicted_it(monkeypatch, has_test: bool, looked_at: str):
    shares = {"single": 0.9, "shared": 0.9, OTHER_ONE: 0.85, TFIDF: 0.7}
    look = answered(monkeypatch, shares, {}, has_test_of_others=has_test).confirmation
    assert look is not None
    assert [look.other(compared).label for compared in look.on_test][1:] == [looked_at]


def test_without_labels_of_test_there_is_no_look(monkeypatch):
    assert answered(monkeypatch, {"single": 0.9, "shared": 0.9}, None).confirmation is None


def test_where_dev_and_test_disagree_that_comes_first(monkeypatch):
    one = answered(monkeypatch, {"single": 0.9, "shared": 0.9}, {"single": 0.9, "shared": 0.7})
    look = one.confirmation
    first, *_ = answer_section.headlines(the_answer(one), look)
    assert first.startswith("**Dev and test disagree**: *Shared* less *One model per task* (overall) is ")
    turned = answered(monkeypatch, {"single": 0.7, "shared": 0.9}, {"single": 0.75, "shared": 0.74})
    look = turned.confirmation
    assert look is not None
    assert look.disagreements == [(*look.on_dev, *look.on_test)]  # better on dev, a little below on test


def test_an_answer_from_fewer_seeds_than_asked_for_is_interim(monkeypatch):
    one = the_answer(answered(monkeypatch, {"single": 0.9, "shared": 0.9}, None, seeds=8))
    assert [*answer_section.headlines(one, None)] == ["**Interim: 6 of 8 seeds.**"]
    assert [*answer_section.headlines(replace(one, plan=Plan(6)), None)] == []


def test_test_is_not_looked_at_before_the_last_seed(monkeypatch):
    shares = {"single": 0.9, "shared": 0.9}
    assert answered(monkeypatch, shares, shares, seeds=8).confirmation is None
    assert answered(monkeypatch, shares, shares, seeds=6).confirmation is not None


def test_whether_rates_were_tried_is_said_where_it_is_known(monkeypatch, tmp_path: Path):
    one = the_answer(answered(monkeypatch, {"single": 0.9, "shared": 0.9}, None))
    default = "Each way has its default learning rates."
    assert default not in [*answer_section.sentences(one)]
    one = replace(one, plan=plan_of({"seeds": [1, 2]}))
    assert (one.plan.seeds, [*answer_section.sentences(one)][-1]) == (2, default)
    trial = {"factor": 0.33333, "score": 0.81234, "seconds": 30.0}
    one = replace(one, plan=plan_of({"seeds": [1], "tuned": {name: {"trials": [trial]} for name in (*EACH, "shared")}}))
    tuned = "Learning rates were tuned, with equally many trials of each model."
    assert [*answer_section.sentences(one)][-1] == tuned
    cells = [cell.strip() for cell in answer_section.trials(one.plan).splitlines()[-1].split("|")[1:-1]]
    assert cells == ["`shared`", "0.33", "0.812", "30 s"]
    diverged = plan_of({"seeds": [1], "tuned": {"shared": {"trials": [trial | {"score": None}]}}})
    assert " diverged |" in answer_section.trials(diverged)
    one = replace(one, plan=plan_of({"seeds": [1], "tuned": {name: {"trials": [trial]} for name in EACH}}))
    assert [*answer_section.sentences(one)][-1] == f"{tuned[:-1]}; default rates: `shared`."
