"""The page: what it shows, put together for its template."""

import base64
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from mtbert.metrics import MAIN_TASKS
from mtbert.reporting import (
    claimed,
    claims,
    corpora,
    costs,
    details,
    forest,
    leakage,
    markdown,
    mistakes,
    needed,
    page,
    sentences,
)
from mtbert.reporting import findings as told
from mtbert.reporting.analysis import Analysis
from mtbert.reporting.catalog import Catalog
from mtbert.reporting.claims import Answer, Verdict
from mtbert.reporting.findings import Standing
from mtbert.reporting.forest import Forest
from mtbert.reporting.markdown import number
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.published import TITLES
from mtbert.reporting.site import figures
from mtbert.reporting.tables import RUN, Cell, Row, Table
from mtbert.tasks import TASKS

# Plotly's basic build (MIT licence) as npm's plotly.js-basic-dist-min has it, packed with gzip: a quarter of the size.
PLOTLY = Path(__file__).with_name("plotly-basic-4.1.1.min.js.gz")
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
LEADERS = 10  # rows of the summary's table
CLAIMED_BY = {"rivals": "The field, of PALs and their rivals"}
ALL = "all variants"  # their answers together


class Badge(NamedTuple):
    """How a verdict is shown: by colour, sign and text, so that none is needed alone."""

    colour: str
    sign: str
    text: str


BADGES: dict[Answer, Badge] = {
    "holds": Badge("yes", "\N{CHECK MARK}", "holds"),
    "real, but smaller than what matters": Badge("yes", "\N{ALMOST EQUAL TO}", "real, but small"),
    "does not hold": Badge("no", "\N{BALLOT X}", "does not hold"),
    "cannot be told from these runs": Badge("open", "?", "cannot be told"),
    "cannot be told: still learning": Badge("open", "?", "still learning"),
    "cannot be told: unequal budgets": Badge("open", "?", "unequal budgets"),
    "cannot be compared": Badge("open", "?", "cannot be compared"),
    "not run": Badge("none", "\N{EN DASH}", "not run"),
}
NAMES = {
    "weights": "weights to store",
    "stored": "stored beside the encoder",
    "added": "added weights",
    "trained": "trained weights",
    "time": "training time",
    "2": "two dimensions",
    "3": "three dimensions",
    **{name: task.title for name, task in TASKS.items()},
    **figures.SCORES,
    claims.OVERFITTING: "overfitting (train less dev)",
}
_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")


def render(
    build: Path,
    catalog: Catalog,
    tables: Sequence[Table],
    verdicts: Sequence[Verdict],
    runs: Sequence[dict[str, Any]],
    seen: pd.DataFrame,
    shown: Analysis,
    local: bool = False,
    standings: Sequence[Standing] = (),
) -> str:
    """The whole page as HTML.

    Args:
        build: the build directory, for sentences and what the data checks found.
        catalog: what was asked for.
        tables: ours beside the papers'.
        verdicts: on the claims.
        runs: from `results.runs`.
        seen: from `leakage.scores`.
        shown: from `analysis.of`.
        standings: from `findings.standings`.
        local: whether it stays on this machine; else it holds nothing of the clock, and sentences only where these
            are the project's own.
    """
    with_sentences = local or sentences.may_be_committed(catalog)
    folder = PackageLoader("mtbert.reporting.site", ".")
    environment = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":"), "ensure_ascii": False}
    environment.filters |= {"markdown": lambda text: Markup(_markdown.render(text)), "number": number}
    environment.filters |= {"p_value": markdown.p_value}
    environment.filters |= {"phrase": lambda text: Markup(_markdown.renderInline(text))}
    return environment.get_template("page.html").render(
        catalog=catalog,
        facts=facts(catalog, runs, shown, local),
        lead=told.lead(catalog, verdicts),
        each=told.each(verdicts),
        standings=standings,
        needed=needed.still(needed.of_claims(verdicts)),
        needed_about=needed.ABOUT,
        findings={heading: findings(some) for heading, some in claimed.apart(verdicts).items()},
        limits=page.limits(catalog),
        leaders=leaders(shown),
        missing=page.absent(catalog),
        matters=matters(verdicts),
        verdicts={heading: sorted_verdicts(some) for heading, some in claimed.apart(verdicts).items()},
        tables=[table_of(table, catalog) for table in tables],
        shown=shown,
        local=local,
        with_sentences=with_sentences,
        data=data(build, shown, with_sentences, local, catalog.rivals, forest.by_paper(verdicts)),
        rivals=catalog.rivals,
        found=corpora.data(build, catalog),
        leaked=_below(leakage.render(seen)),
        pretrainings=[_below(details.pretraining(build, name)) for name in details.PRETRAININGS],
        ran=_below(details.timed(runs) if local else details.ran(build, runs)),
        again=page.command(catalog),
        titles=TITLES,
        names=NAMES,
        script=Markup(folder.get_source(environment, "page.js")[0]),
        style=Markup(folder.get_source(environment, "page.css")[0]),
        plotly=base64.b64encode(PLOTLY.read_bytes()).decode(),
    )


