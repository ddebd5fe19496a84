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
REASONS = {  # of what is missing; what differs is named
    "encoder": "cannot be tested with this encoder", "rows": "too few rows", "budget": "flips with the budget",
    "seeds": f"fewer than {count(SEEDS)} seeds", "parts": "not every comparison is proved",
}  # fmt: skip


def in_words(verdict: Verdict, reason: str = "", metric: str = "") -> str:
    """Return a verdict in words, with the reason why nothing is judged."""
    words = OF_OVERFITTING.get(verdict, WORDS[verdict]) if metric == OVERFITTING else WORDS[verdict]
    return f"{words}: {reason_in_words(reason)}" if reason else words


def reason_in_words(reason: str) -> str:
    """Return in words what differs, or what is missing."""
    return REASONS.get(reason, reason)


def of_ways(comparison: Comparison) -> str:
    """Return in words what is proved of a way against another one, where the two are expected to be close."""
    if comparison.verdict is Verdict.HOLDS:
        return "as good"
    if comparison.verdict is Verdict.FAILS and comparison.difference:
        return "better" if comparison.difference.mean > 0 else "worse"
    return in_words(comparison.verdict, comparison.reason)
