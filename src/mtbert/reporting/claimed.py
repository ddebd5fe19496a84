"""Verdicts for people, as Markdown, and for programs, as a table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

import pandas as pd

from mtbert.reporting import figures, markdown
from mtbert.reporting.answers import FAULTY, GATES, HOLDS, LITTLE, NOT_RUN, PROVED, UNLIKE
from mtbert.reporting.claims import OVERFITTING, Answer, Comparison, Part, Verdict
from mtbert.reporting.comparisons import line
from mtbert.statistics.verdicts import LOOKS, PLANNED

SHOWN = 4  # differences of a claim, in the README
ANSWERS: tuple[Answer, ...] = get_args(Answer)
TEXTS = ("claim", "compared", "says", "verdict", "gate")  # columns of words
_LOOKS = "; ".join(f"{count} seeds: below {level:.3f}" for count, level in LOOKS.items())
HEADINGS = {**figures.SCORES, OVERFITTING: "overfitting (train - dev)"}
ABOUT = (
    "Each claim as comparisons of variants. *Ours* is the mean difference over the seeds of both sides with its 95 % "
    "interval, *unshared* the same without the rows that share a sentence with a training row. *Holds* and *fails* are "
    "the p of the claim, in its first line, corrected over all claims of its paper, at the look that decided it, else "
    f"at the last that all of its parts with a look have reached ({_LOOKS}). A claim holds where all its parts do, and "
    "does not where one part is proved not to; what a part comes to *alone* is not corrected and decides nothing. "
    "*Higher* and *lower* hold where there is a difference to that side and fail where there is none that matters; "
    "*close* holds where they are apart by less than what matters, *not higher* where ours is not better by as much. "
    "Parts in brackets differ in more than the claim says and do not count. Found: the smallest difference that this "
    f"rule finds with {PLANNED} seeds in four of five repetitions; of *close* and *not higher* the smallest with which "
    "they are told not to hold. *Gate*: what keeps a part from being judged, and its claim from having a p. "
    "A fault of the code is on the [first page](../README.md). [How to read a verdict](../../../docs/verdicts.md)."
)
FILES = (
    "As numbers, with every test: [claims.csv](../claims.csv); the rows of tables against baselines: "
    "[comparisons.csv](../comparisons.csv)."
)


def in_short(verdicts: Sequence[Verdict]) -> str:
    """For the README: how many claims got each verdict, and a line for each that could be judged."""
    if not verdicts:
        return ""
    return "\n\n".join(_each_in_short(heading, some) for heading, some in apart(verdicts).items())


def apart(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """The claims of the five reports and those of the field, each under its heading, where there are any."""
    of = {"What the papers claim": False, "What the field claims of PALs and their rivals": True}
    by_heading = {heading: [v for v in verdicts if bool(v.claim.source) == field] for heading, field in of.items()}
    return {heading: some for heading, some in by_heading.items() if some}


def _each_in_short(heading: str, verdicts: Sequence[Verdict]) -> str:
    said = [
        f"**{markdown.capital(v.answer)}.** {v.claim.statement} ({v.claim.told_by}) {so_far(v)}".rstrip()
        for v in sorted(verdicts, key=lambda one: ANSWERS.index(one.answer))
        if v.answer not in (NOT_RUN, FAULTY, UNLIKE)
    ]
    about = f"{_counts(verdicts)} [Each with its numbers](details/claims.md)."
    return "\n\n".join(filter(None, [f"## {heading}", about, markdown.bullets(said)]))


def so_far(verdict: Verdict) -> str:
    """What the runs of a claim show that is not decided: its differences by the two sides; empty where none was."""
    shown, beside = counted(verdict), counted(verdict, confounded=True)
    if verdict.answer in PROVED or not shown + beside:
        return ""
    more = f"; and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    told = [seen_so_far(shown[:SHOWN], more)]
    if beside:
        names = ", ".join(dict.fromkeys(name for part, _ in beside for name in part.confounded))
        told.append(f"Not counted, as {names} differ as well: {_by_sides(beside)}.")
    return " ".join(filter(None, told))


def seen_so_far(shown: Sequence[tuple[Part, Comparison]], more: str = "") -> str:
    """Differences that decide nothing yet, in a sentence; empty without any."""
    if not shown:
        return ""
    seeds = markdown.span({one.seeds for _, one in shown})
    return f"So far, {'one seed' if seeds == '1' else f'{seeds} seeds'}: {_by_sides(shown)}{more}."


def _by_sides(shown: Sequence[tuple[Part, Comparison]]) -> str:
    """Each two sides with their differences."""
    by_sides: dict[str, list[str]] = {}
    for part, one in shown:
        by_sides.setdefault(pair(part), []).append(number(part, one))
    return "; ".join(f"{sides}: {'; '.join(numbers)}" for sides, numbers in by_sides.items())


def number(part: Part, one: Comparison) -> str:
    """A difference beside the published one; and without the rows that train shares, where these change its side."""
    published = "" if part.published is None else f" (published: {markdown.number(part.published, '+')})"
    turned = one.unshared is not None and round(one.unshared, 3) * round(one.difference, 3) < 0
    without = f", but {markdown.number(one.unshared, '+')} without rows that share a sentence with train"
    return f"{difference(one)} {HEADINGS[part.metric]}{published}{without if turned else ''}"


def counted(verdict: Verdict, confounded: bool = False) -> list[tuple[Part, Comparison]]:
    """The parts of a claim that can decide on it and were run; with `confounded` those that cannot."""
    parts = zip(verdict.claim.parts, verdict.comparisons, strict=True)
    return [(part, one) for part, one in parts if one is not None and bool(part.confounded) == confounded]


def difference(one: Comparison) -> str:
    """Such as `+0.013 [-0.002, +0.028]`; of one seed the number alone, since its interval is over examples alone."""
    number = markdown.number(one.difference, "+")
    return number if one.seeds == 1 else f"{number} {markdown.interval(one.low, one.high, '+')}"


def pair(part: Part) -> str:
    """Such as `a - b`: whose difference it is; one model per task as `(a, b, c)`."""
    return f"{_side(part.ours)} {markdown.MINUS} {_side(part.other)}"


def _side(names: Sequence[str]) -> str:
    said = ", ".join(f"`{name}`" for name in names)
    return said if len(names) == 1 else f"({said})"


def matters(verdicts: Sequence[Verdict]) -> str:
    """The smallest difference that matters, of every score; with the claims that set another than most do."""
    claims: dict[str, dict[float, dict[str, None]]] = {}
    for verdict in verdicts:
        for part in verdict.claim.parts:
            sizes = claims.setdefault(figures.NAMES[part.metric], {})
            sizes.setdefault(part.matters, {})[verdict.claim.name] = None
    scores: dict[float, list[str]] = {}
    for score, sizes in claims.items():
        usual = max(sizes, key=lambda size: len(sizes[size]))
        for size, names in sizes.items():
            where = "" if size == usual else f" in {', '.join(f'`{name}`' for name in names)}"
            scores.setdefault(size, []).append(f"{score}{where}")
    return "; ".join(f"{size:g} for {', '.join(said)}" for size, said in sorted(scores.items()))


def render(verdicts: Sequence[Verdict]) -> str:
    """All of it: a count, a line for every claim with its reason, the comparisons below it."""
    summary = "\n\n".join([*(_with_reasons(*group) for group in apart(verdicts).items()), FILES])
    lines = [each for verdict in verdicts for each in _lines(verdict)]
    if not lines:
        return summary
    if not any(part.published is not None for verdict in verdicts for part in verdict.claim.parts):
        lines = [{name: text for name, text in line.items() if name != "published"} for line in lines]
    sides = ["left" if name in TEXTS else "right" for name in lines[0]]
    grid = pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)
    return f"{summary}\n\n{ABOUT}\n\n{grid}"


def _with_reasons(heading: str, verdicts: Sequence[Verdict]) -> str:
    return f"## {heading}\n\n{_counts(verdicts)}\n\n{markdown.bullets([_told(verdict) for verdict in verdicts])}"


def _told(verdict: Verdict) -> str:
    paper, section = verdict.claim.told_by, verdict.claim.section
    return (
        f"{paper} ({section}): {verdict.claim.statement} **{markdown.capital(verdict.answer)}.** {verdict.why}".strip()
    )


def _each(verdict: Verdict) -> Iterator[tuple[Part, Answer, Comparison | None, str]]:
    """Every part with what came of it."""
    gates = verdict.gates or ("",) * len(verdict.claim.parts)
    return zip(verdict.claim.parts, verdict.answers, verdict.comparisons, gates, strict=True)


def _counts(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.answer for verdict in verdicts)
    return (
        f"Of {len(verdicts)} claims: {', '.join(f'{counts[answer]} {answer}' for answer in ANSWERS if counts[answer])}."
    )


def _lines(verdict: Verdict) -> list[dict[str, str]]:
    """One a comparison that was run; the first names the claim."""
    lines: list[dict[str, str]] = []
    for at, (part, _, comparison, gate) in enumerate(_each(verdict)):
        if comparison is not None:
            statement = "" if lines else verdict.claim.statement
            p_of = comparison if comparison is judged(verdict) else None
            lines.append({"claim": statement, **_line(part, alone(verdict, at), comparison, gate, p_of)})
    return lines


def judged(verdict: Verdict) -> Comparison | None:
    """The first comparison that has the p of its claim; None where a gate or too few seeds keep it from having one."""
    having = (one for _, one in counted(verdict) if one.refuted is not None)
    return None if verdict.answer in GATES else next(having, None)


def alone(verdict: Verdict, at: int) -> str:
    """What a part comes to, marked where it is not what its claim was decided by: then it is not corrected."""
    said, counts = verdict.answers[at], not verdict.claim.parts[at].confounded
    all_hold = verdict.answer in (HOLDS, LITTLE) and said == HOLDS and counts
    return f"alone: {said}" if said in PROVED and not (all_hold or at in verdict.deciding) else said


def _line(part: Part, said: str, comparison: Comparison, gate: str, p_of: Comparison | None) -> dict[str, str]:
    compared = f"{pair(part)}, {HEADINGS[part.metric]}"
    return {
        "compared": f"({compared})" if part.confounded else compared,
        "says": part.expects,
        "published": markdown.number(part.published, "+"),
        "matters": f"{part.matters:g}",
        "ours": difference(comparison),
        "unshared": markdown.number(comparison.unshared, "+"),
        "holds": markdown.p_value(p_of.corrected) if p_of is not None else "",
        "fails": markdown.p_value(p_of.refuted) if p_of is not None and p_of.refuted is not None else "",
        "seeds": str(comparison.seeds),
        "found": markdown.number(comparison.detectable),
        "verdict": said,
        "gate": gate,
    }


def frame(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One line a comparison: the claim and its verdict, what is compared, and what came of it, where it was run."""
    return pd.DataFrame(
        [
            {
                "claim": verdict.claim.name, "paper": verdict.claim.paper, "source": verdict.claim.source,
                "section": verdict.claim.section,
                "statement": verdict.claim.statement,
                "verdict": verdict.answer, "part": said, "ours": " ".join(part.ours), "other": " ".join(part.other),
                "metric": part.metric, "expects": part.expects, "published": part.published, "matters": part.matters,
                "confounded": ", ".join(part.confounded), "gate": gate, **line(comparison),
            }
            for verdict in verdicts
            for part, said, comparison, gate in _each(verdict)
        ]
    )  # fmt: skip
