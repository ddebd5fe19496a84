"""The rule of docs/verdicts.md, on arrays: from the p of parts to what is proved of a report's claims.

A claim holds where all its parts do: its p is the largest of theirs (intersection-union; Berger 1982). It does not hold
where any part does not: its p is the smallest, times the number of parts. Both are corrected by Holm over all claims of
the report, run or not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from mtbert.claims.reading import Expected
from mtbert.stats import holm

SEEDS = 6  # of each side, at the only look
LEVEL = 0.025  # one-sided
LEANS = 0.4  # a part whose p of holding is below it does not refute its claim
P = Callable[[float], Any]  # of a bound: a number, or an array of one shape


class Verdict(StrEnum):
    """What is proved of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    SMALL = "small"  # it holds, and a difference is proved to be smaller than the margin
    TOO_CLOSE = "too close"


@dataclass(frozen=True)
class PValues:
    """One-sided p of parts or of claims, of any shape; small where one is proved to

    Attributes:
        holds: hold.
        fails: not hold.
        small: be smaller than the margin; 1 where that does not count against it.
    """

    holds: np.ndarray
    fails: np.ndarray
    small: np.ndarray

    @property
    def verdicts(self) -> np.ndarray:
        """Return the `Verdict` of each, of p that are corrected."""
        holds = np.where(self.small <= LEVEL, Verdict.SMALL, Verdict.HOLDS)
        open_or_not = np.where(self.fails <= LEVEL, Verdict.FAILS, Verdict.TOO_CLOSE)
        return np.where(self.holds <= LEVEL, holds, open_or_not)


NOTHING = PValues(np.ones(()), np.ones(()), np.ones(()))


def part_p(expects: Expected, margin: float, published: float | None, at_most: P, at_least: P) -> PValues:
    """Return the p of a part.

    Args:
        expects: what it says of ours - other.
        margin: the smallest difference that matters.
        published: the difference that the paper prints. Where it is itself below the margin, a small difference does
            not refute: only one of the other sign does.
        at_most: p of the true difference being at most a bound.
        at_least: p of its being at least a bound.
    """
    one = np.ones_like(at_most(0))
    match expects:
        case "close":
            holds = np.maximum(at_most(-margin), at_least(margin))
            return PValues(holds, np.minimum(1, 2 * np.minimum(at_most(margin), at_least(-margin))), one)
        case "not higher":
            return PValues(at_least(margin), at_most(margin), one)
        case "lower" | "not lower":
            mirrored = None if published is None else -published
            upside_down = "higher" if expects == "lower" else "not higher"
            return part_p(upside_down, margin, mirrored, lambda b: at_least(-b), lambda b: at_most(-b))
        case "higher":
            announced = published is not None and published < margin
            fails = at_least(0 if announced else margin)
            return PValues(at_most(0), fails, one if announced else fails)


def decide(parts: Sequence[PValues], counts: Sequence[int]) -> PValues:
    """Return the p of a report's claims, [..., claims], corrected over the report.

    Args:
        parts: those of the first claim, then those of the second and so on; 1 where a part may not be judged.
        counts: how many parts each claim has.
    """
    holds, fails, small = (np.stack([getattr(one, of) for one in parts], axis=-1) for of in ("holds", "fails", "small"))
    starts = np.cumsum(counts, dtype=int) - np.asarray(counts)
    refuting = np.where(holds <= LEANS, 1, fails)
    refuted, smaller = (np.minimum(1, counts * np.minimum.reduceat(p, starts, axis=-1)) for p in (refuting, small))
    return PValues(holm(np.maximum.reduceat(holds, starts, axis=-1)), holm(refuted), holm(smaller))
