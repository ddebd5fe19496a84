"""What is told of two sides: the numbers against other libraries', the answers one by one."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from mtbert import metrics
from mtbert.compare import Answer, Outcome, as_text, compare
from mtbert.compare.reading import Side, text
from mtbert.errors import DataError


def side(name: str, labels: Any, said: Any, clusters: Any = None, of_scores: bool = False) -> Side:
    """Predictions, [rows, seeds] or [rows]."""
    said = np.asarray(said, dtype=float).reshape(len(labels), -1)
    rows = pd.DataFrame({"id": np.arange(len(labels)).astype(str), "label": [text(label) for label in labels]})
    rows = rows.assign(place="line", scored=True, texts=[()] * len(rows))
    rows["cluster"] = "" if clusters is None else np.asarray(clusters).astype(str)
    seeds = [rows.assign(prediction=[text(one) for one in column], seed=str(at)) for at, column in enumerate(said.T)]
    return Side(name, pd.concat(seeds), of_scores)


def of_right(ours: Any, theirs: Any, rows: int, margin: float = 0.01, clusters: Any = None) -> Outcome:
    """Sides of which the rows are right that are named; of a list of lists the seeds."""
    sides = []
    for named in (ours, theirs):
        seeds = named if isinstance(named, list) else [named]
        right = np.column_stack([np.isin(np.arange(rows), seed) for seed in seeds])
        sides.append(side("side", np.ones(rows), right, clusters))
    return compare(*sides, "accuracy", margin)


@pytest.mark.parametrize(("ours", "theirs"), [(3, 0), (4, 0), (7, 1), (3, 3), (12, 4)])
def test_where_few_rows_differ_p_is_mcnemars_exact_one(ours: int, theirs: int) -> None:
    found = of_right(range(ours), range(ours, ours + theirs), 40)
    expected: Any = mcnemar([[0, ours], [theirs, 0]], exact=True)
    assert found.difference.p == pytest.approx(expected.pvalue)
    assert found.difference.interval is not None
    assert found.difference.interval[0] < 0 < found.difference.interval[1]


@pytest.mark.parametrize("ours", [range(1), range(24), [range(24)] * 6])
def test_below_six_clusters_there_is_no_interval_and_no_p(ours: Any) -> None:
    found = of_right(ours, () if isinstance(ours, range) else [()] * 6, 24, clusters=np.arange(24) % 5)
    assert (found.answer, found.difference.interval, found.difference.p) == (Answer.OPEN, None, None)
    assert (found.ours.interval, found.theirs.interval) == (None, None)
    assert "cannot be told" in as_text(found).splitlines()[5]


@pytest.mark.parametrize(
    ("rows", "ours", "theirs", "margin", "answer"),
    [
        (1_000, 900, 600, 0.01, Answer.BETTER),
        (1_000, 600, 900, 0.01, Answer.WORSE),
        (1_000, 900, 600, 0.5, Answer.SLIGHTLY_BETTER),
        (1_000, 600, 900, 0.5, Answer.SLIGHTLY_WORSE),
        (1_000, 600, 600, 0.01, Answer.CLOSE),
        (1_000, 602, 600, 0.5, Answer.CLOSE),
        (1_000, 602, 600, 0.001, Answer.OPEN),
        (40, 4, 0, 0.01, Answer.OPEN),  # of few rows nothing is certain
        (8, 0, 0, 0.01, Answer.OPEN),
        (2, 2, 0, 0.01, Answer.OPEN),
    ],
)
def test_answers_of_one_model_each(rows: int, ours: int, theirs: int, margin: float, answer: Answer) -> None:
    assert of_right(range(ours), range(theirs), rows, margin).answer is answer


@pytest.mark.parametrize(
    ("differences", "margin", "answer"),
    [
        ([50, 50, 50, 51, 49], 0.01, Answer.OPEN),  # five seeds decide nothing
        ([50, 50, 50, 51, 49, 50], 0.01, Answer.BETTER),
        ([-50, -50, -50, -51, -49, -50], 0.01, Answer.WORSE),
        ([50, 50, 50, 51, 49, 50], 0.3, Answer.SLIGHTLY_BETTER),
        ([1, -1, 0, 1, -1, 0], 0.1, Answer.CLOSE),
        ([50, -60, 40, -30, 20, -10], 0.01, Answer.OPEN),
        ([-30, 10, -50, 20, -40, 0], 0.05, Answer.NOT_BETTER),
    ],
)
def test_answers_of_several_seeds(differences: list[int], margin: float, answer: Answer) -> None:
    ours, theirs = [range(250 + by) for by in differences], [range(250)] * len(differences)
    assert of_right(ours, theirs, 500, margin).answer is answer


def test_one_model_each_is_scipys_paired_bootstrap() -> None:
    generator = np.random.default_rng(0)
    labels = generator.uniform(0, 5, 80).round(2)
    ours, theirs = (labels + generator.normal(0, scale, 80) for scale in (1.0, 2.0))

    def difference(gold: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
        return metrics.pearson(gold, one) - metrics.pearson(gold, other)

    found = compare(side("x", labels, ours), side("y", labels, theirs), "pearson", 0.01)
    expected: Any = stats.bootstrap(
        (labels, ours, theirs), difference, paired=True, vectorized=False, n_resamples=500, rng=1
    )
    assert found.difference.mean == pytest.approx(difference(labels, ours, theirs))
    assert found.difference.error == pytest.approx(expected.standard_error, rel=0.1)
    assert found.answer is Answer.BETTER


def test_rows_of_a_cluster_are_drawn_together() -> None:
    right = np.flatnonzero(np.repeat(np.random.default_rng(3).random(40) < 0.6, 5))  # clusters are right as a whole
    together, alone = (
        of_right(right, range(0, 200, 2), 200, clusters=clusters).difference.error or 0
        for clusters in (np.repeat(np.arange(40), 5), None)
    )
    assert together > 1.3 * alone > 0


def test_scores_of_rows_are_averaged_and_compared_with_predictions() -> None:
    labels, right = np.array([1, 0, 1, 1]), [1, 0, 0, 1]
    ours, theirs = side("samples.jsonl", labels, right, of_scores=True), side("y", labels, [1, 1, 1, 1])
    found = compare(ours, theirs, "accuracy", 0.01)
    assert (found.ours.score, found.theirs.score) == (0.5, 0.75)
    both = compare(ours, side("z.jsonl", labels, [0.5, 0.5, 0.5, 0.25], of_scores=True), "acc_norm", 0.01)
    assert (both.ours.score, both.theirs.score) == (0.5, 0.4375)
    with pytest.raises(DataError, match=r"samples.jsonl and y holds .*--metric accuracy, not f1"):
        compare(ours, theirs, "f1", 0.01)


@pytest.mark.parametrize("metric", metrics.SCORES)
def test_scores_are_those_of_the_whole_set_within_their_intervals(metric: str) -> None:
    labels, ours, theirs = np.random.default_rng(2).integers(0, 3, (3, 40))
    found = compare(side("x", labels, ours), side("y", labels, theirs), metric, 0.01)
    assert found.ours.score == metrics.SCORES[metric](labels, ours)
    assert found.ours.interval is not None
    assert found.ours.interval[0] < found.ours.score < found.ours.interval[1]


@pytest.mark.parametrize("margin", [float("nan"), -1.0, float("inf")])
def test_a_margin_is_a_number_of_0_or_more(margin: float) -> None:
    with pytest.raises(DataError, match=r"margin is .*; allowed: a number of 0 or more"):
        of_right(range(3), (), 8, margin)
