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
TIMES_BERT = f"{markdown.TIMES} BERT"
ABOUT = (
    "Ours is the mean over seeds, in brackets its 95 % interval (Student's t). `overall_raw` = (SST-5 + QQP + r) / 3, "
    "`overall_normalised` = (SST-5 + QQP + (r + 1) / 2) / 3; SST-5 and QQP are accuracies, r is Pearson's correlation "
    f"on STS-B. Stored: weights, in millions, to keep beside the encoder. {TIMES_BERT}: all weights over one encoder's."
)
MARKS = {
    CHANGED: f"{CHANGED} settings differ from the shipped ones.",
    BELOW: f"{BELOW} below the untrained encoder on this task.",
}


@dataclass(frozen=True)
class Row:
    """A published row, or one of our own, with the variants that answer to it; `group` is None where none has run."""

    published: PublishedRow
    label: str
    group: Group | None


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        paper: its name; `own` for variants of one's own.
        number: as in the paper, `text` for its text, `variants` where there is no such paper.
        rows: in the paper's order.
        data: the folder of the data, where these are not the paper's.
    """

    paper: str
    number: str
    rows: tuple[Row, ...]
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
        return f"{title}{number} ({split}{f' of {markdown.literal(self.data)}' if self.data else ''})"

    @property
    def metrics(self) -> list[str]:
        """The metrics that any of its rows has a number of."""
        return [m for m in METRICS if any(m in row.published.values or (row.group and m in row.group.means)
                                          for row in self.rows)]  # fmt: skip


def tables(study: Study, published: Sequence[PublishedRow]) -> list[Table]:
    """Return the tables that have a row of ours, in the papers' order.

    Variants of a paper that answer to no published row stand at the end of its first table, and a variant of one's own
    below the one that it varies. On other data than the papers' there are no published numbers, and rows that were not
    run are left out.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for (paper, number), rows in groupby(published, key=lambda row: (row.paper, row.table)):
        every = [*rows]
        if not any(of == paper for of, _ in found):
            every += _others(study, paper, {row.row for row in published if row.paper == paper})
        found[paper, number] = [line for row in every for line in _lines(study, row)]
    placed = set()
    for rows in found.values():
        for own, varied in study.varied.items():
            at = [at for at, row in enumerate(rows, 1) if row.group and varied in row.group.names]
            if own not in placed and at and rows[0].published.split == "dev":
                row = replace(rows[at[0] - 1].published, row="", values={}, scale="", note="")
                rows.insert(at[0], Row(row, f"{own} (own)", study.group([own])))
                placed.add(own)
    for paper in dict.fromkeys((*(about.paper for about in study.about.values()), RIVALS)):
        if not any(of == paper for of, _ in found):
            every = [line for row in _others(study, paper, set()) for line in _lines(study, row)]
            rows = [row for row in every if row.group and not placed.issuperset(row.group.names)]
            found[paper, VARIANTS] = sorted(rows, key=_rank)
    if not study.is_comparable:
        ran = {key: [row for row in rows if row.group] for key, rows in found.items()}
        found = {key: [replace(row, published=replace(row.published, values={}, note="")) for row in rows]
                 for key, rows in ran.items()}  # fmt: skip
    data = "" if study.is_comparable else study.results.data.name
    made = [Table(*key, tuple(rows), data) for key, rows in found.items() if any(row.group for row in rows)]
    return [table for table in made if table.metrics]


def _others(study: Study, paper: str, known: set[str]) -> list[PublishedRow]:
    """Rows, without numbers, of the variants of a paper that answer to none of its published rows."""
    rows = [about.rival if paper == RIVALS and about.rival else about.row for about in study.about.values()
            if about.paper == paper or (paper == RIVALS and about.rival)]  # fmt: skip
    return [PublishedRow(paper, VARIANTS, row, "dev", {}) for row in dict.fromkeys(rows) if row not in known]


def _lines(study: Study, row: PublishedRow) -> list[Row]:
    """Return the row; where several models answer to it, one each, named."""
    names = study.joined(study.answering(row.paper, row.row))
    groups = [study.group(one, row.split, row.averaged) for one in names]
    if len(groups) < 2:
        group = groups[0] if groups else None
        return [Row(row, row.row or ", ".join(group.names if group else ()), group)]
    return [Row(row, f"{row.row} ({', '.join(one.names)})".lstrip(), one) for one in groups]


