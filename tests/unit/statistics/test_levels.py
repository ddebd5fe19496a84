"""Simulated runs: no test rejects oftener than it says where there is nothing, and what is there is found.

1,000 pairs of variants at once. Each row has a difficulty that all models share; a seed moves a whole model
(`seed_noise`) and, row by row, what it gets right. Two recipes of equal expected score may find different rows hard
(`unlike`): what then differs by chance is the choice of rows, for all seeds alike. Rows of a cluster share half of what
a seed does.
"""

import numpy as np
import pytest

from mtbert.statistics import bootstrap, seeds

DRAWS, RUNS, ROWS = 1_000, 1_000, 300
BOLD, TIMID = 0.065, 0.035  # shares of 1,000 draws that a test at 5 % may reject in
EACH, IN_PAIRS = np.arange(ROWS), np.arange(ROWS) // 2
Scored = tuple[np.ndarray, np.ndarray]  # second side less first: runs x seeds, and draws x runs x seeds


def ease(
    random: np.random.Generator, count: int, seed_noise: float = 0, unlike: float = 0, plus: float = 0,
    clusters: np.ndarray = EACH,
) -> np.ndarray:  # fmt: skip
    """How easy each row is, rows x runs x sides x seeds; `plus` is the second side's advantage."""
    shared = random.normal(size=(ROWS, RUNS, 1, 1), scale=0.7)
    sided = random.normal(size=(ROWS, RUNS, 2, 1), scale=unlike)
    whole = random.normal(size=(1, RUNS, 2, count), scale=seed_noise)
    alone, together = (random.normal(size=(ROWS, RUNS, 2, count)) for _ in range(2))
    by_row = alone if clusters is EACH else (alone + together[clusters]) / np.sqrt(2)
    return shared + sided + whole + by_row + np.array([0, plus])[:, None]


def accuracy(easy: np.ndarray, drawn: bootstrap.Resamples) -> Scored:
    right = easy > -0.3
    draws = bootstrap.accuracies(right.reshape(ROWS, -1), drawn)
    return _second_less_first(right.mean(axis=0)), _second_less_first(draws.reshape(-1, *right.shape[1:]))


def pearson(easy: np.ndarray, gold: np.ndarray, drawn: bootstrap.Resamples) -> Scored:
    """Of predictions that are better the easier a row is; gold is rows x runs."""
    labels = np.broadcast_to(gold[:, :, None, None], easy.shape).reshape(ROWS, -1)
    said = labels + 0.5 * easy.reshape(ROWS, -1)
    once = bootstrap.Resamples(np.ones((1, ROWS), dtype=np.float32), np.arange(ROWS))
    one, many = (bootstrap.pearsons(labels, said, which).reshape(-1, *easy.shape[1:]) for which in (once, drawn))
    return _second_less_first(one[0]), _second_less_first(many)


def _second_less_first(scores: np.ndarray) -> np.ndarray:
    return scores[..., 1, :] - scores[..., 0, :]


def rejected(p: np.ndarray) -> float:
    return float(np.mean(p < 0.05))


@pytest.mark.parametrize(("seed_noise", "least"), [(0.0, 0.005), (0.4, TIMID)])  # cautious where seeds have no noise
@pytest.mark.parametrize("count", [2, 3, 6])
def test_the_hierarchical_bootstrap_keeps_its_level(count: int, seed_noise: float, least: float) -> None:
    random = np.random.default_rng([count, int(10 * seed_noise)])
    drawn = bootstrap.resamples(EACH, random, DRAWS)
    same = seeds.hierarchical(*accuracy(ease(random, count, seed_noise), drawn), random)
    assert least <= rejected(same.p) <= BOLD
    assert least <= np.mean((same.low > 0) | (same.high < 0)) <= BOLD  # intervals say the same
    assert least <= rejected(2 * np.minimum(same.at_most(0), same.at_least(0))) <= BOLD  # and so do those of bounds
    unlike = seeds.hierarchical(*accuracy(ease(random, count, seed_noise, unlike=0.5), drawn), random)
    assert rejected(unlike.p) <= BOLD  # cautious here, as its docstring says


