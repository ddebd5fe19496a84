"""How often the rule errs where a side has no seeds, from simulated predictions: the second table of docs/verdicts.md.

`python benchmarks/seedless.py 4000` simulates as many dev splits for each line. Every row has a difficulty that both
sides share and one for each side; a side with seeds adds noise for each seed, and for each row and seed. So the
expected scores are known, and the true difference is set: 0, or the margin.
"""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import special

from mtbert.claims.rule import LEVEL, SEEDS, part_p
from mtbert.stats import Difference, Side, difference, influence, mean_of

MARGIN = 0.01
ROWS = (100, 1000)
CASES = {"six seeds and six": (SEEDS, SEEDS), "six seeds and none": (SEEDS, 0), "none and none": (0, 0)}
METRICS = ("accuracy", "pearson", "mean of both")
SCORE = 0.7  # what the second side scores by either metric
SHARED, OWN = 0.5, 0.3  # shares of the variance of a prediction: difficulty of rows for both sides, and for one
SEED_SHIFT = 0.035  # standard deviation over seeds, in those of a prediction; 0.012 of accuracy


def side(
    metric: str, score: float, seeds: int, labels: np.ndarray, shared: np.ndarray, draw: np.random.Generator
) -> Side:
    """Simulate a side whose expected score is `score`.

    Args:
        metric: one of METRICS.
        score: by each task of it.
        seeds: 0 for a side without seeds.
        labels: [rows], standard normal.
        shared: [rows], the difficulty that both sides have, standard normal.
        draw: the source of noise.
    """
    if metric == METRICS[-1]:
        tasks = [side(task, score, seeds, labels, shared, draw) for task in METRICS[:-1]]
        return mean_of([replace(task, rows=len(labels)) for task in tasks])
    noise = _noise(seeds, shared, draw)
    if metric == "accuracy":
        shift = SEED_SHIFT * draw.normal(size=noise.shape[1]) if seeds else 0.0
        threshold = special.ndtri(score) * np.sqrt(1 + (SEED_SHIFT**2 if seeds else 0))
        labels, predictions = np.ones(len(labels)), (noise < threshold + shift).astype(float)
    else:
        predictions = score * labels[:, None] + np.sqrt(1 - score**2) * noise
    scored = influence.scored(metric, labels, predictions, np.arange(len(labels)), [])
    return replace(scored, has_seeds=bool(seeds))


def _noise(seeds: int, shared: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return the noise of each prediction, [rows, seeds], standard normal; without seeds all of it is of rows."""
    rows = len(shared)
    of_rows = np.sqrt(SHARED) * shared + np.sqrt(OWN) * draw.normal(size=rows)
    return of_rows[:, None] + np.sqrt(1 - SHARED - OWN) * draw.normal(size=(rows, max(1, seeds)))


def simulated(metric: str, truth: float, seeds: tuple[int, int], rows: int, draw: np.random.Generator) -> Difference:
    """Return the difference that one simulated dev split shows, whose true one is `truth`."""
    labels, shared = draw.normal(size=rows), draw.normal(size=rows)
    ours = side(metric, SCORE + truth, seeds[0], labels, shared, draw)
    return difference(ours, side(metric, SCORE, seeds[1], labels, shared, draw))


def rates(metric: str, seeds: tuple[int, int], rows: int, splits: int, draw: np.random.Generator) -> dict[str, float]:
    """Return how often the rule says what is not so, each with the true difference at the boundary.

    *Better* and *worse* with no difference, *no worse* with ours lower by the margin; *outside* is how often the 95 %
    interval misses the true difference.
    """
    equal = [simulated(metric, 0.0, seeds, rows, draw) for _ in range(splits)]
    lower = [simulated(metric, -MARGIN, seeds, rows, draw) for _ in range(splits)]
    intervals = [(one.interval, truth) for truth, every in ((0.0, equal), (-MARGIN, lower)) for one in every]
    return {
        "better": _share([part_p("higher", MARGIN, None, one).holds <= LEVEL for one in equal]),
        "worse": _share([part_p("lower", MARGIN, None, one).holds <= LEVEL for one in equal]),
        "no worse": _share([part_p("not lower", MARGIN, None, one).holds <= LEVEL for one in lower]),
        "outside": _share([ends is None or not ends[0] <= truth <= ends[1] for ends, truth in intervals]),
    }


def _share(events: Sequence[bool]) -> float:
    return sum(events) / len(events)


def table(splits: int) -> str:
    """Return the rates in per cent as Markdown."""
    draw = np.random.default_rng(0)
    lines = []
    for (case, seeds), metric, rows in itertools.product(CASES.items(), METRICS, ROWS):
        shares = rates(metric, seeds, rows, splits, draw)
        names = {"seeds of the sides": case, "score": metric, "rows": f"{rows:,}"}
        lines.append(names | {name: f"{100 * share:.1f}" for name, share in shares.items()})
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True)


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
