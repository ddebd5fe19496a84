"""What the five papers claim, and what our runs say of it."""

from dataclasses import dataclass
from typing import Literal

Answer = Literal["holds", "does not hold", "cannot be told from these runs", "not run"]


@dataclass(frozen=True)
class Comparison:
    """One row of a table against another on one metric, over the seeds that both have.

    Attributes:
        ours, other: the variants of each side; several where single-task models make one row.
        metric: of `published.METRICS`.
        difference: mean over seeds of ours - other; low and high: its 95 % interval.
        p: of no difference; corrected: the same by Holm over all comparisons made beside it.
        seeds, examples: how many both sides share; examples are those scored, of all the metric's tasks.
        detectable: the smallest difference that these runs would have found in four of five repetitions.
        tests: p of every single test by its name, such as `McNemar` or `sign flip`.
    """

    ours: tuple[str, ...]
    other: tuple[str, ...]
    metric: str
    difference: float
    low: float
    high: float
    p: float
    corrected: float
    seeds: int
    examples: int
    detectable: float
    tests: dict[str, float]


@dataclass(frozen=True)
class Part:
    """One comparison that a claim makes.

    Attributes:
        ours, other: names of the variants (or an ensemble) of each side.
        metric: of `published.METRICS`.
        expects: `higher`: ours is better by more than nothing; `lower`; or `close`: apart by less than what matters.
        published: the difference that the paper prints; None where it prints none.
        matters: the smallest difference that matters.
        confounded: in what else the two differ; empty where in nothing.
    """

    ours: tuple[str, ...]
    other: tuple[str, ...]
    metric: str
    expects: Literal["higher", "lower", "close"]
    published: float | None
    matters: float
    confounded: str = ""


@dataclass(frozen=True)
class Claim:
    """A paper's claim: name, paper, the statement in a sentence, and the comparisons that it comes to."""

    name: str
    paper: str
    statement: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Verdict:
    """What our runs say of a claim: the answer, a sentence why, and each part's comparison (None where not run)."""

    claim: Claim
    answer: Answer
    why: str
    answers: tuple[Answer, ...]
    comparisons: tuple[Comparison | None, ...]
