"""What a comparison told, as text for people and as plain values for scripts."""

from typing import Any

from mtbert.comparing.judging import Answer, Outcome, Side
from mtbert.statistics.verdicts import LOOKS

TITLES = {"accuracy": "accuracy", "f1": "F1", "pearson": "Pearson's r", "spearman": "Spearman's rho"}
OF_MODELS = " (these two models: one training each tells nothing of another)"
SAID: dict[Answer, str] = {
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
    """One sentence: what is proved, and of what."""
    ours, theirs = short(outcome.ours.name, outcome.theirs.name)
    said = SAID[outcome.answer].format(ours=ours, theirs=theirs, matters=outcome.matters)
    return f"{said}{_of_what(outcome)}."


def short(ours: str, theirs: str) -> tuple[str, str]:
    """Two paths without the folders that they share in front, and the parts that they share behind."""
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
    """A few lines for a terminal."""
    found, title = outcome.found, TITLES.get(outcome.metric, outcome.metric)
    seeds = f", {len(outcome.seeds)} seeds" if len(outcome.seeds) > 1 else ""
    lines = [
        f"{title} on {outcome.rows} rows in {outcome.clusters} clusters{seeds}; {outcome.apart}",
        "",
        *_table(outcome),
        "",
        f"p of no difference: {found.p:.4g}",
        f"Smallest difference that such files would show in four of five cases: {found.detectable:.4f}",
        *outcome.notes,
        "",
        verdict(outcome),
    ]
    return "\n".join(lines)


def _table(outcome: Outcome) -> list[str]:
    found, sides = outcome.found, (outcome.ours, outcome.theirs)
    names = short(outcome.ours.name, outcome.theirs.name)
    width = max(len("difference"), *map(len, names))
    lines = [(name, f"{side.score:.4f}", _interval(side.low, side.high))
             for name, side in zip(names, sides, strict=True)]  # fmt: skip
    lines.append(("difference", f"{found.difference:+.4f}", _interval(found.low, found.high, "+")))
    head = f"{'':<{width}}  {'score':>8}  95 % interval"
    return [head, *(f"{name:<{width}}  {score:>8}  {interval}" for name, score, interval in lines)]


def _interval(low: float, high: float, sign: str = "") -> str:
    return f"{low:{sign}.4f} to {high:{sign}.4f}"


def as_values(outcome: Outcome) -> dict[str, Any]:
    """The same as JSON's values; scores and p are not rounded."""
    found = outcome.found
    return {
        "ours": _side(outcome.ours),
        "theirs": _side(outcome.theirs),
        "metric": outcome.metric,
        "rows": outcome.rows,
        "clusters": outcome.clusters,
        "seeds": [seed for seed in outcome.seeds if seed],
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "tests": found.tests,
        "detectable": found.detectable,
        "matters": outcome.matters,
        "answer": outcome.answer,
        "verdict": verdict(outcome),
        "notes": [*outcome.notes, outcome.apart],
    }


def _side(side: Side) -> dict[str, Any]:
    return {"name": side.name, "score": side.score, "low": side.low, "high": side.high, "by_seed": side.by_seed}