def _below(text: str) -> str:
    """A Markdown section as one within another; files are named only, as the page below build has none beside it."""
    return LINK.sub(r"`\1`", text.replace("## ", "### ", 1))


# --- summary ----------------------------------------------------------------------------------------------------------


def facts(
    catalog: Catalog, runs: Sequence[dict[str, Any]], shown: Analysis, local: bool
) -> list[tuple[str, str]]:  # fmt: skip
    """The numbers that say how much was run: value and what it counts."""
    variants = [entry for entry in catalog.selected if not entry.members]
    known = sum(not entry.members for entry in catalog.entries)
    counts = {len(entry.seeds) for entry in catalog.selected} or {len(catalog.seeds)}
    scored = {task: len(next(iter(several.values())).labels) for task, several in shown.answers.items()}
    return [
        (f"{len(variants)} of {known}", "variants of the catalog trained"),
        (markdown.span(counts), "seed each" if counts == {1} else "seeds each"),
        (f"{sum(scored.values()):,}", f"dev rows scored: {_list(scored)}"),
        _length(runs, local),
    ]


def _length(runs: Sequence[dict[str, Any]], local: bool) -> tuple[str, str]:
    """How long the trainings were: in steps or, where the page stays on the machine, by the clock."""
    seconds = sum(run["seconds"] or 0 for run in runs)
    if local and seconds:
        return details.duration(seconds), "of training in all"
    return f"{sum(run['steps'] or 0 for run in runs):,}", "steps of training in all"


