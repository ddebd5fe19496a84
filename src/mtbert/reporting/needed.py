"""How many seeds each kind of claim needs: from the noise of what was run, before the next runs are begun.

A kind of claim is a metric and a paper, since p is corrected over the paper's claims. The noise of a metric is that of
the comparisons which have been made of it, and where there are none the simulation's.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mtbert.reporting import markdown
from mtbert.reporting.claimed import HEADINGS
from mtbert.reporting.claims import Claims, Verdict
from mtbert.reporting.evidence import tasks_of
from mtbert.reporting.published import TITLES
from mtbert.reporting.simulation import spread
from mtbert.reporting.verdicts import decidable
from mtbert.statistics import seeds
from mtbert.statistics.verdicts import LOOKS, PLANNED

Noise = dict[str, tuple[float, float]]  # by metric: standard deviations of single seeds' differences, and by examples


def noise(verdicts: Sequence[Verdict]) -> Noise:
    """The root mean squares over the comparisons of each metric that have as many seeds as the first look."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in (one for verdict in verdicts for one in verdict.comparisons if one is not None):
        if one.seed_sd is not None and one.seeds >= min(LOOKS):
            found.setdefault(one.metric, []).append((one.seed_sd, one.example_sd))
    squares = {metric: np.sqrt(np.mean(np.square(pairs), axis=0)) for metric, pairs in found.items()}
    return {metric: (float(by_seed), float(by_examples)) for metric, (by_seed, by_examples) in squares.items()}


def table(every: Claims, measured: Noise) -> pd.DataFrame:
    """One line for each paper and metric that its claims compare.

    Returns:
        paper, metric, claims (of the paper, over which p is corrected), parts (that compare this metric), matters,
        seed_sd, example_sd, measured (or assumed), seeds and seeds_twice: the fewest with which a difference of what
        matters, and of twice as much, is found in four of five repetitions; NaN where 1,000 are too few.
    """
    lines = []
    claims = [decidable(claim) for claim in every.claims.values()]
    for paper in dict.fromkeys(claim.paper for claim in claims):
        family = [claim for claim in claims if claim.paper == paper and claim.parts]
        metrics = [part.metric for claim in family for part in claim.parts]
        for metric in dict.fromkeys(metrics):
            by_seed, by_examples = measured.get(metric) or spread(tasks_of(metric))
            matters, level = every.matters[metric], LOOKS[PLANNED] / len(family)
            counts = [seeds.needed(by_seed, by_examples, times * matters, level) for times in (1, 2)]
            about = (
                paper,
                metric,
                len(family),
                metrics.count(metric),
                matters,
                by_seed,
                by_examples,
                metric in measured,
            )
            lines.append([*about, *counts])
    return pd.DataFrame(lines, columns=COLUMNS).astype({"seeds": "Int64", "seeds_twice": "Int64"})


COLUMNS = [
    "paper", "metric", "claims", "parts", "matters", "seed_sd", "example_sd", "measured", "seeds", "seeds_twice",
]  # fmt: skip


def render(found: pd.DataFrame) -> str:
    """The same as Markdown."""
    lines = [
        {
            "paper": TITLES[row["paper"]],
            "metric": HEADINGS[row["metric"]],
            "claims": row["claims"],
            "matters": markdown.number(row["matters"]),
            "of a seed": markdown.number(row["seed_sd"]),
            "of dev": markdown.number(row["example_sd"]),
            "noise": "measured" if row["measured"] else "assumed",
            "seeds": _count(row["seeds"]),
            "for twice as much": _count(row["seeds_twice"]),
        }
        for row in found.to_dict("records")
    ]
    sides = ("left", "left", *["right"] * 4, "left", "right", "right")
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)


def _count(seeds_needed: int | None) -> str:
    return "dev is too small" if bool(pd.isna(seeds_needed)) else str(seeds_needed)
