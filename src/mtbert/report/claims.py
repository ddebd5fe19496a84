"""What the papers claim beside what our runs say of it, by the rule of docs/verdicts.md: one table, and its words."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from mtbert import claims
from mtbert.claims import ClaimResult, Part, PartResult, Reason, Verdict
from mtbert.report import markdown
from mtbert.report.study import Study, title
from mtbert.results.tables import Frame

WORDS: dict[Verdict | Reason | None, str] = {
    Verdict.HOLDS: "holds", Verdict.FAILS: "does not hold", Verdict.SMALL: "real, but smaller than what matters",
    Verdict.TOO_CLOSE: "too close to call", Reason.NOT_RUN: "not run",
    Reason.UNLIKE_RUNS: "not comparable: trained with other code or settings",
    Reason.UNDECLARED: "not comparable: the sides differ in more than the claim says",
    Reason.CONFOUNDED: "cannot be told: confounded", Reason.UNEQUAL_BUDGETS: "cannot be told: unequal budgets",
    Reason.ENCODER: "cannot be tested with this encoder", Reason.FEW_SEEDS: "open: fewer than six seeds",
    Reason.FEW_CLUSTERS: "cannot be told: too few rows", Reason.FLIPS: "cannot be told: flips with the budget",
    None: "",
}  # fmt: skip
SEEN = "\N{DOUBLE DAGGER}"  # of what the encoder may have learned in its own training
ABOUT = (
    "A verdict needs six seeds of each side, and is corrected over all claims of its paper (docs/verdicts.md). *Ours* "
    "is first minus second, with its 95 % interval. *This comparison* says what it shows by itself, not corrected. A "
    "verdict speaks of this setting alone"
)


def judge(study: Study, third: Study | None = None) -> tuple[list[ClaimResult], list[ClaimResult]]:
    """Judge the papers' claims that the results have runs for, and the questions that the report begins with.

    Both are empty on other data than the papers'. Errors as for `at_a_third`.
    """
    if not study.is_comparable:
        return [], []
    every = claims.load()
    whole = claims.of_results(study.results)
    before = None if third is None else claims.at_a_third(whole, claims.of_results(third.results))
    judged = claims.judge(every.claims.values(), whole, before)
    questions = claims.judge(every.questions.values(), whole, before)
    return [result for result in judged if result.reason is not Reason.NOT_RUN], questions


def answer(result: ClaimResult) -> str:
    """Return the verdict, or why there is none, in words."""
    return WORDS[result.verdict or result.reason]


def pair(part: Part) -> str:
    """Return what is compared, such as `a - b, SST-5`."""
    return f"{' + '.join(part.ours)} {markdown.MINUS} {' + '.join(part.other)}, {markdown.heading(part.metric)}"


def difference(part: PartResult) -> str:
    """Return our difference and interval, marked where the encoder may have learned the task; a dash for none."""
    if part.difference is None:
        return markdown.DASH
    may_be_known = part.part.is_about_similarity or part.part.metric == "qqp"
    estimate = markdown.estimate(part.difference.mean, part.difference.interval, "+")
    return f"{estimate} {SEEN}" if may_be_known else estimate


def contamination(study: Study) -> str:
    """Return what the mark means; empty where nothing is known of the encoder."""
    note = markdown.literal(study.results.start.note)
    return f"{SEEN} The encoder may know this task: {note}" if note else ""


def render(study: Study, results: Sequence[ClaimResult]) -> str:
    """Return the claims as one table, a line for each comparison that was run."""
    lines = [line for result in results for line in _lines(result)]
    if not lines:
        return ""
    counts = "; ".join(f"{verdict}: {count}" for verdict, count in Counter(map(answer, results)).most_common())
    where = f"{ABOUT}: profile {study.profile}, encoder {markdown.literal(study.results.start.name)}."
    parts = [
        f"{len(results)} claims. {counts[0].upper()}{counts[1:]}.",
        where,
        contamination(study),
        markdown.lined(lines, 4),
    ]
    return "\n\n".join(filter(None, parts))


def _lines(result: ClaimResult) -> list[dict[str, str]]:
    """Return a line for each comparison that was run; claim and verdict stand in the first alone."""
    where = f"{result.claim.source or title(result.claim.paper)}, {result.claim.section}"
    doubt = f" (In doubt as published: {result.claim.doubt}.)" if result.claim.doubt else ""
    about = {"claim": f"{result.claim.statement}{doubt}", "where": where, "verdict": answer(result)}
    lines = [about | _line(part) for part in result.parts if part.difference is not None]
    return [line if number == 0 else line | dict.fromkeys(about, "") for number, line in enumerate(lines)]


def own_answer(part: PartResult) -> str:
    """Return what is proved of a comparison alone, not corrected, or why nothing is."""
    if part.undeclared:
        return f"not comparable: also differ in {', '.join(part.undeclared)}"
    if part.confounders:
        return f"confounded by {', '.join(part.confounders)}"
    words = WORDS[part.verdict or part.reason]
    return words if part.decides else f"{words} (decides nothing)"


def _line(part: PartResult) -> dict[str, str]:
    return {
        "compared": pair(part.part), "expects": part.part.expects, "ours": difference(part),
        "published": markdown.number(part.part.published, "+"), "this comparison": own_answer(part),
        "steadiness": part.stability or "", "at a third": markdown.number(part.third and part.third.mean, "+"),
        "leak-free": markdown.number(part.leak_free, "+"),
    }  # fmt: skip


def frame(results: Sequence[ClaimResult]) -> Frame:
    """Return claims.csv: a line for each comparison."""
    return pd.DataFrame([_values(result, part) for result in results for part in result.parts])


def _values(result: ClaimResult, part: PartResult) -> dict[str, object]:
    difference = part.difference
    low, high = (difference and difference.interval) or (None, None)
    compared = part.part.model_dump()
    return {
        "claim": result.claim.name,
        **result.claim.model_dump(include={"paper", "source", "section", "statement"}),
        "verdict": answer(result), "reason": WORDS[part.reason],
        "p_holds": result.p.holds, "p_fails": result.p.fails, "p_small": result.p.small,
        **{key: " ".join(value) if isinstance(value, tuple) else value for key, value in compared.items()},
        "difference": difference and difference.mean, "low": low, "high": high, "p": difference and difference.p,
        "seeds": difference and " / ".join(map(str, difference.seeds)), "rows": difference and difference.rows,
        "third": part.third and part.third.mean, "leak_free": part.leak_free,
        "unlike": ", ".join(part.unlike), "undeclared": ", ".join(part.undeclared),
        "confounders": ", ".join(part.confounders), "stability": part.stability or "",
    }  # fmt: skip
