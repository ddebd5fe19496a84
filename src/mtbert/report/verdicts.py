"""Verdicts in words."""

from mtbert.judge import OVERFITTING, SEEDS, Verdict
from mtbert.report.markdown import count

WORDS = {
    Verdict.HOLDS: "holds", Verdict.SMALL: "real, but smaller than what matters", Verdict.FAILS: "does not hold",
    Verdict.BETTER: "better", Verdict.WORSE: "worse", Verdict.CLOSE: "as good", Verdict.TOO_CLOSE: "too close to call",
    Verdict.NOT_COMPARABLE: "not comparable", Verdict.OPEN: "open", Verdict.NOT_RUN: "not run",
}  # fmt: skip
DIRECTIONS = {Verdict.BETTER: "higher", Verdict.WORSE: "lower"}  # where more is not better
SIZE_OPEN = "by how much is open"
OBSTACLES = {  # beside a verdict, where the name of the obstacle does not say it
    "encoder": "cannot be tested with this encoder", "rows": "too few rows", "flip": "flips with the budget",
    "seeds": f"fewer than {count(SEEDS)} seeds", "parts": "not every comparison is proved",
}  # fmt: skip


def in_words(verdict: Verdict, obstacle: str = "", is_size_open: bool = False, metric: str = "") -> str:
    """Return a verdict in words, with what keeps it from being another one."""
    if verdict in DIRECTIONS:
        words = DIRECTIONS[verdict] if metric == OVERFITTING else WORDS[verdict]
        return f"{words}, {SIZE_OPEN}" if is_size_open else words
    if verdict in (Verdict.NOT_COMPARABLE, Verdict.OPEN):
        return f"{WORDS[verdict]}: {OBSTACLES.get(obstacle, obstacle)}"
    return WORDS[verdict]
