"""How many seeds each kind of claim needs: from the noise of what was run, before the next runs are begun.

A kind of claim is a metric and a paper, since p is corrected over the paper's claims. The noise of a metric is that of
the comparisons which have been made of it, and where there are none the simulation's.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mtbert.reporting import markdown
from mtbert.reporting.claimed import HEADINGS
from mtbert.reporting.claims import Claims, Comparison, Part, Verdict
from mtbert.reporting.evidence import tasks_of
from mtbert.reporting.published import TITLES
from mtbert.reporting.simulation import spread
from mtbert.reporting.verdicts import NOT_RUN, OPEN, decidable
from mtbert.statistics import seeds
from mtbert.statistics.verdicts import LOOKS, PLANNED

ABOUT = (
    "With how many seeds a true difference of what matters would be found in four of five repetitions, in each "
    "comparison of a claim that was not run or has too few seeds, and with how many one as large as the paper prints. "
    "A claim whose models are still learning needs longer training first. The noise is that of the comparisons above "
    "with three seeds or more and, where a score has none, assumed "
    f"([how to read a verdict](../../../docs/verdicts.md)). {PLANNED} seeds are planned. Where dev is too small, no "
    "number of seeds finds a difference of this size: it needs more rows. A larger one may still be found."
)
Noise = dict[str, tuple[float, float]]  # by metric: standard deviations of single seeds' differences, and by examples


def noise(verdicts: Sequence[Verdict]) -> Noise:
    """The root mean squares over the comparisons of each metric that have as many seeds as the first look."""
    by_metric: dict[str, list[tuple[float, float]]] = {}
    for one in (one for verdict in verdicts for one in verdict.comparisons if one is not None):
        if one.seed_sd is not None and one.seeds >= min(LOOKS):
            by_metric.setdefault(one.metric, []).append((one.seed_sd, one.example_sd))
    squares = {metric: np.sqrt(np.mean(np.square(pairs), axis=0)) for metric, pairs in by_metric.items()}
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


def of_claims(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """How many seeds each claim still needs that is open for want of them, or was not run.

    Returns:
        claim, paper (who tells it), statement, seeds (that its comparisons have, the fewest), needed: the fewest with
        which a difference of what matters is found in four of five repetitions in each of its comparisons, published:
        the same of the differences that the paper prints, where it claims some and prints all; NA where dev is too
        small for that, 0 where there are none.
    """
    measured, judged = noise(verdicts), [one for one in verdicts if decidable(one.claim).parts]
    families = Counter(one.claim.paper for one in judged)
    lines = []
    for one in (one for one in judged if one.answer in (OPEN, NOT_RUN)):
        level = LOOKS[PLANNED] / families[one.claim.paper]
        pairs = zip(one.claim.parts, one.comparisons, strict=True)
        deciding = [(part, seen) for part, seen in pairs if not part.confounded]
        spreads = [_noise(part, seen, measured) for part, seen in deciding]
        matter = [part.matters for part, _ in deciding]
        printed = [abs(part.published or 0) for part, _ in deciding if part.expects in ("higher", "lower")]
        had = min(0 if seen is None else seen.seeds for _, seen in deciding)
        counts = (_fewest(spreads, sizes, level) for sizes in (matter, printed))
        lines.append((one.claim.name, one.claim.told_by, one.claim.statement, had, *counts))
    columns = ["claim", "paper", "statement", "seeds", "needed", "published"]
    return pd.DataFrame(lines, columns=columns).astype({"needed": "Int64", "published": "Int64"})


def _fewest(spreads: Sequence[tuple[float, float]], sizes: Sequence[float], level: float) -> int | None:
    """The fewest seeds that find each of these differences; 0 where a comparison states none."""
    if len(sizes) < len(spreads) or not all(sizes):
        return 0
    counts = [seeds.needed(*spread, size, level) for spread, size in zip(spreads, sizes, strict=True)]
    return None if None in counts else max(count for count in counts if count is not None)


def _noise(part: Part, seen: Comparison | None, measured: Noise) -> tuple[float, float]:
    """A comparison's own where it has enough seeds, else its metric's, else the simulation's."""
    if seen is not None and seen.seed_sd is not None and seen.seeds >= min(LOOKS):
        return seen.seed_sd, seen.example_sd
    return measured.get(part.metric) or spread(tasks_of(part.metric))


def still(claims: pd.DataFrame) -> list[dict[str, str]]:
    """The lines of `of_claims` for people: those that need the fewest seeds first."""
    order = claims.sort_values("needed", kind="stable", na_position="last")
    return [
        {
            "claim": row["statement"],
            "of": row["paper"],
            "seeds so far": str(row["seeds"]),
            "needed for what matters": _count(row["needed"]),
            "for what is published": "" if row["published"] == 0 else _count(row["published"]),
        }
        for row in order.to_dict("records")
    ]


def render_claims(claims: pd.DataFrame) -> str:
    """The same as Markdown; empty where no claim is open."""
    if claims.empty:
        return ""
    return f"## Seeds still needed\n\n{ABOUT}\n\n{markdown.lined(still(claims), sides=2)}"


def render(kinds: pd.DataFrame) -> str:
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
        for row in kinds.to_dict("records")
    ]
    sides = ("left", "left", *["right"] * 4, "left", "right", "right")
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)


def _count(seeds_needed: int | None) -> str:
    return "dev is too small" if bool(pd.isna(seeds_needed)) else str(seeds_needed)
