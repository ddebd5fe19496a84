"""The rule of docs/verdicts.md: what is compared, and from differences to what is proved of them.

What has several parts holds where all of them do: its p is the largest of theirs (intersection-union; Berger 1982). It
does not hold where any part does not: its p is the smallest, times the number of parts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from mtbert.judge.budget_runs import BudgetRuns, code_mismatches
from mtbert.scores.metrics import OVERALLS
from mtbert.stats import LEAST_CLUSTERS, ONE_SIDED, Estimate, holm
from mtbert.tasks import Tasks, main

Expected = Literal["higher", "lower", "close", "not higher", "not lower"]  # of ours - other
SEEDS = 6  # of each side that has seeds, at the only look
LEAST_P_TO_REFUTE = 0.4  # of a part that holds; one with a smaller p points the claimed way


class Verdict(StrEnum):
    """What is said of a claim or of a comparison; docs/verdicts.md has them in a table.

    With NOT_COMPARABLE comes what differs, of DIFFERENCES; with OPEN what is missing, of NEEDS.
    """

    HOLDS = "holds"
    SMALL = "small"  # it holds, and a difference is proved to be smaller than the margin
    FAILS = "fails"
    BETTER = "better"  # the 95 % interval lies above 0
    WORSE = "worse"  # it lies below 0
    TOO_CLOSE = "too close"  # none of these is proved
    NOT_COMPARABLE = "not comparable"  # the sides were not trained alike
    OPEN = "open"  # what a verdict needs is missing
    NOT_RUN = "not run"  # a side has no runs


DIFFERENCES = ("code", "settings", "confounders", "budgets")  # the first that differs counts
NEEDS = ("encoder", "rows", "seeds", "budget", "parts")  # the first that is missing counts, after all differences


def margins(tasks: Tasks) -> dict[str, float]:
    """Return by metric the smallest difference that matters: of a mean the largest of its tasks'."""
    task_margins = {name: task.matters for name, task in tasks.items()}
    return task_margins | dict.fromkeys(OVERALLS, max(task_margins[name] for name in main(tasks)))


@dataclass(frozen=True)
class PValues:
    """One-sided p values of a comparison, or of a claim; a small one proves the following.

    Attributes:
        holds: that it holds.
        fails: that it does not hold.
        small: that the difference is smaller than the margin; 1 where that does not count against it.
    """

    holds: float
    fails: float
    small: float

    @property
    def verdict(self) -> Verdict:
        """What corrected p values prove: HOLDS, SMALL, FAILS, or TOO_CLOSE where it is none of these."""
        if self.holds <= ONE_SIDED:
            return Verdict.SMALL if self.small <= ONE_SIDED else Verdict.HOLDS
        return Verdict.FAILS if self.fails <= ONE_SIDED else Verdict.TOO_CLOSE


