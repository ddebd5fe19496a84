"""Format the result of a comparison: text for people, plain values for scripts."""

from typing import Any

from mtbert.comparing.judging import Answer, Outcome, Side
from mtbert.statistics.verdicts import LOOKS

TITLES = {"accuracy": "accuracy", "f1": "F1", "pearson": "Pearson's r", "spearman": "Spearman's rho"}
OF_MODELS = " (these two models: one training each says nothing of other trainings)"
SENTENCES: dict[Answer, str] = {
    "better": "{ours} is better than {theirs}",
    "better by less than what matters": "{ours} is better than {theirs}, by less than what matters ({matters:g})",
    "worse": "{ours} is worse than {theirs}",
    "worse by less than what matters": "{ours} is worse than {theirs}, by less than what matters ({matters:g})",
    "apart by less than what matters": "{ours} and {theirs} are apart by less than what matters ({matters:g})",
    "not better by what matters": "{ours} is not better than {theirs} by what matters ({matters:g}); whether it is "
    "worse cannot be told",
    "not worse by what matters": "{ours} is not worse than {theirs} by what matters ({matters:g}); whether it is "
    "better cannot be told",
    "cannot be told": "Which of {ours} and {theirs} is better cannot be told",
}


def verdict(outcome: Outcome) -> str:
    """Return one sentence: what is shown, and for which models or seeds."""
    ours, theirs = short(outcome.ours.name, outcome.theirs.name)
    sentence = SENTENCES[outcome.answer].format(ours=ours, theirs=theirs, matters=outcome.matters)
    return f"{sentence}{_of_what(outcome)}."


def short(ours: str, theirs: str) -> tuple[str, str]:
    """Return two paths without the folders at the start and the parts at the end that they share."""
    one, other = ours.split("/"), theirs.split("/")
    while len(one) > 1 and len(other) > 1 and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while len(one) > 1 and len(other) > 1 and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return "/".join(one), "/".join(other)


def _of_what(outcome: Outcome) -> str:
    seeds = len(outcome.seeds)
    if seeds == 1:
        return OF_MODELS
    if seeds < min(LOOKS):
        return f" from {seeds} seeds (the rule asks for {min(LOOKS)})"
    return f" (rule of verdicts, {max(look for look in LOOKS if look <= seeds)} seeds)"


def as_text(outcome: Outcome) -> str:
    """Return a few lines for a terminal."""
    difference, title = outcome.difference, TITLES.get(outcome.metric, outcome.metric)
    seeds = f", {len(outcome.seeds)} seeds" if len(outcome.seeds) > 1 else ""
    lines = [
        f"{title} on {outcome.rows} rows in {outcome.clusters} clusters{seeds}; {outcome.apart}",
        "",
        *_table(outcome),
        "",
        f"p of no difference: {difference.p:.4g}",
        f"Smallest difference that such files show in four of five cases: {difference.detectable:.4f}",
        *outcome.notes,
        "",
        verdict(outcome),
    ]
    return "\n".join(lines)


def _table(outcome: Outcome) -> list[str]:
    difference, sides = outcome.difference, (outcome.ours, outcome.theirs)
    names = short(outcome.ours.name, outcome.theirs.name)
    width = max(len("difference"), *map(len, names))
    lines = [(name, f"{side.score:.4f}", _interval(side.low, side.high))
             for name, side in zip(names, sides, strict=True)]  # fmt: skip
    lines.append(("difference", f"{difference.difference:+.4f}", _interval(difference.low, difference.high, "+")))
    head = f"{'':<{width}}  {'score':>8}  95 % interval"
    return [head, *(f"{name:<{width}}  {score:>8}  {interval}" for name, score, interval in lines)]


def _interval(low: float, high: float, sign: str = "") -> str:
    return f"{low:{sign}.4f} to {high:{sign}.4f}"


def as_values(outcome: Outcome) -> dict[str, Any]:
    """Return the same as values for JSON; scores and p are not rounded."""
    difference = outcome.difference
    return {
        "ours": _side(outcome.ours),
        "theirs": _side(outcome.theirs),
        "metric": outcome.metric,
        "rows": outcome.rows,
        "clusters": outcome.clusters,
        "seeds": [seed for seed in outcome.seeds if seed],
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p,
        "tests": difference.tests,
        "detectable": difference.detectable,
        "matters": outcome.matters,
        "answer": outcome.answer,
        "verdict": verdict(outcome),
        "notes": [*outcome.notes, outcome.apart],
    }


def _side(side: Side) -> dict[str, Any]:
    return {"name": side.name, "score": side.score, "low": side.low, "high": side.high, "by_seed": side.by_seed}
