"""Verdicts in words."""

from mtbert.judge import OVERFITTING, SEEDS, Comparison, Obstacle, Verdict
from mtbert.report.markdown import count

WORDS = {
    Verdict.HOLDS: "holds", Verdict.SMALL: "real, but smaller than what matters", Verdict.FAILS: "does not hold",
    Verdict.BETTER: "better, by how much is open", Verdict.WORSE: "worse, by how much is open",
    Verdict.TOO_CLOSE: "too close to call",
}  # fmt: skip
OF_OVERFITTING = {  # where more is not better
    Verdict.BETTER: "higher, by how much is open", Verdict.WORSE: "lower, by how much is open",
}  # fmt: skip
REASONS = {  # where the name of an obstacle does not say it
    Obstacle.ENCODER: "cannot be tested with this encoder", Obstacle.ROWS: "too few rows",
    Obstacle.FLIP: "flips with the budget", Obstacle.SEEDS: f"fewer than {count(SEEDS)} seeds",
    Obstacle.PARTS: "not every comparison is proved",
}  # fmt: skip
NOT_ALIKE = (Obstacle.CODE, Obstacle.SETTINGS, Obstacle.CONFOUNDERS, Obstacle.BUDGETS)  # sides that trained unlike


def in_words(verdict: Verdict | Obstacle, metric: str = "") -> str:
    """Return a verdict in words, or why there is none."""
    if isinstance(verdict, Obstacle):
        return _why_not(verdict)
    return OF_OVERFITTING.get(verdict, WORDS[verdict]) if metric == OVERFITTING else WORDS[verdict]


def _why_not(obstacle: Obstacle) -> str:
    if obstacle is Obstacle.NOT_RUN:
        return reason(obstacle)
    return f"{'not comparable' if obstacle in NOT_ALIKE else 'open'}: {reason(obstacle)}"


def reason(obstacle: Obstacle) -> str:
    """Return an obstacle alone in words."""
    return REASONS.get(obstacle, obstacle.value)


def of_ways(comparison: Comparison) -> str:
    """Return in words what is proved of a way against another one, where the two are expected to be close."""
    if comparison.verdict is Verdict.HOLDS:
        return "as good"
    if comparison.verdict is Verdict.FAILS and comparison.difference:
        return "better" if comparison.difference.mean > 0 else "worse"
    return in_words(comparison.verdict)
