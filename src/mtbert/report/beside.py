"""The papers' tables: their numbers, and ours with intervals beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pandas as pd

from mtbert.report import markdown
from mtbert.report.published import RIVALS, TITLES, PublishedRow
from mtbert.report.study import OWN, Group, Mean, Study
from mtbert.results.tables import METRICS, OVERALLS, WEIGHTS, Frame
from mtbert.tasks import TASKS

VARIANTS = "variants"  # stands for the table number of variants that answer to no published paper
CHANGED, BELOW = "\N{DAGGER}", "\N{DOWNWARDS ARROW}"
UNTRAINED = "Untrained encoder, cosine"
ABOUT = (
    "Ours is the mean over seeds, in brackets its 95 % interval (Student's t). SST-5 and QQP are accuracies, r is "
    "Pearson's correlation on STS-B. Overall is (SST-5 + QQP + r) / 3, normalised (SST-5 + QQP + (r + 1) / 2) / 3."
)
MARKS = {
    CHANGED: f"{CHANGED} settings differ from the shipped ones.",
    BELOW: f"{BELOW} below the untrained encoder on this task.",
}


@dataclass(frozen=True)
class Row:
    """A published row, or one of our own, with the variants that answer to it."""

    published: PublishedRow
    label: str
    group: Group


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        paper: its name; `own` for variants of one's own.
        number: as in the paper, `text` for its text, `variants` where there is no such paper.
        rows: those that were run, in the paper's order.
        absent: how many were not.
        data: what the data are, where these are not the paper's.
    """

    paper: str
    number: str
    rows: tuple[Row, ...]
    absent: int = 0
    data: str = ""

    @property
    def name(self) -> str:
        """The table's file name without its ending."""
        return f"{self.paper}-table-{self.number}" if self.number.isdigit() else f"{self.paper}-{self.number}"

    @property
    def heading(self) -> str:
        """Such as `Pals for PALs, table 1 (dev)`."""
        title = TITLES.get(self.paper, "Variants of one's own" if self.paper == OWN else self.paper)
        number = f", table {self.number}" if self.number.isdigit() else ", in the text" if self.number == "text" else ""
        split = ", ".join(dict.fromkeys(row.published.split for row in self.rows))
        return f"{title}{number} ({split}{f' of {self.data}' if self.data else ''})"

    @property
    def more(self) -> str:
        """What is said of the rows that were not run; empty for none."""
        return f"{self.absent} more row{'s' * (self.absent > 1)} of it: not run." if self.absent else ""

    @property
    def metrics(self) -> list[str]:
        """The metrics that any of its rows has a number of."""
        return [m for m in METRICS if any(m in {**row.published.values, **row.group.means} for row in self.rows)]


def tables(study: Study, published: Sequence[PublishedRow]) -> list[Table]:
    """Return the tables that have a row of ours, in the papers' order.

    Variants of a paper that answer to no published row stand at the end of its first table, and a variant of one's own
    below the one that it varies. On other data than the papers' there are no published numbers.
    """
    if not study.is_comparable:
        published = [replace(row, values={}, note="") for row in published]
    asked: dict[tuple[str, str], list[PublishedRow]] = {}
    for (paper, number), rows in groupby(published, key=lambda row: (row.paper, row.table)):
        others = [] if any(of == paper for of, _ in asked) else _others(study, paper, published)
        asked[paper, number] = [*rows, *others]
    found = {key: [line for row in rows for line in _lines(study, row)] for key, rows in asked.items()}
    placed = set()
    for rows in found.values():
        for own, varied in study.varied.items():
            at = [at for at, row in enumerate(rows) if varied in row.group.names and row.published.split == "dev"]
            if own not in placed and at:
                row = replace(rows[at[0]].published, row="", values={}, scale="", note="")
                rows.insert(at[0] + 1, Row(row, f"{study.about[own].row or own} (own)", study.group([own])))
                placed.add(own)
    for paper in dict.fromkeys((*(about.paper for about in study.about.values()), RIVALS)):
        if not any(of == paper for of, _ in found):
            every = [line for row in _others(study, paper, published) for line in _lines(study, row)]
            rows = [row for row in every if not placed.issuperset(row.group.names)]
            found[paper, VARIANTS] = sorted(rows, key=lambda row: -row.group.overall)
    absent = {key: sum(not study.answering(row.paper, row.row) for row in rows) for key, rows in asked.items()}
    if study.is_comparable:
        made = [Table(*key, tuple(rows), absent.get(key, 0)) for key, rows in found.items()]
    else:
        generated = "generated sentences, " if study.results.data.whose == "sample" else ""
        said = generated + markdown.plain(study.results.data.name)
        made = [Table(*key, tuple(rows), data=said) for key, rows in found.items()]
    return [table for table in made if table.metrics]