def _list(tasks: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {TASKS[task].title}" for task, count in tasks.items())


def findings(verdicts: Sequence[Verdict]) -> list[tuple[Badge, int]]:
    """How many claims got each verdict, of those that were given."""
    counts = Counter(verdict.answer for verdict in verdicts)
    return [(badge, counts[answer]) for answer, badge in BADGES.items() if counts[answer]]


def leaders(shown: Analysis) -> list[dict[str, Any]]:
    """The rows with the highest overall on dev."""
    return [
        {
            "variants": " + ".join(cost.variants),
            "row": cost.row,
            "paper": TITLES.get(cost.paper, ""),
            "changed": ", ".join(cost.departures),
            "overall": cost.mean("overall_raw"),
            "spread": cost.spread("overall_raw"),
            "tasks": [cost.mean(task) for task in MAIN_TASKS],
            "times_bert": cost.times_bert,
        }
        for cost in costs.leaders(shown.costs)[:LEADERS]
    ]


# --- claims and tables ------------------------------------------------------------------------------------------------


def sorted_verdicts(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Claims as the page shows them, those that hold first."""
    return [verdict_of(verdict) for verdict in sorted(verdicts, key=lambda one: [*BADGES].index(one.answer))]


def verdict_of(verdict: Verdict) -> dict[str, Any]:
    """A claim, its verdict, and each comparison with its numbers."""
    parts = [
        {
            "what": f"{' + '.join(part.ours)} against {' + '.join(part.other)}",
            "metric": NAMES[part.metric],
            "expects": part.expects,
            "published": part.published,
            "matters": part.matters,
            "confounded": ", ".join(part.confounded),
            "badge": BADGES[answer],
            "found": comparison,
        }
        for part, answer, comparison in zip(verdict.claim.parts, verdict.answers, verdict.comparisons, strict=True)
    ]
    return {
        "published": any(part.published is not None for part in verdict.claim.parts),
        "name": verdict.claim.name,
        "paper": verdict.claim.told_by,
        "statement": verdict.claim.statement,
        "badge": BADGES[verdict.answer],
        "why": verdict.why,
        "parts": parts,
    }


def matters(verdicts: Sequence[Verdict]) -> str:
    """From which difference on one matters, of every score that a claim speaks of."""
    smallest: dict[float, dict[str, None]] = {}
    for part in (part for verdict in verdicts for part in verdict.claim.parts):
        smallest.setdefault(part.matters, {})[NAMES[part.metric]] = None
    return "; ".join(f"{size:g} or more ({', '.join(names)})" for size, names in sorted(smallest.items()))


def table_of(table: Table, catalog: Catalog) -> dict[str, Any]:
    """A paper's table, published beside ours."""
    return {
        "name": table.name,
        "heading": markdown.heading(table),
        "about": markdown.about(table, catalog),
        "footnotes": markdown.footnotes(table, catalog),
        "published": table.published,
        "metrics": [NAMES[metric] for metric in table.metrics],
        "rows": [_row(row, table) for row in table.rows],
        "run": table.run,
        "baseline": " ".join(table.baseline),
    }


def _row(row: Row, table: Table) -> dict[str, Any]:
    cells = [_cell(row.cells[metric]) for metric in table.metrics]
    return {
        "label": markdown.label(table, row),
        "p": markdown.p_of(row, table) if table.baseline and row.variants else "",
        "p_value": row.against.corrected if row.against else "",
        "variants": ", ".join(row.variants),
        "changed": ", ".join(row.departures),
        "run": bool(row.variants),
        "cells": cells,
        "weights": row.weights,
        "seeds": max(cell.seeds for cell in row.cells.values()),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "published": cell.published,
        "ours": cell.ours if cell.status == RUN else None,
        "instead": "" if cell.status == RUN else markdown.mine(cell),
        "spread": cell.spread,
        "interval": None if cell.low is None else markdown.interval(cell.low, cell.high),
        "difference": cell.difference,
    }


# --- what the script shows --------------------------------------------------------------------------------------------


def data(
    build: Path,
    shown: Analysis,
    with_sentences: bool,
    with_times: bool,
    rivals: Collection[str],
    forests: Mapping[str, Forest],
) -> dict[str, Any]:
    """Figures, confusions and misses, each a tree of choices, and the sentences that they speak of."""
    missed = {task: misses(several, task, shown.detailed) for task, several in shown.answers.items()}
    rows = numbered(shown)
    texts = {
        task: sentences.read(build, task, {*rows.get(task, {}), *(m["id"] for some in several.values() for m in some)})
        for task, several in missed.items()
        if with_sentences
    }
    names = [entry for entry in dict.fromkeys(name for several in shown.losses.values() for name in several)]
    looks = figures.styles(names)
    return {
        "forests": {CLAIMED_BY.get(paper, TITLES[paper]): one for paper, one in figures.forests(forests).items()},
        "losses": figures.losses(shown.losses, looks),
        "looks": looks,
        "costs": figures.costs(shown.costs, TITLES, with_times),
        "rivals": figures.rivals(costs.among(shown.costs, rivals)),
        "distances": figures.distances(shown.answers.get("sst", {})),
        "clouds": figures.clouds(shown.clouds, rows),
        "confusions": {
            task: tree for task, some in shown.answers.items() if (tree := confusions(some, shown.detailed))
        },
        "misses": missed,
        "rows": {task: list(known) for task, known in rows.items()},
        "sentences": texts,
        "labels": figures.LABELS,
        "names": NAMES,
    }


def numbered(shown: Analysis) -> dict[str, dict[str, int]]:
    """By task, a number for the id of each row that an embedding is shown of."""
    return {
        task: {row: at for at, row in enumerate(dict.fromkeys(row for cloud in several.values() for row in cloud.ids))}
        for task, several in shown.clouds.items()
    }


def confusions(found: dict[str, Answers], detailed: Collection[str]) -> dict[str, list[list[int]]]:
    """Number of rows by label and prediction, for each of these variants of a task of classes."""
    return {name: said.confusion.tolist() for name, said in found.items() if name in detailed and len(said.confusion)}


def misses(found: dict[str, Answers], task: str, detailed: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """The worst misses of all variants together, then of each of these."""
    several = {ALL: mistakes.together(list(found.values()))} if len(found) > 1 else {}
    several |= {name: said for name, said in found.items() if name in detailed}
    return {name: [_miss(miss) for miss in mistakes.worst(said, TASKS[task])] for name, said in several.items()}


def _miss(miss: mistakes.Miss) -> dict[str, Any]:
    return {
        "id": miss.id,
        "label": round(miss.label, 2),
        "prediction": round(miss.prediction, 2),
        "size": round(miss.size, 3),
    }
