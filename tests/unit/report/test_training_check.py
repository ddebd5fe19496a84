"""Whether models are trained well enough to compare: the rule, and what the report says of it."""

from dataclasses import replace

import made
import numpy as np
import pandas as pd
import pytest

from mtbert.judge import MayGain, Row, training_check
from mtbert.judge.rows import Scoreboard
from mtbert.judge.training_check import TrainingCheck
from mtbert.report import training_section
from mtbert.scores import tables
from mtbert.scores.described import MAJORITY, TFIDF, UNTRAINED
from mtbert.scores.results import Results
from mtbert.tasks import COURSE

LABELS = {"sst": [0.0, 1.0, 2.0, 3.0] * 25, "qqp": [0.0, 1.0] * 50, "sts": np.linspace(0, 5, 100).tolist()}
FALLS = {"sst": [MayGain.LOSS_FALLS]}


def said(task: str, wrong: int) -> list[float]:
    """Predictions of a task's 100 rows, the last so many of them wrong."""
    right = LABELS[task][: 100 - wrong]
    return right + [4.0 if task == "sst" else 1 - label for label in LABELS[task][100 - wrong :]]


def board(monkeypatch: pytest.MonkeyPatch, untrained: dict[str, float] | None = None, **wrong: dict) -> Scoreboard:
    """Models of six seeds by the number of rows of each task that they have wrong."""
    monkeypatch.setattr(made, "LABELS", LABELS)
    predicted = {(name, seed): {task: said(task, count) for task, count in of_task.items()}
                 for name, of_task in wrong.items() for seed in range(1, 7)}  # fmt: skip
    results = made.results(predicted, {name: {"paper": "own"} for name in wrong})
    is_baseline = results.runs["variant"].str.startswith("baseline-")
    runs = results.runs.assign(kind=results.runs["kind"].mask(is_baseline, "baseline"))
    runs = runs[~is_baseline | (runs["seed"] == 1)]
    is_other_seed = results.predictions["variant"].str.startswith("baseline-") & (results.predictions["seed"] > 1)
    results = Results(runs, results.predictions[~is_other_seed], results.history)
    if untrained:
        row = results.runs.iloc[[0]].assign(kind="encoder", variant="untrained-encoder", seed=0)
        row = row.assign(**{f"dev_{task}": untrained.get(task, np.nan) for task in COURSE if not COURSE[task].serves})
        results = Results(pd.concat([results.runs, row]), results.predictions, results.history)
    return Scoreboard(results)


def checked(label: str, below: dict[str, list[str]], may_gain: dict[str, list[MayGain]] | None = None) -> Row:
    """A row of which the check found this."""
    return Row(label, (label,), {}, below=below, may_gain=may_gain or {})


def below(scored: Scoreboard, name: str) -> object:
    return TrainingCheck(scored).checked(scored.row((name,))).below


def losses(fall: float, noise: float = 0.02, level: float = 1.0) -> pd.DataFrame:
    """Losses of three seeds that fall, over the last quarter, by so much a tenth of the training."""
    random = np.random.default_rng(0)
    done = np.arange(1, 101) / 100
    parts = []
    for seed in range(1, 4):
        value = level - fall * 10 * np.maximum(0, done - 0.75) + random.normal(0, noise, 100) + 0.1 * seed
        parts.append(pd.DataFrame({"seed": seed, "done": done, "value": value}))
    return pd.concat(parts)


def test_a_row_that_is_not_above_the_most_frequent_class_fails(monkeypatch):
    scored = board(monkeypatch, good={"sst": 10, "qqp": 10}, poor={"sst": 80, "qqp": 50})
    assert below(scored, "good") == {}
    assert below(scored, "poor") == {"sst": [MAJORITY], "qqp": [MAJORITY]}


def test_a_row_fails_where_its_gain_over_the_most_frequent_class_may_be_chance_by_rows(monkeypatch):
    scored = board(
        monkeypatch, near={"qqp": 45}, far={"qqp": 30}
    )  # in each seed the same rows: seeds alone say nothing
    assert below(scored, "near") == {"qqp": [MAJORITY]}
    assert below(scored, "far") == {}


def test_a_constant_score_is_a_correlation_of_zero(monkeypatch):
    monkeypatch.setattr(made, "LABELS", LABELS)
    predicted = {("one", 1): {"sts": [2.5] * 100}, ("two", 1): {"sts": LABELS["sts"]}}
    scored = Scoreboard(made.results(predicted))
    assert below(scored, "one") == {"sts": [MAJORITY]}
    assert below(scored, "two") == {}