def _others(study: Study, paper: str, published: Sequence[PublishedRow]) -> list[PublishedRow]:
    """Rows, without numbers, of the variants of a paper that answer to none of its published rows."""
    known = {row.row for row in published if row.paper == paper}
    rows = [about.rival if paper == RIVALS and about.rival else about.row for about in study.about.values()
            if about.paper == paper or (paper == RIVALS and about.rival)]  # fmt: skip
    return [PublishedRow(paper, VARIANTS, row, "dev", {}) for row in dict.fromkeys(rows) if row not in known]


def _lines(study: Study, row: PublishedRow) -> list[Row]:
    """Return a row for each model that answers to it; where these are several, each is named."""
    models = study.joined(study.answering(row.paper, row.row))
    found = []
    for names in models:
        said = ", ".join(names)
        label = f"{row.row} ({said})" if row.row and len(models) > 1 else row.row or said
        found.append(Row(row, label, study.group(names, row.split, row.averaged)))
    return found


def frame(table: Table) -> Frame:
    """Return one line for each row and metric: paper and table, both numbers, and the models' size."""
    lines = pd.DataFrame([_tidy(table, row, metric) for row in table.rows for metric in table.metrics])
    return lines.astype(dict.fromkeys(WEIGHTS, "Int64"))


def _tidy(table: Table, row: Row, metric: str) -> dict[str, Any]:
    published, ours = row.published.values.get(metric), row.group.means.get(metric)
    return {
        "paper": table.paper, "table": table.number, "row": row.label, "split": row.published.split, "metric": metric,
        "published": published, "ours": ours and ours.mean,
        "difference": ours.mean - published if ours and published is not None else None,
        "std": ours and ours.std, "low": ours and ours.low, "high": ours and ours.high,
        "seeds": ours.seeds if ours else 0, "variants": " ".join(row.group.names),
        "overrides": "; ".join(row.group.overrides),
        **{name: row.group.weights[name] for name in (*WEIGHTS, "times_bert")},
        "printed_scale": row.published.scale, "note": row.published.note,
    }  # fmt: skip


def render(table: Table, study: Study) -> str:
    """Return the table as Markdown, with what a reader must know below it."""
    splits = {row.published.split for row in table.rows}
    untrained = Group((), {task: Mean(r) for task, r in study.untrained.items()}, [], {})
    first = [Row(PublishedRow(table.paper, table.number, UNTRAINED, "dev", {}), UNTRAINED, untrained)]
    rows = [*(first if study.untrained and "dev" in splits else []), *table.rows]
    printed = any(row.published.values for row in rows)
    grid = markdown.lined([_line(table, row, study, printed, len(splits) > 1) for row in rows])
    notes = dict.fromkeys(f"- {markdown.literal(row.label)}: {markdown.literal(row.published.note)}."
                          for row in table.rows if row.published.note)  # fmt: skip
    marks = [table.more, *(said for mark, said in MARKS.items() if mark in grid)]
    below = " ".join(filter(None, marks))
    return "\n\n".join(filter(None, [f"### {markdown.literal(table.heading)}", grid, below, "\n".join(notes)]))


def _line(table: Table, row: Row, study: Study, printed: bool, with_split: bool) -> dict[str, str]:
    name = markdown.literal(row.label) + (f" ({row.published.split})" if with_split else "")
    cells = {"row": f"{name} {CHANGED}" if row.group.overrides else name}
    for metric in table.metrics:
        heading, paper = markdown.HEADINGS[metric], markdown.number(row.published.values.get(metric))
        cells |= {f"{heading}, paper": paper} if printed else {}
        cells[f"{heading}, ours" if printed else heading] = _ours(row, metric, study)
    return cells | {"seeds": str(len(row.group.seeds) or markdown.DASH)}


def _ours(row: Row, metric: str, study: Study) -> str:
    """Our number with its interval, marked where the untrained encoder is better, or why there is none."""
    ours = row.group.means.get(metric)
    if ours is None:
        tasks = {task for name in row.group.names for task in study.about[name].tasks}
        withheld = row.published.split == "test" and (metric in OVERALLS or metric in tasks)
        return "withheld" if withheld else markdown.DASH
    below = row.published.split == "dev" and metric in TASKS and ours.mean < study.untrained.get(metric, -1)
    return f"{ours} {BELOW}" if below else str(ours)
