"""What can be answered to a claim, and by which of its parts."""

from dataclasses import dataclass

from mtbert.reporting.claims import Answer

HOLDS: Answer = "holds"
LITTLE: Answer = "real, but smaller than what matters"
FAILS: Answer = "does not hold"
OPEN: Answer = "cannot be told from these runs"
FAULTY: Answer = "cannot be told: trained by faulty code"
LEARNING: Answer = "cannot be told: still learning"
UNEQUAL: Answer = "cannot be told: unequal budgets"
UNLIKE: Answer = "cannot be compared"
NOT_RUN: Answer = "not run"
GATES: tuple[Answer, ...] = (UNLIKE, FAULTY, LEARNING, UNEQUAL)
PROVED: tuple[Answer, ...] = (HOLDS, LITTLE, FAILS)


@dataclass(frozen=True)
class Ruling:
    """What is proved of a claim.

    Attributes:
        answer: OPEN where nothing is.
        look: the number of seeds of the look that proved it; None where it is open.
        parts: those that prove it, from 0, by their p; of a claim that holds, where all have to, that with the largest.
        both: the looks of an open claim that is proved to hold at one, and not to hold at another.
    """

    answer: Answer
    look: int | None = None
    parts: tuple[int, ...] = ()
    both: tuple[int, int] | None = None