@pytest.mark.parametrize(("untrained", "fails"), [(0.8, False), (0.805, False), (0.811, True)])
def test_a_row_fails_where_it_is_below_the_untrained_encoder_by_what_matters(monkeypatch, untrained, fails):
    scored = board(monkeypatch, {"sst": untrained}, one={"sst": 20})
    assert below(scored, "one") == ({"sst": [UNTRAINED]} if fails else {})


def test_a_row_fails_where_it_is_below_tf_idf(monkeypatch):
    wrong = {"one": {"sst": 20, "qqp": 10}, TFIDF: {"sst": 5, "qqp": 20}}
    scored = board(monkeypatch, **wrong)
    assert below(scored, "one") == {"sst": [TFIDF]}


@pytest.mark.parametrize(("fall", "falls"), [(0.05, True), (0.01, False), (-0.05, False)])
def test_a_loss_still_falls_where_its_slope_would_lower_it_by_more_than_two_per_cent(fall, falls):
    assert training_check.still_falls(losses(fall)) is falls


def test_a_slope_that_noise_may_explain_is_no_fall():
    assert training_check.still_falls(losses(0.03, noise=0.01))
    assert not training_check.still_falls(losses(0.03, noise=2.0))
    assert not training_check.still_falls(losses(0.05)[losses(0.05)["done"] > 0.98])  # six losses


def test_losses_of_several_phases_are_those_of_the_last(monkeypatch):
    monkeypatch.setattr(made, "LABELS", LABELS)
    made_results = made.results({("one", 1): {"sst": said("sst", 5)}})
    falling = pd.DataFrame({"phase": 1, "step": range(1, 101), "value": np.linspace(2, 1, 100)})
    level = pd.DataFrame({"phase": 2, "step": range(101, 201), "value": 0.5})
    for phases, finds in (([falling], {"sst": [MayGain.LOSS_FALLS]}), ([falling, level], {})):
        history = pd.concat(phases).assign(variant="one", seed=1, name="loss/sst")
        history = tables.joined([history], "history", COURSE)
        scored = Scoreboard(Results(made_results.runs, made_results.predictions, history))
        assert TrainingCheck(scored).checked(scored.row(("one",))).may_gain == finds


@pytest.mark.parametrize(
    ("keep", "values", "finds"),
    [("best", [0.7, 0.8], True), ("best", [0.8, 0.7], False), ("best", [0.8, 0.8], False), ("last", [0.7, 0.8], False)],
)
def test_the_best_epoch_is_the_last_one_of_those_scored(monkeypatch, keep, values, finds):
    monkeypatch.setattr(made, "LABELS", LABELS)
    one = made.results({("one", 1): {"sst": said("sst", 5)}}, {"one": {"run": {"keep": keep, "evaluations": 2}}})
    dev = pd.DataFrame({"phase": 1, "step": [10, 20], "name": "dev/sst", "value": values, "variant": "one", "seed": 1})
    overall = dev.assign(name="dev/overall_raw", value=values[::-1])
    history = tables.joined([dev, overall], "history", COURSE)
    scored = Scoreboard(Results(one.runs, one.predictions, history))
    found = TrainingCheck(scored).checked(scored.row(("one",))).may_gain
    assert found == ({"sst": [MayGain.LAST_EPOCH]} if finds else {})


@pytest.mark.parametrize(
    ("values", "finds"), [([0.9, 0.8], {}), ([0.8, 0.9], {"sst": [MayGain.LOSS_FALLS, MayGain.LAST_EPOCH]})]
)
def test_where_an_earlier_epoch_is_the_best_a_falling_loss_says_nothing(monkeypatch, values, finds):
    """On spared rows a later epoch may be kept; the best one still says whether longer training may help."""
    monkeypatch.setattr(made, "LABELS", LABELS)
    run = {"keep": "best", "selection": "spared"}
    one = made.results({("one", 1): {"sst": said("sst", 5)}}, {"one": {"run": run}})
    falling = pd.DataFrame({"step": range(1, 101), "name": "loss/sst", "value": np.linspace(2, 1, 100)})
    spared = pd.DataFrame({"step": [50, 100], "name": "spared/sst", "value": values})
    history = pd.concat([falling, spared]).assign(phase=1, variant="one", seed=1)
    history = tables.joined([history], "history", COURSE)
    scored = Scoreboard(Results(one.runs.assign(epoch=2), one.predictions, history))
    assert TrainingCheck(scored).checked(scored.row(("one",))).may_gain == finds


