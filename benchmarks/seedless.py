"""How often the rule errs where a side has no seeds, from simulated predictions; benchmarks/README.md sums it up.

`python benchmarks/seedless.py 2000` simulates as many dev splits for each line. Every row has a difficulty that both
sides share and one for each side; a side with seeds adds noise for each seed, and for each row and seed. So the
expected scores are known, and the true difference is set: 0, or the margin.
"""

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from mtbert.judge.rule import SEEDS, part_p
from mtbert.stats import ONE_SIDED, Estimate, Side, difference, influence, mean_of

MARGIN = 0.01
ROWS = (100, 1000)
CASES = {"six seeds, none": (SEEDS, 0), "none, none": (0, 0)}
TASKS = ("accuracy", "pearson")  # one task of each metric
SCORES = (*TASKS, "mean of both")
SCORE = 0.7  # of the second side, on each task
SHARED, OWN = 0.5, 0.3  # shares of the variance of a prediction: difficulty of rows for both sides, and for one
SEED_SHIFT = 0.035  # standard deviation over seeds, in those of a prediction; 0.012 of accuracy
RATES = ("better", "worse", "no worse", "outside")
Differences = dict[str, list[Estimate]]  # by SCORES, one for each split


def sides(score: float, seeds: int, labels: np.ndarray, shared: np.ndarray, draw: np.random.Generator) -> list[Side]:
    """Simulate a side whose expected score is `score` on each task; return it by SCORES.

    Args:
        score: between 0 and 1.
        seeds: 0 for a side without seeds.
        labels: of the task of scores, [rows], standard normal.
        shared: for each task the difficulty of rows for both sides, [tasks, rows], standard normal.
        draw: the source of noise.
    """
    rows = len(labels)
    right = _noise(seeds, shared[0], draw) < _thresholds(score, seeds, draw)
    said = score * labels[:, None] + np.sqrt(1 - score**2) * _noise(seeds, shared[1], draw)
    scored = [
        replace(influence.scored(metric, gold, predictions, np.arange(rows), []), has_seeds=bool(seeds))
        for metric, gold, predictions in zip(TASKS, (np.ones(rows), labels), (right.astype(float), said), strict=True)
    ]
    return [*scored, mean_of(scored)]


def _noise(seeds: int, shared: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return the noise of each prediction, [rows, seeds], standard normal; without seeds all of it is of rows."""
    rows = len(shared)
    row_noise = np.sqrt(SHARED) * shared + np.sqrt(OWN) * draw.normal(size=rows)
    return row_noise[:, None] + np.sqrt(1 - SHARED - OWN) * draw.normal(size=(rows, max(1, seeds)))


def _thresholds(accuracy: float, seeds: int, draw: np.random.Generator) -> np.ndarray:
    """Return for each seed below which noise it is right on a row, so that its expected accuracy is this one."""
    if not seeds:
        return special.ndtri([accuracy])
    return special.ndtri(accuracy) * np.sqrt(1 + SEED_SHIFT**2) + SEED_SHIFT * draw.normal(size=seeds)


def simulated(
    seeds: tuple[int, int], rows: int, splits: int, draw: np.random.Generator
) -> tuple[Differences, Differences]:
    """Return the differences that dev splits show: where the sides are equal, and where ours is lower by the margin."""
    equal, lower = Differences(), Differences()
    for _ in range(splits):
        labels, shared = draw.normal(size=rows), draw.normal(size=(len(TASKS), rows))
        other = sides(SCORE, seeds[1], labels, shared, draw)
        for differences, score in ((equal, SCORE), (lower, SCORE - MARGIN)):
            ours = sides(score, seeds[0], labels, shared, draw)
            for name, our_side, other_side in zip(SCORES, ours, other, strict=True):
                differences.setdefault(name, []).append(difference(our_side, other_side))
    return equal, lower


def rates(equal: Sequence[Estimate], lower: Sequence[Estimate]) -> list[float]:
    """Return how often the rule says what is not so, by RATES, each with the true difference at the boundary.

    *Better* and *worse* of sides that are equal, *no worse* of ours that is lower by the margin; *outside* is how often
    the 95 % interval misses the true difference.
    """
    intervals = [(one.interval, truth) for truth, every in ((0.0, equal), (-MARGIN, lower)) for one in every]
    return [
        _share([part_p("higher", MARGIN, None, one).holds <= ONE_SIDED for one in equal]),
        _share([part_p("lower", MARGIN, None, one).holds <= ONE_SIDED for one in equal]),
        _share([part_p("not lower", MARGIN, None, one).holds <= ONE_SIDED for one in lower]),
        _share([ends is None or not ends[0] <= truth <= ends[1] for ends, truth in intervals]),
    ]


def _share(events: Sequence[bool]) -> float:
    return sum(events) / len(events)


def lines(splits: int) -> Iterator[str]:
    """Yield the lines of the table, in per cent, as Markdown."""
    yield f"| seeds | score | rows | {' | '.join(RATES)} |"
    yield f"|:---|:---|---:|{'---:|' * len(RATES)}"
    for (case, seeds), rows in itertools.product(CASES.items(), ROWS):
        draw = np.random.default_rng([*seeds, rows])  # so that a line does not depend on those before it
        equal, lower = simulated(seeds, rows, splits, draw)
        for name in SCORES:
            shares = " | ".join(f"{100 * share:.1f}" for share in rates(equal[name], lower[name]))
            yield f"| {case} | {name} | {rows:,} | {shares} |"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 400):
        print(line, flush=True)
