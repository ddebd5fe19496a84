"""The rule of docs/verdicts.md: from differences to what is proved of them.

What has several parts holds where all of them do: its p is the largest of theirs (intersection-union; Berger 1982). It
does not hold where any part does not: its p is the smallest, times the number of parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from mtbert.stats import ONE_SIDED, Estimate, holm

Expected = Literal["higher", "lower", "close", "not higher", "not lower"]  # of ours - other
SEEDS = 6  # of each side that has seeds, at the only look
LEANS = 0.4  # a part whose p of holding is below this does not refute its claim


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


def sign(difference: Estimate | None) -> Verdict:
    """Return BETTER or WORSE where the 95 % interval of ours - other leaves out 0, else TOO_CLOSE."""
    if difference is None or difference.interval is None:
        return Verdict.TOO_CLOSE
    low, high = difference.interval
    if low > 0:
        return Verdict.BETTER
    return Verdict.WORSE if high < 0 else Verdict.TOO_CLOSE


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
    fails = [part.fails for part in parts if part.holds > LEANS]
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
