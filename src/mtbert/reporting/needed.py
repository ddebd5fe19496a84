"""How many seeds each kind of claim needs: from the noise of what was run, before the next runs are begun.

A kind of claim is a metric, a paper, since p is corrected over the paper's claims, and what is claimed: a difference is
found where it is what matters; that two are close, or one not higher, is found where they do not differ. The noise of a
metric is that of the comparisons which have been made of it, and where there are none the simulation's.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mtbert.reporting import markdown
from mtbert.reporting.answers import FAULTY, PROVED
from mtbert.reporting.claimed import HEADINGS
from mtbert.reporting.claims import Claims, Comparison, Expected, Part, Verdict
from mtbert.reporting.evidence import tasks_of
from mtbert.reporting.published import TITLES
from mtbert.reporting.simulation import WITHIN, spread
from mtbert.reporting.verdicts import decidable
from mtbert.statistics import seeds
from mtbert.statistics.verdicts import LOOKS, PLANNED

ABOUT = (
    "With how many seeds a true difference of what matters would be found in four of five repetitions, in each "
    "comparison of a claim that is open, and with how many one as large as the paper prints. "
    "Where a comparison claims that two are close, or one not higher: with how many that would be found if they did "
    "not differ. A claim whose models are still learning needs longer trainings as well, and their noise may be "
    "another. The noise is a comparison's own with three seeds or more, else the median of those with the same score, "
    "or assumed "
    f"([how to read a verdict](../../../docs/verdicts.md)). {PLANNED} seeds are planned. Where dev is too small, no "
    "number of seeds finds a difference of this size: it needs more rows. A larger one may still be found."
)
SAYS: dict[Expected, str] = {"higher": "a difference", "lower": "a difference"}  # the others as they are called
Spread = tuple[float, float]
Noise = dict[str, Spread]  # by metric: standard deviations of single seeds' differences, and by examples


def noise(verdicts: Sequence[Verdict]) -> Noise:
    """The medians over the comparisons of each metric that count and have as many seeds as the first look.

    Medians, as one model that learns nothing with one of its seeds moves the mean square of all.
    """
    by_metric: dict[str, list[Spread]] = {}
    for one in (one for verdict in verdicts for part, one in _counting(verdict) if not part.confounded):
        if one is not None and one.seed_sd is not None and one.seeds >= min(LOOKS):
            by_metric.setdefault(one.metric, []).append((one.seed_sd, one.example_sd))
    return {metric: (_median(pairs, 0), _median(pairs, 1)) for metric, pairs in by_metric.items()}


def _median(pairs: Sequence[Spread], at: int) -> float:
    return float(np.median([pair[at] for pair in pairs]))


def _counting(verdict: Verdict) -> list[tuple[Part, Comparison | None]]:
    """The parts of a claim with their comparisons; None of what faulty code trained."""
    every = zip(verdict.claim.parts, verdict.comparisons, verdict.answers, strict=True)
    return [(part, None if answer == FAULTY else one) for part, one, answer in every]


def table(every: Claims, measured: Noise) -> pd.DataFrame:
    """One line for each paper, metric that its claims compare, what they say of it, and what matters there.

    Returns:
        paper, metric, says (a difference, close, or not higher), claims (of the paper, over which p is corrected),
        parts (of this line), matters, seed_sd, example_sd, measured (or assumed), seeds and seeds_twice: the fewest
        with which a difference of what matters, and of twice as much, is found in four of five repetitions; NaN where
        1,000 are too few. Of parts that say close, or not higher, `seeds` is with how many these are found to hold
        where the two do not differ, and `seeds_twice` not to hold, of a claim of one part, where they differ by twice
        what matters.
    """
    lines = []
    claims = [decidable(claim) for claim in every.claims.values()]
    for paper in dict.fromkeys(claim.paper for claim in claims):
        family = [claim for claim in claims if claim.paper == paper and claim.parts]
        kinds = [_kind(part) for claim in family for part in claim.parts]
        level = LOOKS[PLANNED] / len(family)
        for kind, parts in Counter(kinds).items():
            metric, says, matters = kind
            noise_of = measured.get(metric) or spread(tasks_of(metric))
            about = (paper, metric, says, len(family), parts, matters, *noise_of, metric in measured)
            lines.append([*about, _holding(noise_of, says, matters, level), _twice(noise_of, says, matters, level)])
    return pd.DataFrame(lines, columns=COLUMNS).astype({"seeds": "Int64", "seeds_twice": "Int64"})


COLUMNS = [
    "paper", "metric", "says", "claims", "parts", "matters", "seed_sd", "example_sd", "measured", "seeds",
    "seeds_twice",
]  # fmt: skip


def _kind(part: Part) -> tuple[str, str, float]:
    return part.metric, SAYS.get(part.expects, part.expects), part.matters


def _holding(noise_of: Spread, says: str, matters: float, level: float) -> int | None:
    """The fewest seeds that find a part to hold: of a difference of what matters, or, if it says none, of 0.

    That one is not higher is one test against what matters, whose power at 0 is that of a test against 0 at what
    matters. That two are close is two.
    """
    return seeds.needed(*noise_of, matters, level, seeds.within if says == "close" else seeds.promised)


def _twice(noise_of: Spread, says: str, matters: float, level: float) -> int | None:
    """The fewest seeds that find a difference of twice what matters: that a part holds, or not if it says none.

    The latter as `seeds.beyond` has it: what is found beyond the margin is then another margin.
    """
    if says in WITHIN:
        return seeds.needed(*noise_of, matters, level / 2 if says == "close" else level)
    return seeds.needed(*noise_of, 2 * matters, level)


def of_claims(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """How many seeds each claim needs that is open, or was not run.

    Returns:
        claim, paper (who tells it), statement, seeds (that its comparisons have, the fewest), needed: the fewest with
        which a difference of what matters is found in four of five repetitions in each of its comparisons, or, if
        that says close or not higher, that there is none; published: the same of the differences that the paper
        prints, where all its comparisons claim one and it prints all: of those that say close it prints none that
        would have to be found. NA where dev is too small for that, 0 where there are none.
    """
    measured, judged = noise(verdicts), [one for one in verdicts if decidable(one.claim).parts]
    families = Counter(one.claim.paper for one in judged)
    lines = []
    for one in (one for one in judged if one.answer not in PROVED):
        level = LOOKS[PLANNED] / families[one.claim.paper]
        deciding = [(part, seen) for part, seen in _counting(one) if not part.confounded]
        spreads = [_noise(part, seen, measured) for part, seen in deciding]
        parts = [part for part, _ in deciding]
        had = min(0 if seen is None else seen.seeds for _, seen in deciding)
        counts = _for_what_matters(parts, spreads, level), _for_published(parts, spreads, level)
        lines.append((one.claim.name, one.claim.told_by, one.claim.statement, had, *counts))
    columns = ["claim", "paper", "statement", "seeds", "needed", "published"]
    return pd.DataFrame(lines, columns=columns).astype({"needed": "Int64", "published": "Int64"})


def _for_what_matters(parts: Sequence[Part], spreads: Sequence[Spread], level: float) -> int | None:
    """The fewest seeds that find each part to hold."""
    pairs = zip(parts, spreads, strict=True)
    return _most([_holding(noise_of, part.expects, part.matters, level) for part, noise_of in pairs])


def _for_published(parts: Sequence[Part], spreads: Sequence[Spread], level: float) -> int | None:
    """The fewest seeds that find each difference that the paper prints; 0 where a part claims or prints none."""
    if not all(part.published and part.expects not in WITHIN for part in parts):
        return 0
    pairs = zip(parts, spreads, strict=True)
    return _most([seeds.needed(*noise_of, abs(part.published or 0), level) for part, noise_of in pairs])


def _most(counts: Sequence[int | None]) -> int | None:
    """The seeds that are enough for each of several parts."""
    return None if None in counts else max(count for count in counts if count is not None)


def _noise(part: Part, seen: Comparison | None, measured: Noise) -> Spread:
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
            "says": row["says"],
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
    sides = ("left", "left", "left", *["right"] * 4, "left", "right", "right")
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)


def _count(seeds_needed: int | None) -> str:
    return "dev is too small" if bool(pd.isna(seeds_needed)) else str(seeds_needed)
