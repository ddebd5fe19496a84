"""Verdicts in words."""

from mtbert.judge import OVERFITTING, SEEDS, Comparison, Verdict
from mtbert.report.markdown import count

WORDS = {
    Verdict.HOLDS: "holds", Verdict.SMALL: "real, but smaller than what matters", Verdict.FAILS: "does not hold",
    Verdict.BETTER: "better, by how much is open", Verdict.WORSE: "worse, by how much is open",
    Verdict.TOO_CLOSE: "too close to call", Verdict.NOT_COMPARABLE: "not comparable", Verdict.OPEN: "open",
    Verdict.NOT_RUN: "not run",
}  # fmt: skip
OF_OVERFITTING = {  # where more is not better
    Verdict.BETTER: "higher, by how much is open", Verdict.WORSE: "lower, by how much is open",
}  # fmt: skip
REASONS = {  # beside a verdict, where the name of the obstacle does not say it
    "encoder": "cannot be tested with this encoder", "rows": "too few rows", "flip": "flips with the budget",
    "seeds": f"fewer than {count(SEEDS)} seeds", "parts": "not every comparison is proved",
}  # fmt: skip


def in_words(verdict: Verdict, obstacle: str = "", metric: str = "") -> str:
    """Return a verdict in words, with what keeps it from being another one."""
    if metric == OVERFITTING and verdict in OF_OVERFITTING:
        return OF_OVERFITTING[verdict]
    if verdict in (Verdict.NOT_COMPARABLE, Verdict.OPEN):
        return f"{WORDS[verdict]}: {REASONS.get(obstacle, obstacle)}"
    return WORDS[verdict]


def of_ways(comparison: Comparison) -> str:
    """Return in words what is proved of a way against another one, where the two are expected to be close."""
    if comparison.verdict is Verdict.HOLDS:
        return "as good"
    if comparison.verdict is Verdict.FAILS and comparison.difference:
        return "better" if comparison.difference.mean > 0 else "worse"
    return in_words(comparison.verdict, comparison.obstacle)
