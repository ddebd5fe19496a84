"""The section of claims: what the papers claim beside what our runs prove of it, as one table and in words."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from mtbert.judge import Verdict
from mtbert.replication.claims import ClaimPart
from mtbert.replication.judging import ClaimComparison, ClaimResult
from mtbert.report import markdown
from mtbert.report.paper_tables import title
from mtbert.report.verdicts import WORDS, in_words, reason_in_words
from mtbert.scores.columns import Frame
from mtbert.scores.results import Results
from mtbert.stats import Estimate

MAY_BE_KNOWN = "\N{DOUBLE DAGGER}"  # marks what the encoder may have learned in its own training
COLUMNS_OF_MISMATCHES = {"unlike": "code", "undeclared": "settings", "confounders": "confounders"}  # of claims.csv
ABOUT = (
    "A verdict needs six seeds of each side, and is corrected over all claims of its paper; *better* and *worse* say "
    "on which side of 0 the interval lies, not corrected (docs/verdicts.md). *Ours* is first minus second, with its "
    "95 % interval. *This comparison* is the result of one comparison, not corrected. A verdict holds for this "
    "setting only"
)


def verdict(result: ClaimResult) -> str:
    """Return what is said of a claim."""
    return in_words(result.verdict, result.reason, result.deciding[0].metric)


def _pair(comparison: ClaimComparison) -> str:
    """Return what is compared, such as `a - b, SST-5`."""
    ours, other = (" + ".join(names) for names in (comparison.ours, comparison.other))
    return f"{ours} {markdown.MINUS} {other}, {markdown.heading(comparison.metric)}"


def difference(result: ClaimComparison) -> str:
    """Return our difference and interval, marked if the encoder may have learned the task; a dash for none."""
    may_be_known = result.is_about_similarity or result.metric == "qqp"
    estimate = markdown.estimate(result.difference, "+")
    return f"{estimate} {MAY_BE_KNOWN}" if may_be_known and result.difference else estimate


def contamination(results: Results) -> str:
    """Return what the mark means; empty if nothing is known of the encoder."""
    note = markdown.literal(results.starting_weights.note)
    return f"{MAY_BE_KNOWN} The encoder may know this task: {note}" if note else ""


def render(results: Results, claims: Sequence[ClaimResult]) -> str:
    """Return the claims as one table, a line for each comparison that was run."""
    lines = [line for claim in claims for line in _lines(claim)]
    if not lines:
        return ""
    setting = f"{ABOUT}: profile {results.profile}, encoder {markdown.literal(results.starting_weights.name)}."
    parts = [_counts(claims), setting, contamination(results), markdown.lined(lines, 4)]
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
    for comparison in result.comparisons:
        if comparison.difference is not None:
            shown = dict.fromkeys(about, "") if lines else about
            lines.append(shown | _line(comparison))
    return lines


def own_verdict(result: ClaimComparison) -> str:
    """Return what is proved of a comparison alone, not corrected, or why nothing is."""
    words = in_words(result.verdict, result.reason, result.metric)
    if result.mismatches:
        return f"{words} ({', '.join(result.mismatches[result.reason])})"
    return words if result.decides else f"{words} (decides nothing)"


def _line(result: ClaimComparison) -> dict[str, str]:
    return {
        "compared": _pair(result),
        "expects": result.expects,
        "ours": difference(result),
        "published": markdown.number(result.published, "+"),
        "this comparison": own_verdict(result),
        "at a third": markdown.number(result.third, "+"),
        "leak-free": markdown.number(result.leak_free, "+"),
    }


def frame(results: Sequence[ClaimResult]) -> Frame:
    """Return claims.csv: a line for each comparison."""
    return pd.DataFrame([_values(result, comparison) for result in results for comparison in result.comparisons])


def _values(result: ClaimResult, comparison: ClaimComparison) -> dict[str, object]:
    return {
        "claim": result.claim.name,
        **result.claim.model_dump(include={"paper", "source", "section", "statement"}),
        "verdict": verdict(result),
        "reason": _reason(comparison),
        "p_holds": result.p.holds,
        "p_fails": result.p.fails,
        "p_small": result.p.small,
        **_setting_values(comparison),
        **_difference_values(comparison.difference),
        "third": comparison.third,
        "leak_free": comparison.leak_free,
        **{column: ", ".join(comparison.mismatches.get(name, ())) for column, name in COLUMNS_OF_MISMATCHES.items()},
    }


def _reason(result: ClaimComparison) -> str:
    return WORDS[Verdict.NOT_RUN] if result.verdict is Verdict.NOT_RUN else reason_in_words(result.reason)


def _setting_values(comparison: ClaimComparison) -> dict[str, object]:
    """Return what is compared, by the names of its settings; several names as words."""
    values = {name: getattr(comparison, name) for name in ClaimPart.model_fields}
    return {key: " ".join(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _difference_values(difference: Estimate | None) -> Mapping[str, object]:
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