NOTHING = PValues(1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Comparison:
    """What is to be compared, and what the runs say of it.

    Attributes:
        ours, other: names of the variants (or an ensemble) of each side; several single-task variants make one row.
        metric: a task, an overall, or `overfitting`.
        expects: `higher`: ours is better by more than nothing; `lower`; `close`: apart by less than the margin;
            `not higher`: ours is better by less than the margin, if at all; or `not lower`.
        margin: the smallest difference that matters.
        difference: ours - other; None where it was not run.
        mismatches: names of that in which the sides were not trained alike, by what it is, of DIFFERENCES.
        missing: what a verdict needs and the runs do not have, of NEEDS; empty for nothing.
        p: of what is expected; 1 where it is not judged. Of ways it is corrected over all of them.
        published: the difference that a paper prints; None where none does.
        scores: of ours and of the other, each by itself; None where nobody asks.
    """

    ours: tuple[str, ...]
    other: tuple[str, ...]
    metric: str
    expects: Expected
    margin: float
    difference: Estimate | None = None
    mismatches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = ""
    p: PValues = NOTHING
    published: float | None = None
    scores: tuple[Estimate, Estimate] | None = None

    @property
    def verdict(self) -> Verdict:
        """What is proved of what is expected; else which side is better, or that it is not judged."""
        if self.difference is None:
            return Verdict.NOT_RUN
        if self.mismatches:
            return Verdict.NOT_COMPARABLE
        if self.missing:
            return Verdict.OPEN
        return sign(self.difference) if self.p.verdict is Verdict.TOO_CLOSE else self.p.verdict

    @property
    def reason(self) -> str:
        """Why it is not judged: in what its sides differ, or what is missing; empty where it is, or was not run."""
        return next((name for name in DIFFERENCES if name in self.mismatches), self.missing)

    @property
    def is_judged(self) -> bool:
        """Whether its sides were run and may be compared."""
        return self.difference is not None and not self.reason

    @property
    def uncorrected_p(self) -> PValues:
        """The p of what is expected; 1 where it is not judged, or nothing is known of other rows and seeds."""
        if self.difference is None or self.difference.error is None or not self.is_judged:
            return NOTHING
        return part_p(self.expects, self.margin, self.published, self.difference)


def sign(difference: Estimate | None) -> Verdict:
    """Return BETTER or WORSE where the 95 % interval of ours - other leaves out 0, else TOO_CLOSE."""
    if difference is None or difference.interval is None:
        return Verdict.TOO_CLOSE
    low, high = difference.interval
    if low > 0:
        return Verdict.BETTER
    return Verdict.WORSE if high < 0 else Verdict.TOO_CLOSE


def missing_data(difference: Estimate) -> str:
    """Return what a difference has too few of for a verdict, of NEEDS; empty for neither."""
    if difference.clusters < LEAST_CLUSTERS:
        return "rows"
    return "seeds" if difference.lacks_seeds(SEEDS) else ""


def part_p(expects: Expected, margin: float, published: float | None, difference: Estimate) -> PValues:
    """Return the p of a part.

    Args:
        expects: what it says of ours - other.
        margin: the smallest difference that matters.
        published: the difference that the paper prints. Where it is itself below the margin, a small difference does
            not refute: only one of the other sign does.
        difference: ours - other, as measured.
    """
    at_most, at_least = difference.p_at_most, difference.p_at_least
    match expects:
        case "close":
            holds = max(at_most(-margin), at_least(margin))
            fails = min(1.0, 2 * min(at_most(margin), at_least(-margin)))
            return PValues(holds, fails, 1.0)
        case "not higher":
            return PValues(at_least(margin), at_most(margin), 1.0)
        case "lower" | "not lower":
            published_turned = None if published is None else -published
            return part_p("higher" if expects == "lower" else "not higher", margin, published_turned, difference.turned)
        case "higher":
            if published is not None and published < margin:
                return PValues(at_most(0), at_least(0), 1.0)
            return PValues(at_most(0), at_least(margin), at_least(margin))


def claim_p(parts: Sequence[PValues]) -> PValues:
    """Return the p of a claim from those of its parts; 1 where a part may not be judged."""
    fails = [part.fails for part in parts if part.holds > LEAST_P_TO_REFUTE]
    return PValues(
        holds=max(part.holds for part in parts),
        fails=min(1.0, len(parts) * min(fails, default=1.0)),
        small=min(1.0, len(parts) * min(part.small for part in parts)),
    )


def corrected(family: Sequence[PValues]) -> list[PValues]:
    """Return the p of comparisons, or of a paper's claims, corrected by Holm over all of them."""
    holds = holm([p.holds for p in family])
    fails = holm([p.fails for p in family])
    small = holm([p.small for p in family])
    return [PValues(*p_values) for p_values in zip(holds, fails, small, strict=True)]


def compare_ways(runs: BudgetRuns, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Compare ways by all seeds, of which a study says beforehand how many; p are corrected over all comparisons."""
    compared = [_compared(runs, comparison) for comparison in comparisons]
    corrected_p = corrected([comparison.uncorrected_p for comparison in compared])
    return [replace(comparison, p=p) for comparison, p in zip(compared, corrected_p, strict=True)]


def _compared(runs: BudgetRuns, comparison: Comparison) -> Comparison:
    difference = runs.compare(comparison.ours, comparison.other, comparison.metric)
    if difference is None:
        return comparison
    of_code = code_mismatches(runs.lines([*comparison.ours, *comparison.other]))
    mismatches = {"code": of_code} if of_code else {}
    return replace(comparison, difference=difference, mismatches=mismatches, missing=missing_data(difference))
