"""The rule of verdicts, on arrays alone: from the p of parts to the verdicts on a paper's claims.

A claim has parts. It *holds* where every part does, so its p is the largest of its parts' (intersection-union; Berger
1982). It *does not hold* where any part does not, so that p is the number of parts times the smallest (Bonferroni).
Both are corrected by Holm over all claims of a paper, run or not: a claim that was not run has a p of 1.

Verdicts are reached only at planned looks, each at a level of its own. What is proved at a look stays proved: the
levels together bound the probability of an error at any look by 2.9 %.

docs/verdicts.md reports how often this errs, and how often it detects a difference.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mtbert.statistics.multiple import holm

LOOKS = {3: 0.001, 6: 0.008, 10: 0.020}  # seeds, and the one-sided level there
PLANNED = max(LOOKS)
LEANS = 0.2
P = Callable[[float], np.ndarray]  # of a bound


@dataclass(frozen=True)
class PartP:
    """One-sided p of parts, ... each, small where a part is proved to

    Attributes:
        holds: hold.
        fails: not hold.
        little: be smaller than what matters; 1 where that does not count against it.
    """

    holds: np.ndarray
    fails: np.ndarray
    little: np.ndarray


def one_sided(at_most: P, at_least: P, matters: float, announced: float | None) -> PartP:
    """Return the p of a part that claims a higher score.

    Args:
        at_most: p of the true difference being at most a bound.
        at_least: p of its being at least a bound.
        matters: the smallest difference that matters.
        announced: the difference that the paper states, or None. Where it is itself smaller than what matters, a small
            difference does not count against the claim: the part fails only where the difference is not positive.
    """
    small = announced is not None and announced < matters
    fails = at_least(0 if small else matters)
    return PartP(at_most(0), fails, np.ones_like(fails) if small else fails)


def close(at_most: P, at_least: P, matters: float) -> PartP:
    """Return the p of a part that claims a difference below what matters: two one-sided tests (Schuirmann 1987)."""
    holds = np.maximum(at_most(-matters), at_least(matters))
    fails = np.minimum(1, 2 * np.minimum(at_most(matters), at_least(-matters)))
    return PartP(holds, fails, np.ones_like(fails))


def not_higher(at_most: P, at_least: P, matters: float) -> PartP:
    """Return the p of a part that claims that one is not higher by what matters."""
    holds, fails = at_least(matters), at_most(matters)
    return PartP(holds, fails, np.ones_like(fails))


@dataclass(frozen=True)
class Decision:
    """What is proved of claims, masks [..., claims], and their p, corrected over the family, [looks, ..., claims].

    Attributes:
        holds, fails: whether a claim is proved to hold, or not to hold.
        little: whether a part of it is proved to be smaller than what matters.
        p_holds, p_fails, p_little: p of the three.
    """

    holds: np.ndarray
    fails: np.ndarray
    little: np.ndarray
    p_holds: np.ndarray
    p_fails: np.ndarray
    p_little: np.ndarray


def decide(parts: PartP, of: Sequence[Sequence[int]], levels: Sequence[float]) -> Decision:
    """Decide what is proved of every claim of a family.

    A part refutes its claim only where it does not lean towards it: where its own p of holding is above LEANS. So a
    small true difference rarely counts as none, at little cost in power.

    Args:
        parts: [looks, ..., parts]; 1 where a look was not reached.
        of: the parts of each claim.
        levels: the level of each look.
    """
    by_look = np.reshape(levels, (-1, *[1] * (parts.holds.ndim - 1)))
    failing = refuting(parts.holds, parts.fails)
    holds = holm(_of_claims(parts.holds, of, _all_of))
    fails, little = (holm(_of_claims(p, of, _any_of)) for p in (failing, parts.little))
    proved = [np.any(p <= by_look, axis=0) for p in (holds, fails, little)]
    return Decision(proved[0], proved[1], proved[2], holds, fails, little)


def refuting(holds: np.ndarray, fails: np.ndarray) -> np.ndarray:
    """The p by which parts refute their claim: that of failing, and 1 where a part leans towards it."""
    return np.where(holds <= LEANS, 1, fails)


def _of_claims(p: np.ndarray, of: Sequence[Sequence[int]], joined: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.stack([joined(p[..., list(parts)]) for parts in of], axis=-1)


def _all_of(p: np.ndarray) -> np.ndarray:
    return p.max(axis=-1)


def _any_of(p: np.ndarray) -> np.ndarray:
    return np.minimum(1, p.shape[-1] * p.min(axis=-1))
