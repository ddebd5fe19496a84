"""Which way is kept, and what is missing where none can be told."""

import dataclasses

import made
import numpy as np
import pytest

from mtbert.judge import BudgetRuns, Comparison, Row, Verdict, answer
from mtbert.judge.answer import Choice
from mtbert.judge.rule import NOTHING, compare_ways, corrected, part_p
from mtbert.stats import Side, difference
from mtbert.stats.power import SampleSize, sample_size

ROWS = 400


def evidence(seeds: int, **right: float) -> BudgetRuns:
    """Runs of QQP whose accuracies are near these; each seed errs on rows of its own."""
    random = np.random.default_rng(1)
    labels = (np.arange(ROWS) % 2).astype(float)
    predicted = {}
    for name, share in right.items():
        for seed in range(1, seeds + 1):
            wrong = random.permutation(ROWS)[: round((1 - share) * ROWS)]
            said = labels.copy()
            said[wrong] = 1 - said[wrong]
            predicted[name, seed] = {"qqp": said.tolist()}
    made.LABELS["qqp"], before = labels.tolist(), made.LABELS["qqp"]
    try:
        return BudgetRuns.from_results(made.results(predicted))
    finally:
        made.LABELS["qqp"] = before


def choose(seeds: int, costs: dict[str, float], margin: float, **right: float) -> Choice:
    return chosen(evidence(seeds, **right), [*right], costs, margin)


def chosen(runs: BudgetRuns, names: list[str], costs: dict[str, float], margin: float) -> Choice:
    """Choose among ways, the best first."""
    candidates = [Row(name, (name,), {}, weights={"stored": costs[name]}) for name in names]
    best, *others = names
    parts = [Comparison((name,), (best,), "qqp", "not lower", margin) for name in others]
    return answer.choose(candidates[0], candidates, compare_ways(runs, parts))


def labels(choice: Choice) -> tuple[str | None, str | None]:
    """Which way is kept, and which one is likely."""
    return choice.kept and choice.kept.label, choice.runner_up and choice.runner_up.label


COSTS = {"single": 3.0, "shared": 1.0, "lora": 0.1}


def test_the_cheapest_of_those_that_are_proved_to_be_no_worse_is_kept():
    choice = choose(6, COSTS, 0.1, single=0.9, shared=0.89, lora=0.6)
    assert labels(choice) == ("shared", None)
    assert labels(choose(6, COSTS, 0.1, single=0.9, shared=0.89, lora=0.885)) == ("lora", None)


def test_the_best_is_kept_where_all_that_are_cheaper_are_proved_to_be_worse():
    assert labels(choose(6, COSTS, 0.02, single=0.9, shared=0.7, lora=0.6)) == ("single", None)


def test_where_nothing_is_proved_it_says_what_would_decide():
    choice = choose(6, COSTS, 0.015, single=0.9, shared=0.895, lora=0.5)
    assert labels(choice) == (None, "shared")
    assert choice.sample_size == SampleSize(26, ROWS)  # of two comparisons; of one 21 seeds would do


def test_all_seeds_of_a_study_count():
    choice = choose(26, COSTS, 0.015, single=0.9, shared=0.9, lora=0.5)
    assert (*labels(choice), choice.seeds) == ("shared", None, 26)
    assert choose(6, COSTS, 0.015, single=0.9, shared=0.9, lora=0.5).kept is None


def test_below_six_seeds_nothing_is_kept():
    choice = choose(3, COSTS, 0.1, single=0.9, shared=0.89, lora=0.6)
    assert (*labels(choice), choice.seeds) == (None, "shared", 3)
    of_one_seed = choose(1, COSTS, 0.1, single=0.9, shared=0.89, lora=0.6)
    assert of_one_seed.against is not None
    assert of_one_seed.sample_size is None
    assert choose(3, COSTS, 0.1, lora=0.9, shared=0.7).kept is None


def test_ways_are_judged_as_one_family():
    runs = evidence(6, single=0.9, shared=0.89, lora=0.6, few=0.9)
    judged = compare_ways(runs, [against_single_task(name, 0.05) for name in ("shared", "lora", "none")])
    assert [one.verdict for one in judged] == [Verdict.HOLDS, Verdict.FAILS, Verdict.NOT_RUN]