def _rank(row: Row) -> float:
    overall = row.group.means.get("overall_raw") if row.group else None
    return -overall.mean if overall else float("inf")


def frame(table: Table) -> Frame:
    """Return one line for each row and metric: paper and table, both numbers, and the models' size."""
    lines = pd.DataFrame([_tidy(table, row, metric) for row in table.rows for metric in table.metrics])
    return lines.astype(dict.fromkeys(WEIGHTS, "Int64"))


def _tidy(table: Table, row: Row, metric: str) -> dict[str, Any]:
    published, group = row.published.values.get(metric), row.group
    ours = group.means.get(metric) if group else None
    return {
        "paper": table.paper, "table": table.number, "row": row.label, "split": row.published.split, "metric": metric,
        "published": published, "ours": ours and ours.mean,
        "difference": ours.mean - published if ours and published is not None else None,
        "std": ours and ours.std, "low": ours and ours.low, "high": ours and ours.high,
        "seeds": ours.seeds if ours else 0,
        "variants": " ".join(group.names) if group else "", "overrides": "; ".join(group.overrides) if group else "",
        **{name: group.weights[name] if group else None for name in (*WEIGHTS, "times_bert")},
        "printed_scale": row.published.scale, "note": row.published.note,
    }  # fmt: skip


def render(table: Table, study: Study) -> str:
    """Return the table as Markdown, with what a reader must know below it."""
    splits = {row.published.split for row in table.rows}
    untrained = Group((), {task: Mean(r) for task, r in study.untrained.items()}, [], {"stored": 0, "times_bert": 1})
    first = [Row(PublishedRow(table.paper, table.number, UNTRAINED, "dev", {}), UNTRAINED, untrained)]
    rows = [*(first if study.untrained and "dev" in splits else []), *table.rows]
    printed = any(row.published.values for row in rows)
    grid = markdown.lined([_line(table, row, study, printed, len(splits) > 1) for row in rows])
    notes = dict.fromkeys(f"- {markdown.literal(row.label)}: {markdown.literal(row.published.note)}."
                          for row in table.rows if row.published.note)  # fmt: skip
    marks = [said for mark, said in MARKS.items() if mark in grid]
    return "\n\n".join(filter(None, [f"### {table.heading}", grid, " ".join(marks), "\n".join(notes)]))


def _line(table: Table, row: Row, study: Study, printed: bool, with_split: bool) -> dict[str, str]:
    name = markdown.literal(row.label) + (f" ({row.published.split})" if with_split else "")
    cells = {"row": f"{name} {CHANGED}" if row.group and row.group.overrides else name}
    for metric in table.metrics:
        paper = markdown.number(row.published.values.get(metric))
        cells |= {f"{markdown.HEADINGS[metric]}, paper": paper} if printed else {}
        cells[f"{markdown.HEADINGS[metric]}, ours"] = _ours(row, metric, study)
    if row.group is None:
        return cells | dict.fromkeys(("stored", TIMES_BERT, "seeds"), markdown.DASH)
    weights = row.group.weights
    cells |= {"stored": f"{weights['stored'] / 1e6:.2f}", TIMES_BERT: f"{weights['times_bert']:.2f}"}
    return cells | {"seeds": str(len(row.group.seeds) or markdown.DASH)}


def _ours(row: Row, metric: str, study: Study) -> str:
    """Our number with its interval, marked where the untrained encoder is better, or why there is none."""
    if row.group is None:
        return "not run" if metric in row.published.values else markdown.DASH
    ours = row.group.means.get(metric)
    if ours is None:
        tasks = {task for name in row.group.names for task in study.about[name].tasks}
        withheld = row.published.split == "test" and (metric in OVERALLS or metric in tasks)
        return "withheld" if withheld else markdown.DASH
    below = row.published.split == "dev" and metric in TASKS and ours.mean < study.untrained.get(metric, -1)
    return markdown.estimate(ours.mean, ours.low, ours.high) + (f" {BELOW}" if below else "")
