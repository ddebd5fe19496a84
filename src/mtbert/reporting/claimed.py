"""Verdicts for people, as Markdown, and for programs, as a table."""

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import pandas as pd

from mtbert.reporting import markdown
from mtbert.reporting.claims import OVERFITTING, Answer, Comparison, Part, Verdict
from mtbert.reporting.comparisons import line
from mtbert.reporting.published import TITLES

NOT_RUN: Answer = "not run"
ANSWERS: tuple[Answer, ...] = get_args(Answer)
TEXTS = ("claim", "compared", "says", "verdict")  # columns of words
HEADINGS = {**markdown.HEADINGS, OVERFITTING: "overfitting (train - dev)"}
ABOUT = (
    "Each claim as comparisons of variants. *Ours* is the mean difference over seeds with its 95 % interval, p of no "
    "difference, corrected by Holm over the paper's claims. *Matters* is the smallest difference that matters. "
    "*Higher* and *lower* hold where the interval lies on that side of 0 and p < 0.05, and do not where the interval "
    "excludes every difference of that size on that side; *close* holds where the interval lies within that size of 0. "
    "Parts in brackets differ in more than the claim says and do not count. "
    "Found: the smallest difference that these runs would have found in four of five repetitions, before correction."
)
FILES = (
    "As numbers, with every test: [claims.csv](../claims.csv); the rows of tables against baselines: "
    "[comparisons.csv](../comparisons.csv)."
)


def in_short(verdicts: Sequence[Verdict]) -> str:
    """For the README: how many claims got each verdict, and a line for each that was run."""
    if not verdicts:
        return ""
    said = [
        f"**{_capital(v.answer)}.** {v.claim.statement} ({TITLES[v.claim.paper]})"
        for v in sorted(verdicts, key=lambda one: ANSWERS.index(one.answer))
        if v.answer != NOT_RUN
    ]
    about = f"{_counts(verdicts)} [Each with its numbers](details/claims.md)."
    return "\n\n".join(filter(None, ["## What the papers claim", about, markdown.bullets(said)]))


def render(verdicts: Sequence[Verdict]) -> str:
    """All of it: a count, a line for every claim with its reason, the comparisons below it."""
    why = [f"{TITLES[v.claim.paper]}: {v.claim.statement} **{_capital(v.answer)}.** {v.why}" for v in verdicts]
    summary = f"## What the papers claim\n\n{_counts(verdicts)}\n\n{markdown.bullets(why)}\n\n{FILES}"
    lines = [each for verdict in verdicts for each in _lines(verdict)]
    if not lines:
        return summary
    if not any(part.published is not None for verdict in verdicts for part in verdict.claim.parts):
        lines = [{name: text for name, text in line.items() if name != "published"} for line in lines]
    sides = ["left" if name in TEXTS else "right" for name in lines[0]]
    grid = pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)
    return f"{summary}\n\n{ABOUT}\n\n{grid}"


def _counts(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.answer for verdict in verdicts)
    return (
        f"Of {len(verdicts)} claims: {', '.join(f'{counts[answer]} {answer}' for answer in ANSWERS if counts[answer])}."
    )


def _lines(verdict: Verdict) -> list[dict[str, str]]:
    """One a comparison that was run; the first names the claim."""
    each = zip(verdict.claim.parts, verdict.answers, verdict.comparisons, strict=True)
    lines = [_line(part, said, found) for part, said, found in each if found is not None]
    return [{"claim": "" if at else verdict.claim.statement, **line} for at, line in enumerate(lines)]


def _line(part: Part, said: Answer, found: Comparison) -> dict[str, str]:
    compared = f"`{' '.join(part.ours)}` {markdown.MINUS} `{' '.join(part.other)}`, {HEADINGS[part.metric]}"
    shown = f"{markdown.number(found.difference, '+')} {markdown.interval(found.low, found.high, '+')}"
    return {
        "compared": f"({compared})" if part.confounded else compared,
        "says": part.expects,
        "published": markdown.number(part.published, "+"),
        "matters": f"{part.matters:g}",
        "ours": shown,
        "p": markdown.p_value(found.corrected),
        "seeds": str(found.seeds),
        "found": markdown.number(found.detectable),
        "verdict": said,
    }


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def frame(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One line a comparison: the claim and its verdict, what is compared, and what came of it, where it was run."""
    return pd.DataFrame(
        [
            {
                "claim": verdict.claim.name, "paper": verdict.claim.paper, "statement": verdict.claim.statement,
                "verdict": verdict.answer, "part": said, "ours": " ".join(part.ours), "other": " ".join(part.other),
                "metric": part.metric, "expects": part.expects, "published": part.published, "matters": part.matters,
                "confounded": ", ".join(part.confounded), **line(found),
            }
            for verdict in verdicts
            for part, said, found in zip(verdict.claim.parts, verdict.answers, verdict.comparisons, strict=True)
        ]
    )  # fmt: skip