def test_where_all_rows_fail_the_headline_says_so_and_what_to_do(monkeypatch):
    scored = board(monkeypatch, one={"sst": 20, "qqp": 10})
    rows = [
        checked("LoRA", {"sst": [TFIDF, UNTRAINED]}),
        checked("PALs", {"sst": [TFIDF], "qqp": [MAJORITY, UNTRAINED]}),
    ]
    assert training_section.headline(scored.results, rows) == (
        "**These models are not trained well enough to compare**: on SST-5 all are below TF-IDF; "
        "on QQP *PALs* is not significantly better than a constant prediction. "
        "Train longer: `mtbert study FOLDER --quick --steps 2x`."
    )


def test_that_a_row_is_no_better_than_a_constant_is_said_beside_a_baseline_that_more_rows_are_below(monkeypatch):
    scored = board(monkeypatch, one={"sst": 20})
    rows = [checked("LoRA", {"sst": [MAJORITY, TFIDF]}), checked("PALs", {"sst": [TFIDF]})]
    assert (
        "on SST-5 all are below TF-IDF and *LoRA* is not significantly better than a constant prediction. "
        in training_section.headline(scored.results, rows)
    )


def test_training_longer_keeps_the_number_of_seeds(monkeypatch):
    scored = board(monkeypatch, one={"sst": 20})
    rows = [replace(checked("LoRA", {}, FALLS), seeds=(1, 2, 3, 4, 5, 6))]
    assert training_section.headline(scored.results, rows).endswith("`mtbert study FOLDER --seeds 6 --steps 2x`.")


def test_a_study_that_trains_longer_already_is_not_told_to_train_as_long_as_it_does(monkeypatch):
    scored = board(monkeypatch, one={"sst": 20})
    runs = scored.results.runs.assign(overrides='model.heads.same="matching"; training.epochs=24')
    longer = Results(runs, scored.results.predictions, scored.results.history)
    told = training_section.headline(longer, [checked("LoRA", {}, FALLS)])
    assert told.endswith(" Train longer: `training.epochs` in params.yaml is 24 now.")


def test_tasks_of_which_the_same_is_said_are_named_together(monkeypatch):
    scored = board(monkeypatch, one={"sst": 20, "qqp": 10})
    rows = [checked("LoRA", {"sst": [UNTRAINED], "qqp": [UNTRAINED]}), checked("PALs", {})]
    assert "compare**: on SST-5 and QQP *LoRA* is below the untrained encoder. " in training_section.headline(
        scored.results, rows
    )


def test_where_some_rows_fail_they_are_named(monkeypatch):
    scored = board(monkeypatch, one={"sst": 20})
    rows = [checked("LoRA", {}, FALLS), checked("PALs", {"sst": [UNTRAINED]})]
    assert training_section.headline(scored.results, rows).startswith(
        "**1 of 2 rows are not trained well enough to compare**: on SST-5 *PALs* is below the untrained encoder. "
    )


def test_that_models_may_gain_is_the_headline_only_if_all_do(monkeypatch):
    scored = board(monkeypatch, one={"sst": 20})
    assert training_section.headline(scored.results, [checked("LoRA", {}, FALLS), checked("PALs", {})]) == ""
    assert training_section.headline(scored.results, [checked("LoRA", {}, FALLS)] * 2) == (
        "**All of these models may gain from longer training**: their training loss still falls at the end. "
        "Train longer: `mtbert study FOLDER --quick --steps 2x`."
    )


def test_a_cell_says_why_a_row_fails_else_why_it_may_gain():
    fails = checked("LoRA", {"sst": [TFIDF], "qqp": [TFIDF, MAJORITY]}, FALLS)
    reasons = "below TF-IDF (SST-5, QQP); not significantly above a constant (QQP)"
    assert training_section.cell(fails, COURSE) == f"no: {reasons}"
    assert training_section.cell(checked("LoRA", {}, FALLS), COURSE) == "may gain: loss still falls (SST-5)"
    assert training_section.cell(checked("LoRA", {}), COURSE) == ""
