"""What comes first: what ran, what came of it, what can be concluded, and the best rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mtbert.metrics import MAIN_TASKS
from mtbert.reporting import claimed, corpora, costs, findings, machines, markdown, remaking, sentences
from mtbert.reporting.catalog import Completed
from mtbert.reporting.claims import Verdict
from mtbert.reporting.costs import Cost
from mtbert.reporting.findings import Standing
from mtbert.reporting.published import TITLES
from mtbert.reporting.results import Run
from mtbert.reporting.sections.base import Part, Report, Section, once
from mtbert.reporting.sections.claims import BADGES, Badge
from mtbert.reporting.sections.runs import commands, duration
from mtbert.tasks import TASKS

ABOUT = (
    "Five course reports train one BERT on sentiment (SST-5), paraphrases (QQP) and similarity (STS-B) at once, most "
    "of them with *projected attention layers* (PALs): a few weights of its own for each task beside one shared "
    "encoder. From single runs they reach opposite conclusions. Here their rows are trained again in one pipeline, "
    "each by its report's method, from the same encoder and data, and stand beside the published numbers. SST-5 and "
    "QQP are scored by accuracy, STS-B by Pearson's r; *overall* is the mean of the three, and *normalised* with "
    "(r + 1) / 2 in place of r."
)
LEADERS = 5  # rows of the README's table
PAGE_LEADERS = 10  # rows of the page's


@once
def standings(report: Report) -> list[Standing]:
    """Where two reports contradict each other, with the side that the evidence is on."""
    return findings.standings(report.claims.contradictions.values(), report.verdicts)


def readme(report: Report) -> list[str]:
    """What comes first in the README."""
    completed = report.completed
    return [
        headline(completed),
        about(report),
        findings.render(completed, report.verdicts, standings(report), faults(report)),
        "**[index.html](index.html)** is the whole report as one page to explore, offline.",
        markdown.bullets(notes(report)),
        best(report.costs),
    ]


def values(report: Report, local: bool) -> dict[str, Any]:
    """What the page shows."""
    return {
        "about": about(report),
        "lead": findings.lead(report.completed, report.verdicts, faults(report)),
        "each": findings.each(report.verdicts),
        "so_far": findings.so_far(report.verdicts),
        "standings": standings(report),
        "standings_heading": findings.CONTRADICTED,
        "so_far_heading": findings.APART,
        "facts": facts(report, local),
        "counts": {heading: counts(some) for heading, some in claimed.apart(report.verdicts).items()},
        "limits": notes(report),
        "missing": remaking.absent(report.completed),
        "command": commands(report.completed),
        "leaders": leaders(report.costs),
        "unranked": unranked(report.costs),
        "do_not_compare": markdown.DO_NOT_COMPARE,
    }


def about(report: Report) -> str:
    """What the reports and this one do, and the words of their claims."""
    return f"{ABOUT} {report.claims.words}".rstrip()


def headline(completed: Completed) -> str:
    """What ran, in a sentence."""
    known = sum(not entry.members for entry in completed.entries)
    counts = completed.seed_counts
    seeds = "one seed" if counts == {1} else f"{markdown.span(counts)} seeds"
    data = f" on `{completed.data}`" if completed.data else ""
    ran = f"{len(completed.variants)} of the catalog's {known} variants, {seeds} each"
    return f"{ran}, trained{data} from the encoder `{completed.encoder}`."


def notes(report: Report) -> list[str]:
    """What to know before reading the scores, in Markdown."""
    of = report.build, report.completed
    return [*short(report), *limits(report.completed), *corpora.fewer(*of), *machines.several(*of)]


@once
def faults(report: Report) -> list[str]:
    """What is wrong with the code that trained some of the variants, in Markdown; nothing where no fault is known."""
    return faults_of(report.evidence.conducts.faulty(), [entry.name for entry in report.completed.variants])


def faults_of(faulty: Mapping[str, Sequence[str]], variants: Sequence[str]) -> list[str]:
    """The same, of the variants that each fault touched, and all."""
    notes = []
    for fault, names in faulty.items():
        sound = [name for name in variants if name not in names]
        fewer = 0 < len(sound) < len(names)
        which = f"Sound are {remaking.code(sound)}" if fewer else f"They are {remaking.code(names)}"
        notes.append(
            f"**Code with a fault trained {len(names)} of {len(variants)} variants.** {markdown.capital(fault)}. "
            f"Their scores and differences are marked, and no claim is judged by them. {which}."
        )
    return notes


def short(report: Report) -> list[str]:
    """That a profile trains for less long, and otherwise, than the reports did."""
    steps = {run.steps for run in report.runs if run.steps is not None}
    if report.completed.profile == "paper" or not steps:
        return []
    return [
        f"**Short trainings.** {markdown.span(steps)} steps each. The profile `{report.completed.profile}` also sets "
        "batch size, learning rates and more: "
        "[docs/reports.md](../../docs/reports.md#what-sample-and-laptop-replace) lists what it replaces."
    ]


def limits(completed: Completed) -> list[str]:
    """What can be concluded, and what not, in Markdown."""
    counts = completed.seed_counts
    notes = changed(completed)
    if counts == {1}:
        notes.append(
            "**One seed.** Another seed gives other scores, and one run does not show by how much. That one variant is "
            "better than another cannot be concluded from this report."
        )
    else:
        notes.append(
            f"**{markdown.span(counts)} seeds.** In brackets stands the 95 % interval of a difference: where it may "
            "lie with other seeds and other dev rows. If it holds 0, the difference may be noise. One seed has none. "
            "\N{PLUS-MINUS SIGN} is the standard deviation over seeds."
        )
    if sentences.may_be_committed(completed):
        notes.append(
            "**Generated sentences.** The sample is a small corpus of this project's own: it shows that the machinery "
            "works, and says nothing of the methods."
        )
    note = f" {completed.encoder_note.rstrip('.')}." if completed.encoder_note else ""
    if completed.encoder != "bert-base-uncased" and not completed.own_data:
        notes.append(
            f"**Another encoder.** The papers start from `bert-base-uncased`, these runs from `{completed.encoder}`: "
            f"compare which variant is ahead, not the scores themselves.{note}"
        )
    elif note:
        notes.append(f"**`{completed.encoder}`.**{note}")
    notes.append(f"**Which epoch.** {markdown.capital(markdown.KEPT[completed.keep, completed.selection])}.")
    if completed.detail:
        notes.append(f"**Many variants.** {completed.detail}")
    return [*notes, *incomplete(completed)]


def incomplete(completed: Completed) -> list[str]:
    """Which seeds the variants have where not all have the same, and how many were not run; else nothing."""
    ran = {entry.name for entry in completed.ran}
    absent = sum(name not in ran for name in completed.asked)
    partly = bool(completed.missing) and (not absent or any(name in ran for name, _ in completed.missing))
    some = ["Some runs are missing; means and intervals are of those that are there."] if partly else []
    not_run = "was not run" if absent == 1 else "were not run"
    if unlike := _by_seeds(completed):
        told = [f"{unlike}; {absent} {not_run}." if absent else f"{unlike}.", *some]
    elif completed.missing:
        told = some or [f"{absent} of {len(completed.asked)} variants {not_run}; the others have all their seeds."]
    else:
        return []
    return [f"**{'Not complete' if completed.missing else 'Not the same seeds'}.** {' '.join(told)}"]


def _by_seeds(completed: Completed) -> str:
    """Such as `2 variants have seeds 1 to 6, 41 have seeds 1 to 3`; empty where all have the same."""
    counts = Counter(tuple(sorted(entry.seeds)) for entry in completed.variants)
    if len(counts) < 2:
        return ""
    most_first = sorted(counts, key=len, reverse=True)
    told = [f"{counts[seeds]} {'has' if counts[seeds] == 1 else 'have'} {_listed(seeds)}" for seeds in most_first]
    noun = "variant" if counts[most_first[0]] == 1 else "variants"
    return ", ".join(told).replace(" ", f" {noun} ", 1)


def _listed(seeds: Sequence[int]) -> str:
    """Such as `seeds 1 to 3`, `seeds 1, 2 and 5` or `seed 4`."""
    *others, last = map(str, seeds)
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]} to {last}"
    return f"seeds {', '.join(others)} and {last}" if others else f"seed {last}"


def changed(completed: Completed) -> list[str]:
    """What differs from the shipped settings, and in which variants; nothing where nothing does."""
    of: dict[tuple[str, ...], list[str]] = {}
    for entry in completed.ran:
        if entry.changed:
            of.setdefault(entry.changed, []).append(entry.name)
    notes = [f"{remaking.code(names)}: {remaking.code(departures)}" for departures, names in of.items()]
    settings = f" Set for all: {remaking.code(completed.overrides)}." if completed.overrides else ""
    if not notes:
        return [f"**Changed settings.**{settings}"] if settings else []
    return [f"**Changed settings.** These are not the papers' rows any more, and {markdown.CHANGED} marks them: "
            f"{'; '.join(notes)}."]  # fmt: skip


def best(costed: Sequence[Cost]) -> str:
    """The rows with the highest overall on dev."""
    ranked = costs.ranked(costed)
    lines = [
        {
            "variants": " + ".join(f"`{name}`" for name in cost.variants),
            "row": markdown.marked(_titled(cost), bool(cost.departures), cost.faulty),
            "overall": markdown.with_spread(cost.mean("overall_raw"), cost.spread("overall_raw")),
            "normalised": markdown.with_spread(cost.mean("overall_normalised"), cost.spread("overall_normalised")),
            markdown.TIMES_BERT: f"{cost.times_bert:.2f}",
        }
        for cost in ranked[:LEADERS]
    ]
    about = (
        f"On dev. {markdown.TIMES_BERT} counts a row's weights, one encoder as 1. Rows of different reports differ in "
        f"more than PALs, and the order of near neighbours may be noise.{unranked(costed)}"
    )
    grid = markdown.lined(lines, sides=2)
    notes = [markdown.DO_NOT_COMPARE] if markdown.FAULTY in grid else []
    return "\n\n".join(["## Highest overall scores", about, grid, *notes]) if lines else ""


def unranked(costed: Sequence[Cost]) -> str:
    """How many rows of all three tasks are not ranked, and why; empty where all are."""
    count = len(costs.leaders(costed)) - len(costs.ranked(costed))
    rows = "row" if count == 1 else "rows"
    return f" Left out: {count} {rows} of code with a fault, or of fewer seeds than others." if count else ""


def _titled(cost: Cost) -> str:
    """The row's name with its paper's title."""
    return f"{cost.row} ({title})" if (title := TITLES.get(cost.paper)) else cost.row


def facts(report: Report, local: bool) -> list[tuple[str, str]]:
    """The numbers that say how much was run: value and what it counts."""
    known = sum(not entry.members for entry in report.completed.entries)
    counts = report.completed.seed_counts
    scored = {task: len(next(iter(by_variant.values())).labels) for task, by_variant in report.answers.items()}
    return [
        (f"{len(report.completed.variants)} of {known}", "variants of the catalog trained"),
        (markdown.span(counts), "seed each" if counts == {1} else "seeds each"),
        (f"{sum(scored.values()):,}", f"dev rows scored: {_list(scored)}"),
        _length(report.runs, local),
    ]


def _length(runs: Sequence[Run], local: bool) -> tuple[str, str]:
    """How long the trainings were: in steps or, where the page stays on the machine, by the clock."""
    seconds = sum(run.seconds or 0 for run in runs)
    if local and seconds:
        return duration(seconds), "of training in all"
    return f"{sum(run.steps or 0 for run in runs):,}", "steps of training in all"


def _list(tasks: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {TASKS[task].title}" for task, count in tasks.items())


def counts(verdicts: Sequence[Verdict]) -> list[tuple[Badge, int]]:
    """How many claims got each verdict, of those that were given."""
    answers = Counter(verdict.answer for verdict in verdicts)
    return [(badge, answers[answer]) for answer, badge in BADGES.items() if answers[answer]]


def leaders(costed: Sequence[Cost]) -> list[dict[str, Any]]:
    """The rows with the highest overall on dev."""
    return [
        {
            "variants": " + ".join(cost.variants),
            "row": markdown.marked(cost.row, changed=False, faulty=cost.faulty),
            "faulty": cost.faulty,
            "paper": TITLES.get(cost.paper, ""),
            "changed": ", ".join(cost.departures),
            "overall": cost.mean("overall_raw"),
            "spread": cost.spread("overall_raw"),
            "tasks": [cost.mean(task) for task in MAIN_TASKS],
            "times_bert": cost.times_bert,
        }
        for cost in costs.ranked(costed)[:PAGE_LEADERS]
    ]


SECTION = Section(name="summary", title="Summary", readme=readme, part=Part("summary.html", values))
