"""What is told of two sides: the numbers against other libraries' and plain restatements, the answers one by one."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mtbert import metrics
from mtbert.comparing import Outcome, compare
from mtbert.comparing.rows import Row, Rows
from mtbert.errors import DataError


def side(name: str, labels: Any, said: Any, clusters: Any = None, of_scores: bool = False) -> Rows:
    """Predictions rows x seeds, or rows."""
    said = np.asarray(said, dtype=float).reshape(len(labels), -1)
    seeds = [""] if said.shape[1] == 1 else [str(seed) for seed in range(1, said.shape[1] + 1)]
    rows = [
        Row("line", str(at), str(label), str(said[at, column]), seed, "" if clusters is None else str(clusters[at]))
        for column, seed in enumerate(seeds)
        for at, label in enumerate(labels)
    ]
    return Rows(name, rows, of_scores)


def noisy(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    labels = generator.uniform(0, 5, rows).round(2)
    return labels, *(labels + generator.normal(0, scale, rows) for scale in (1.0, 2.0))


@pytest.mark.parametrize(
    ("metric", "statistic"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr)], ids=["pearson", "spearman"]
)
def test_one_model_each_is_scipys_paired_bootstrap(metric: str, statistic: Any) -> None:
    labels, ours, theirs = noisy(80)

    def difference(gold: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
        return statistic(gold, one).statistic - statistic(gold, other).statistic

    found = compare(side("x", labels, ours), side("y", labels, theirs), metric, 0.01)
    expected: Any = stats.bootstrap(
        (labels, ours, theirs), difference, paired=True, vectorized=False, method="percentile", n_resamples=1_000, rng=1
    )
    assert found.ours.score == pytest.approx(statistic(labels, ours).statistic)
    assert found.difference.difference == pytest.approx(difference(labels, ours, theirs))
    interval = expected.confidence_interval
    assert (found.difference.low, found.difference.high) == pytest.approx((interval.low, interval.high), abs=0.02)
    draws = expected.bootstrap_distribution
    assert found.difference.p == pytest.approx(2 * (np.sum(draws <= 0) + 1) / (len(draws) + 1), abs=2e-3)
    assert found.answer == "better"


def test_its_p_is_near_that_of_a_permutation_test() -> None:
    labels = np.zeros(200, dtype=int)
    ours, theirs = labels.copy(), labels.copy()
    ours[:12], theirs[8:30] = 1, 1  # four wrong on both sides, eight in ours alone, eighteen in theirs alone
    found = compare(side("x", labels, ours), side("y", labels, theirs), "accuracy", 0.01)
    expected = stats.permutation_test(
        ((ours == labels).astype(float), (theirs == labels).astype(float)),
        lambda a, b, axis: np.mean(a - b, axis=axis), vectorized=True, permutation_type="samples", n_resamples=9_999,
        rng=1,
    )  # fmt: skip
    assert (found.ours.score, found.theirs.score, found.difference.difference) == pytest.approx((0.94, 0.89, 0.05))
    assert found.difference.p == pytest.approx(expected.pvalue, abs=0.03)
    assert found.difference.tests == {"bootstrap, seed none": found.difference.p}


def test_rows_of_a_cluster_are_drawn_together() -> None:
    generator = np.random.default_rng(3)
    clusters = np.repeat(np.arange(20), 5)
    right = np.repeat(generator.random(20) < 0.6, 5)  # a cluster is right or wrong as a whole
    labels, theirs = np.ones(100), np.tile([1, 0], 50)
    together = compare(side("x", labels, right, clusters), side("y", labels, theirs), "accuracy", 0.01)
    alone = compare(side("x", labels, right), side("y", labels, theirs), "accuracy", 0.01)
    plain = []
    for _ in range(1_000):
        rows = np.concatenate([np.flatnonzero(clusters == one) for one in generator.integers(20, size=20)])
        plain.append(right[rows].mean() - theirs[rows].mean())
    low, high = np.quantile(plain, [0.025, 0.975])
    assert (together.difference.low, together.difference.high) == pytest.approx((low, high), abs=0.02)
    assert together.difference.high - together.difference.low > 1.5 * (alone.difference.high - alone.difference.low)
    assert (together.clusters, alone.clusters, together.rows) == (20, 100, 100)


def test_of_several_seeds_the_interval_is_students_where_rows_do_not_matter() -> None:
    labels = np.ones(1_000)
    ours = np.column_stack([np.arange(1_000) < count for count in (800, 820, 840)])
    found = compare(side("x", labels, ours), side("y", labels, np.tile(ours[:, :1], 3)), "accuracy", 0.01)
    test = stats.ttest_1samp([0, 0.02, 0.04], 0)
    assert found.ours.by_seed == pytest.approx([0.8, 0.82, 0.84])
    assert found.difference.difference == pytest.approx(0.02)
    assert found.difference.low < test.confidence_interval().low + 1e-3
    assert found.difference.p >= test.pvalue - 1e-3
    assert found.answer == "cannot be told"


def test_scores_of_rows_are_averaged_and_compared_with_predictions() -> None:
    labels, right = np.array([1, 0, 1, 1]), [1, 0, 0, 1]
    ours = side("samples.jsonl", labels, right, of_scores=True)
    found = compare(ours, side("y", labels, [1, 1, 1, 1]), "accuracy", 0.01)
    assert (found.ours.score, found.theirs.score) == (0.5, 0.75)
    both = compare(ours, side("z.jsonl", labels, [0.5, 0.5, 0.5, 0.5], of_scores=True), "acc_norm", 0.01)
    assert (both.ours.score, both.theirs.score) == (0.5, 0.5)
    with pytest.raises(
        DataError,
        match=r"samples.jsonl holds a score of each row and y predictions; allowed: --metric accuracy, not f1",
    ):
        compare(ours, side("y", labels, right), "f1", 0.01)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(DataError, match="unknown metric 'acuracy'; did you mean accuracy"):
        compare(side("x", [1], [1]), side("y", [1], [1]), "acuracy", 0.01)


def of_seeds(differences: list[float], rows: int = 10_000, matters: float = 0.01) -> Outcome:
    """Sides whose accuracies differ by so much, seed by seed."""
    labels = np.ones(rows)
    theirs = np.tile(np.arange(rows)[:, None] < 0.5 * rows, len(differences))
    ours = np.column_stack([np.arange(rows) < (0.5 + by) * rows for by in differences])
    return compare(side("x", labels, ours), side("y", labels, theirs), "accuracy", matters)


@pytest.mark.parametrize(
    ("differences", "matters", "answer"),
    [
        ([0.1, 0.1], 0.01, "cannot be told"),  # of two seeds the rule tells nothing
        ([0.1, 0.1, 0.101], 0.01, "better"),
        ([-0.1, -0.1, -0.101], 0.01, "worse"),
        ([0.1, 0.1, 0.101], 0.3, "better by less than what matters"),
        ([-0.1, -0.1, -0.101], 0.3, "worse by less than what matters"),
        ([0.0002, -0.0002, 0.0], 0.1, "apart by less than what matters"),
        ([0.02, -0.03, 0.01], 0.01, "cannot be told"),
        ([0.05, 0.02, 0.06], 0.01, "cannot be told"),  # no p below 0.001 with three seeds
        ([0.05, 0.04, 0.05, 0.03, 0.06, 0.05], 0.01, "better"),  # but with six
        ([0.1, 0.1, 0.1, 0.1], 0.01, "better"),  # at the look of three seeds
        ([0.05, 0.04, -0.05, 0.03, 0.06, 0.055], 0.01, "cannot be told"),
        ([-0.3, -0.2, -0.25, -0.1, 0.02, -0.05], 0.01, "cannot be told"),
        # three seeds prove less than 0.01, ten more than 0
        ([0.0, 0.0, 0.0, 0.05, 0.05, 0.051, 0.052, 0.05, 0.05, 0.049], 0.01, "cannot be told"),
    ],
)
def test_answers_of_several_seeds(differences: list[float], matters: float, answer: str) -> None:
    assert of_seeds(differences, matters=matters).answer == answer


def test_not_better_by_what_matters_while_worse_is_open() -> None:
    assert of_seeds([-0.03, 0.001, -0.028, 0.0, -0.02, -0.001], matters=0.03).answer == "not better by what matters"
    assert of_seeds([0.03, -0.001, 0.028, 0.0, 0.02, 0.001], matters=0.03).answer == "not worse by what matters"


@pytest.mark.parametrize(
    ("ours", "theirs", "matters", "answer"),
    [
        (900, 600, 0.01, "better"),
        (600, 900, 0.01, "worse"),
        (900, 600, 0.5, "better by less than what matters"),
        (600, 900, 0.5, "worse by less than what matters"),
        (600, 600, 0.01, "apart by less than what matters"),
        (600, 601, 0.5, "apart by less than what matters"),
        (602, 600, 0.002, "cannot be told"),
    ],
)
def test_answers_of_one_model_each(ours: int, theirs: int, matters: float, answer: str) -> None:
    labels = np.ones(1_000)
    one, other = (np.arange(1_000) < count for count in (ours, theirs))
    assert compare(side("x", labels, one), side("y", labels, other), "accuracy", matters).answer == answer


def test_scores_are_those_of_the_whole_set() -> None:
    labels, ours, theirs = (column.round() % 3 for column in noisy(40, seed=2))
    for metric, score in metrics.SCORES.items():
        found = compare(side("x", labels, ours), side("y", labels, theirs), metric, 0.01)
        assert found.ours.score == score(labels, ours)
