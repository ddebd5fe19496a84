"""The section of claims: what the papers claim beside what our runs prove of it, as one table and in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from mtbert import claims
from mtbert.claims import ClaimResult, Part, PartResult, Reason, Standing, Verdict
from mtbert.report import markdown
from mtbert.report.scoreboard import Scoreboard, title
from mtbert.results.columns import Frame
from mtbert.results.results import Results
from mtbert.stats import Difference

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
SIZE_OPEN = {  # where a comparison expects a size, which is open, and the sign is proved
    Standing.BETTER_SIZE_OPEN: "higher, by how much is open",
    Standing.WORSE_SIZE_OPEN: "lower, by how much is open",
}
EXPECT_A_SIZE = ("close", "not higher", "not lower")
MAY_BE_KNOWN = "\N{DOUBLE DAGGER}"  # marks what the encoder may have learned in its own training
ABOUT = (
    "A verdict needs six seeds of each side, and is corrected over all claims of its paper (docs/verdicts.md). *Ours* "
    "is first minus second, with its 95 % interval. *This comparison* says what it shows by itself, not corrected. A "
    "verdict speaks of this setting alone"
)


class Judged(NamedTuple):
    """The papers' claims that the results have runs for, and the questions that the report begins with."""

    claims: list[ClaimResult]
    questions: list[ClaimResult]


def judge(board: Scoreboard, third: Results | None = None) -> Judged:
    """Judge claims and questions; none on other data than the papers'. Errors as for `at_a_third`."""
    if not board.is_comparable:
        return Judged([], [])
    every = claims.load()
    whole = board.budget_runs()
    before = None if third is None else claims.at_a_third(whole, claims.of_results(third))
    results = claims.judge(every.claims.values(), whole, before)
    return Judged(
        claims=[result for result in results if result.reason is not Reason.NOT_RUN],
        questions=claims.judge(every.questions.values(), whole, before),
    )


def verdict(result: ClaimResult) -> str:
    """Return the verdict, or why there is none, in words."""
    return WORDS[result.verdict or result.reason]


def pair(part: Part) -> str:
    """Return what is compared, such as `a - b, SST-5`."""
    return f"{' + '.join(part.ours)} {markdown.MINUS} {' + '.join(part.other)}, {markdown.heading(part.metric)}"


def difference(result: PartResult) -> str:
    """Return our difference and interval, marked if the encoder may have learned the task; a dash for none."""
    may_be_known = result.part.is_about_similarity or result.part.metric == "qqp"
    estimate = markdown.estimate(result.difference, "+")
    return f"{estimate} {MAY_BE_KNOWN}" if may_be_known and result.difference else estimate


def contamination(board: Scoreboard) -> str:
    """Return what the mark means; empty if nothing is known of the encoder."""
    note = markdown.literal(board.results.starting_weights.note)
    return f"{MAY_BE_KNOWN} The encoder may know this task: {note}" if note else ""


def render(board: Scoreboard, results: Sequence[ClaimResult]) -> str:
    """Return the claims as one table, a line for each comparison that was run."""
    lines = [line for result in results for line in _lines(result)]
    if not lines:
        return ""
    setting = f"{ABOUT}: profile {board.profile}, encoder {markdown.literal(board.results.starting_weights.name)}."
    parts = [_counts(results), setting, contamination(board), markdown.lined(lines, 4)]
    return "\n\n".join(filter(None, parts))


def _counts(results: Sequence[ClaimResult]) -> str:
    """Return how many claims there are of each verdict."""
    by_verdict = Counter(map(verdict, results)).most_common()
    counts = "; ".join(f"{words}: {count}" for words, count in by_verdict)
    return f"{len(results)} claims. {counts[0].upper()}{counts[1:]}."


def _lines(result: ClaimResult) -> list[dict[str, str]]:
    """Return a line for each comparison that was run; claim and verdict stand in the first alone."""
    claim = result.claim
    doubt = f" (In doubt as published: {claim.doubt}.)" if claim.doubt else ""
    about = {
        "claim": f"{claim.statement}{doubt}",
        "where": f"{claim.source or title(claim.paper)}, {claim.section}",
        "verdict": verdict(result),
    }
    lines: list[dict[str, str]] = []
    for part in result.parts:
        if part.difference is not None:
            shown = dict.fromkeys(about, "") if lines else about
            lines.append(shown | _line(part))
    return lines


def has_size_open(result: PartResult) -> bool:
    """Return whether a comparison that is too close to call still has its sign proved, by its 95 % interval."""
    is_open = result.verdict is Verdict.TOO_CLOSE and result.standing in SIZE_OPEN
    return is_open and result.part.expects in EXPECT_A_SIZE


def own_verdict(result: PartResult) -> str:
    """Return what is proved of a comparison alone, not corrected, or why nothing is."""
    if result.undeclared:
        return f"not comparable: also differ in {', '.join(result.undeclared)}"
    if result.confounders:
        return f"confounded by {', '.join(result.confounders)}"
    words = SIZE_OPEN[result.standing] if has_size_open(result) else WORDS[result.verdict or result.reason]
    return words if result.decides else f"{words} (decides nothing)"


def _line(result: PartResult) -> dict[str, str]:
    return {
        "compared": pair(result.part),
        "expects": result.part.expects,
        "ours": difference(result),
        "published": markdown.number(result.part.published, "+"),
        "this comparison": own_verdict(result),
        "steadiness": result.stability or "",
        "at a third": markdown.number(result.third and result.third.mean, "+"),
        "leak-free": markdown.number(result.leak_free, "+"),
    }


def frame(results: Sequence[ClaimResult]) -> Frame:
    """Return claims.csv: a line for each comparison."""
    return pd.DataFrame([_values(result, part) for result in results for part in result.parts])


def _values(result: ClaimResult, part_result: PartResult) -> dict[str, object]:
    return {
        "claim": result.claim.name,
        **result.claim.model_dump(include={"paper", "source", "section", "statement"}),
        "verdict": verdict(result),
        "reason": WORDS[part_result.reason],
        "p_holds": result.p.holds,
        "p_fails": result.p.fails,
        "p_small": result.p.small,
        **_part_values(part_result.part),
        **_difference_values(part_result.difference),
        "third": part_result.third and part_result.third.mean,
        "leak_free": part_result.leak_free,
        "unlike": ", ".join(part_result.unlike),
        "undeclared": ", ".join(part_result.undeclared),
        "confounders": ", ".join(part_result.confounders),
        "stability": part_result.stability or "",
    }


def _part_values(part: Part) -> dict[str, object]:
    """Return what a part compares, by the names of its settings; several names as words."""
    values = part.model_dump()
    return {key: " ".join(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _difference_values(difference: Difference | None) -> Mapping[str, object]:
    if difference is None:
        return dict.fromkeys(("difference", "low", "high", "p", "seeds", "rows"))
    low, high = difference.interval or (None, None)
    return {
        "difference": difference.mean,
        "low": low,
        "high": high,
        "p": difference.p,
        "seeds": " / ".join(str(count or markdown.DASH) for count in difference.seeds),
        "rows": difference.rows,
    }