def test_the_overall_score_keeps_its_level_too() -> None:
    random, count = np.random.default_rng(3), 3
    drawn = [bootstrap.resamples(EACH, random, DRAWS) for _ in range(2)]
    easy = [ease(random, count, 0.3) for _ in range(2)]
    parts = accuracy(easy[0], drawn[0]), pearson(easy[1], random.normal(size=(ROWS, RUNS)), drawn[1])
    observed, draws = ((one + other) / 2 for one, other in zip(*parts, strict=True))
    assert TIMID <= rejected(seeds.hierarchical(observed, draws, random).p) <= BOLD


@pytest.mark.parametrize("clusters", [EACH, IN_PAIRS], ids=["rows", "pairs"])
def test_the_paired_bootstrap_keeps_its_level(clusters: np.ndarray) -> None:
    random = np.random.default_rng(4)
    drawn = bootstrap.resamples(clusters, random, draws=4_000)
    easy, gold = ease(random, 1, clusters=clusters), random.normal(size=(ROWS, RUNS))
    for _, draws in (accuracy(easy, drawn), pearson(easy, gold, drawn)):
        assert TIMID <= rejected(bootstrap.p_value(draws)) <= BOLD
        low, high = bootstrap.interval(draws)
        assert TIMID <= np.mean((low > 0) | (high < 0)) <= BOLD


def test_rows_drawn_one_by_one_would_be_too_bold_where_they_share_a_sentence() -> None:
    random = np.random.default_rng(5)
    easy = ease(random, 1, clusters=IN_PAIRS)
    _, draws = accuracy(easy, bootstrap.resamples(EACH, random, DRAWS))
    _, apart = accuracy(easy, bootstrap.resamples(IN_PAIRS, random, DRAWS))
    assert rejected(bootstrap.p_value(draws)) > rejected(bootstrap.p_value(apart)) + 0.02


def test_groups_of_clusters_do_as_well_as_clusters() -> None:
    random = np.random.default_rng(6)
    drawn = bootstrap.resamples(EACH, random, DRAWS, units=150)
    assert drawn.weights.shape == (DRAWS, 150)
    assert TIMID <= rejected(bootstrap.p_value(accuracy(ease(random, 1), drawn)[1])) <= BOLD


@pytest.mark.parametrize(("count", "level"), [(3, 0), (6, 2 / 64)])
def test_the_sign_flip_rejects_as_often_as_it_says(count: int, level: float) -> None:
    random = np.random.default_rng([8, count])
    observed, _ = accuracy(ease(random, count, 0.2), bootstrap.resamples(EACH, random, 1))
    assert rejected(seeds.sign_flip(observed)) == pytest.approx(level, abs=0.015)


@pytest.mark.parametrize(("count", "unlike"), [(3, 0.0), (3, 0.5), (6, 0.0), (6, 0.5)])
def test_a_planted_difference_is_found_in_four_of_five(count: int, unlike: float) -> None:
    random = np.random.default_rng([9, count])
    drawn = bootstrap.resamples(EACH, random, DRAWS)

    def found(plus: float) -> seeds.Difference:
        return seeds.hierarchical(*accuracy(ease(random, count, 0.05, unlike, plus), drawn), random)

    nothing = found(0)
    ratio = (nothing.high - nothing.low) / 2 / np.sqrt(nothing.planned + nothing.of_examples)
    error = float(np.sqrt((nothing.planned + nothing.of_examples).mean()))
    promised = seeds.detectable(float(np.median(ratio)) * error, error)
    plus = 0.2
    for _ in range(2):
        plus *= promised / found(plus).mean.mean()
    planted = found(plus)
    assert planted.mean.mean() == pytest.approx(promised, rel=0.05)
    assert rejected(planted.p) == pytest.approx(seeds.POWER, abs=0.05)


def test_a_planted_difference_of_single_runs_is_found_in_four_of_five() -> None:
    random = np.random.default_rng(10)
    drawn = bootstrap.resamples(EACH, random, DRAWS)
    observed, draws = accuracy(ease(random, 1, plus=0.33), drawn)
    low, high = bootstrap.interval(draws)
    promised = seeds.detectable(float((high - low).mean() / 2), float(draws.std(axis=0).mean()))
    assert observed.mean() == pytest.approx(promised, rel=0.05)
    assert rejected(bootstrap.p_value(draws)) == pytest.approx(seeds.POWER, abs=0.05)
