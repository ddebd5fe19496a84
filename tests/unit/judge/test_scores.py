"""What models score and how sure that is, against a bootstrap over clusters of rows by hand."""

import made
import numpy as np
import pytest

from mtbert.judge import BudgetRuns, Scoreboard
from mtbert.judge.budget_runs import code_mismatches
from mtbert.scores.results import Results

ROWS, CLUSTERS = 120, 60
DRAW = np.random.default_rng(5)
LABELS = {"sst": (np.arange(ROWS) % 5).astype(float), "qqp": (np.arange(ROWS) % 2).astype(float),
          "sts": np.linspace(0, 5, ROWS)}  # fmt: skip
PREDICTED = {
    "sst": np.where(DRAW.random(ROWS) < 0.6, LABELS["sst"], 0.0),
    "qqp": np.where(DRAW.random(ROWS) < 0.8, LABELS["qqp"], 1.0 - LABELS["qqp"]),
    "sts": LABELS["sts"] + DRAW.normal(0, 2, ROWS),
}


@pytest.fixture
def runs_of(monkeypatch: pytest.MonkeyPatch):
    """Runs of one model with so many seeds, which predict the same; two rows are a cluster."""
    monkeypatch.setattr(made, "LABELS", {task: labels.tolist() for task, labels in LABELS.items()})

    def runs(seeds: int) -> BudgetRuns:
        said = {task: values.tolist() for task, values in PREDICTED.items()}
        results = made.results({("one", seed): said for seed in range(1, seeds + 1)})
        clusters = results.predictions["row"] % CLUSTERS
        return BudgetRuns.from_results(
            Results(results.runs, results.predictions.assign(cluster=clusters), results.history)
        )

    return runs


def by_hand(task: str, rows: np.ndarray) -> float:
    labels, predicted = LABELS[task][rows], PREDICTED[task][rows]
    return np.corrcoef(labels, predicted)[0, 1] if task == "sts" else (labels == predicted).mean()


def bootstrapped() -> dict[str, float]:
    """The standard deviation of each score over 2,000 draws of clusters."""
    draw = np.random.default_rng(0)
    scores: dict[str, list[float]] = {metric: [] for metric in (*LABELS, "overall_raw", "overall_normalised")}
    for _ in range(2000):
        by_task = {}
        for task in LABELS:
            clusters = draw.integers(0, CLUSTERS, CLUSTERS)
            by_task[task] = by_hand(task, np.concatenate([clusters, clusters + CLUSTERS]))
        sst, qqp, r = by_task.values()
        means = {"overall_raw": (sst + qqp + r) / 3, "overall_normalised": (sst + qqp + (r + 1) / 2) / 3}
        for metric, score in (by_task | means).items():
            scores[metric].append(score)
    return {metric: float(np.std(values)) for metric, values in scores.items()}


def test_a_row_of_several_models_has_the_seeds_that_all_have() -> None:
    runs = [("one", 1, "sst"), ("one", 2, "sst"), ("two", 2, "qqp"), ("two", 3, "qqp")]
    results = made.results({(name, seed): {task: made.LABELS[task]} for name, seed, task in runs})
    assert Scoreboard(results).row(["one", "two"]).seeds == (2,)


@pytest.mark.parametrize("seeds", [1, 2, 6])
def test_trainings_that_predict_the_same_have_the_error_of_a_bootstrap_over_rows(runs_of, seeds: int) -> None:
    found = runs_of(seeds).scores(["one"], range(1, seeds + 1))
    errors = {metric: score.error for metric, score in found.items()}
    assert errors == pytest.approx(bootstrapped(), rel=0.1)
    assert found["sst"].mean == pytest.approx(by_hand("sst", np.arange(ROWS)))
    assert found["sst"].freedom == pytest.approx(CLUSTERS - 1)


def test_a_mean_over_fewer_tasks_is_the_only_mean(runs_of) -> None:
    found = runs_of(1).scores(["one"], [1], averaged=("sst", "sts"))
    assert [*found] == ["sst", "qqp", "sts", "overall_raw"]
    assert found["overall_raw"].mean == pytest.approx((found["sst"].mean + found["sts"].mean) / 2)
    assert (found["overall_raw"].bounds, found["sts"].bounds) == ((-0.5, 1.0), (-1.0, 1.0))


def test_a_model_is_above_a_constant_by_the_rows_that_the_two_answer_differently(runs_of) -> None:
    above = runs_of(1).above_constant(["one"], [1], "qqp", 1.0)
    gain = (PREDICTED["qqp"] == LABELS["qqp"]).astype(float) - (LABELS["qqp"] == 1.0)
    of_clusters = (gain[:CLUSTERS] + gain[CLUSTERS:] - 2 * gain.mean()) / ROWS
    assert above.mean == pytest.approx(gain.mean())
    assert above.error == pytest.approx(np.sqrt((of_clusters**2).sum()))


def test_scores_are_of_the_seeds_that_all_tasks_have(runs_of) -> None:
    runs = runs_of(3)
    assert runs.scores(["one"], [4]) == {}
    assert runs.above_constant(["one"], [4], "sst", 0.0) is None
    assert runs.scores(["none"], [1]) == {}


def test_a_row_of_single_tasks_has_seen_examples_of_each_and_none_is_unknown():
    results = made.results({("sst", 1): {"sst": [0, 1, 2, 3]}, ("qqp", 1): {"qqp": [0, 1, 1, 0]}})
    results.runs["examples_sst"] = [640, None]
    results.runs["examples_qqp"] = [None, 320]
    lines = BudgetRuns.from_results(results).runs
    assert lines[["examples_sst", "examples_qqp", "examples_sts"]].to_numpy().tolist() == [[640, 0, 0], [0, 320, 0]]
    results = made.results({("sst", 1): {"sst": [0, 1, 2, 3]}})
    assert BudgetRuns.from_results(results).runs["examples_sst"].isna().all()


def test_a_vote_of_members_of_other_code_is_like_neither():
    settings = {"vote": {"members": ["a", "b"]}, "a": {"sources": {"pals": {"x": "1"}}}}
    results = made.results({(name, 1): {"sst": [0, 1, 2, 3]} for name in ("a", "b", "vote")}, settings)
    results.runs["code"] = ["c0", "c1", None]
    lines = BudgetRuns.from_results(results).runs
    assert lines["code"].tolist() == ["c0", "c1", "c0 / c1"]
    assert code_mismatches(lines[lines["variant"].isin(["b", "vote"])]) == ("code",)
    results.runs["code"] = ["c0", "c0", None]
    assert code_mismatches(BudgetRuns.from_results(results).runs) == ()