def against_single_task(name: str, margin: float) -> Comparison:
    return Comparison((name,), ("single",), "qqp", "close", margin)


def test_a_way_whose_size_is_open_is_worse_where_its_interval_leaves_out_0():
    (shared,) = compare_ways(evidence(6, single=0.9, shared=0.87), [against_single_task("shared", 0.03)])
    assert (shared.p.verdict, shared.verdict) == (Verdict.TOO_CLOSE, Verdict.WORSE)
    (few,) = compare_ways(evidence(5, single=0.9, shared=0.87), [against_single_task("shared", 0.03)])
    assert (few.verdict, few.missing) == (Verdict.OPEN, "seeds")


def test_a_way_without_seeds_is_kept_where_it_is_no_worse_than_models_of_six_seeds():
    assert labels(with_seedless(6, "lora")) == ("lora", None)
    choice = with_seedless(3, "lora")
    assert (choice.kept, choice.seeds, choice.lacks_seeds) == (None, 3, True)


def test_ways_without_seeds_alone_are_compared_by_rows():
    choice = with_seedless(1, "single", "shared", "lora")
    assert (*labels(choice), choice.seeds, choice.lacks_seeds) == ("lora", None, None, False)


def with_seedless(seeds: int, *seedless: str) -> Choice:
    """Choose among ways of which some have no seeds: of those the first one's predictions are kept."""
    right = {"single": 0.9, "shared": 0.6, "lora": 0.9}
    runs = evidence(seeds, **right)
    qqp = runs.dev["qqp"]
    columns = [(name, seed) for name, seed in qqp.predictions if name not in seedless or seed == 1]
    lines = runs.runs[~runs.runs["variant"].isin(seedless)]
    dev = {"qqp": dataclasses.replace(qqp, predictions=qqp.predictions[columns])}
    runs = dataclasses.replace(runs, runs=lines, dev=dev, baselines=seedless)
    return chosen(runs, sorted(right, key=lambda name: -right[name]), COSTS, 0.1)


def test_of_ways_without_seeds_more_rows_are_asked_for_and_no_seeds():
    moves = np.full((50, 1), 0.002)
    found = difference(Side(np.array([0.8]), moves, 100, 50, has_seeds=False), unmoved(np.array([0.8])).constant(0.8))
    assert found.error == pytest.approx(np.sqrt(50) * 0.002)
    assert sample_size(found, 0.02, 6, 1) == SampleSize(0, 400)


def unmoved(scores: np.ndarray) -> Side:
    """A side of 100 rows in 50 clusters, none of which moves it."""
    return Side(scores, np.zeros((50, len(scores))), rows=100, clusters=50)


@pytest.mark.parametrize(("ways_trained", "seeds"), [(2, 11), (7, 16)])
def test_enough_seeds_are_asked_for_to_prove_no_difference_four_times_of_five(ways_trained: int, seeds: int):
    comparisons = ways_trained - 1
    random = np.random.default_rng(0)
    ours = unmoved(random.normal(0.8, 0.02, 6))
    found = difference(ours, unmoved(random.normal(0.8, 0.02, 6)))
    assert sample_size(found, 0.02, 6, comparisons) == SampleSize(seeds, 100)
    assert found.error is not None
    proved = 0
    for _ in range(2000):
        one, two = (unmoved(random.normal(0.8, found.error * np.sqrt(6 / 2), seeds)) for _ in range(2))
        p = part_p("not lower", 0.02, None, difference(one, two))
        first, *_ = corrected([p, *[NOTHING] * (comparisons - 1)])  # of the other ways nothing is proved
        proved += first.verdict is Verdict.HOLDS
    assert proved / 2000 == pytest.approx(0.8, abs=0.05)


def test_more_rows_are_asked_for_where_seeds_cannot_help():
    moves = np.full((50, 6), 0.002) * np.where(np.arange(50) % 2, 1, -1)[:, None]  # the same for every seed
    scores = 0.8 + np.arange(6) / 1e4
    found = difference(Side(scores, moves, rows=100, clusters=50), unmoved(scores))
    assert found.row_variance == pytest.approx(50 * 0.002**2)
    assert sample_size(found, 0.02, 6, 1) == SampleSize(6, 500)
    assert sample_size(found, 0.0001, 6, 1) is None
