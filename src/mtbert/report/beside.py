"""The papers' tables: their numbers, and ours with intervals beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from mtbert.report import markdown
from mtbert.report.published import RIVALS, TITLES, PublishedRow
from mtbert.report.study import Group, Study
from mtbert.results.tables import METRICS, OVERALLS, WEIGHTS, Frame
from mtbert.tasks import TASKS

OWN = "variants"  # stands for the table number of variants that answer to no published paper
CHANGED, BELOW = "\N{DAGGER}", "\N{DOWNWARDS ARROW}"
UNTRAINED = "*Untrained encoder, cosine*"
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
    """A table of a paper: number as in the paper, `text` for its text, `variants` where there is no such paper."""

    paper: str
    number: str
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """The table's file name without its ending."""
        return f"{self.paper}-table-{self.number}" if self.number.isdigit() else f"{self.paper}-{self.number}"

    @property
    def heading(self) -> str:
        """Such as `Pals for PALs, table 1 (dev)`."""
        title = TITLES.get(self.paper, "Variants of one's own" if self.paper == "own" else self.paper)
        number = f", table {self.number}" if self.number.isdigit() else ", in the text" if self.number == "text" else ""
        return f"{title}{number} ({', '.join(dict.fromkeys(row.published.split for row in self.rows))})"

    @property
    def metrics(self) -> list[str]:
        """The metrics that any of its rows has a number of."""
        return [m for m in METRICS if any(m in row.published.values or (row.group and row.group.over_seeds(m))
                                          for row in self.rows)]  # fmt: skip


def tables(study: Study, published: Sequence[PublishedRow]) -> list[Table]:
    """Return the tables that have a row of ours, in the papers' order.

    Variants of a paper that answer to no published row stand at the end of its first table; those of no published paper
    have a table of their own. On data of one's own there are no published numbers.
    """
    if study.results.data.whose == "own":
        published = [PublishedRow(row.paper, row.table, row.row, row.split, {}) for row in published]
    found = []
    for (paper, number), rows in groupby(published, key=lambda row: (row.paper, row.table)):
        first = not any(table.paper == paper for table in found)
        every = [line for row in rows for line in _lines(study, row)]
        known = {row.row for row in published if row.paper == paper}
        every += [line for row in _others(study, paper, known) for line in _lines(study, row)] if first else []
        found.append(Table(paper, number, tuple(every)))
    for paper in dict.fromkeys((*(about.paper for about in study.about.values()), RIVALS)):
        if not any(table.paper == paper for table in found):
            every = [line for row in _others(study, paper, set()) for line in _lines(study, row)]
            found.append(Table(paper, OWN, tuple(sorted(every, key=_rank))))
    return [table for table in found if any(row.group for row in table.rows)]


def _others(study: Study, paper: str, known: set[str]) -> list[PublishedRow]:
    """Rows, without numbers, of the variants of a paper that answer to none of its published rows."""
    rows = [about.rival if paper == RIVALS and about.rival else about.row for about in study.about.values()
            if about.paper == paper or (paper == RIVALS and about.rival)]  # fmt: skip
    return [PublishedRow(paper, OWN, row, "dev", {}) for row in dict.fromkeys(rows) if row not in known]


def _lines(study: Study, row: PublishedRow) -> list[Row]:
    """Return the row; where several models answer to it, one each, named."""
    groups = study.joined(study.answering(row.paper, row.row))
    label = row.row or ", ".join(groups[0])
    if len(groups) < 2:
        return [Row(row, label, study.group(names, row.split, row.averaged)) for names in groups] or [
            Row(row, label, None)
        ]
    return [Row(row, f"{label} ({', '.join(n)})", study.group(n, row.split, row.averaged)) for n in groups]


def _rank(row: Row) -> float:
    overall = row.group.over_seeds("overall_raw") if row.group else None
    return -overall.mean if overall else float("inf")


def frame(table: Table) -> Frame:
    """Return one line for each row and metric: paper and table, both numbers, and the models' size."""
    lines = pd.DataFrame([_tidy(table, row, metric) for row in table.rows for metric in table.metrics])
    return lines.astype(dict.fromkeys(WEIGHTS, "Int64"))


def _tidy(table: Table, row: Row, metric: str) -> dict[str, Any]:
    published, group = row.published.values.get(metric), row.group
    ours = group.over_seeds(metric) if group else None
    seeds = sum(metric in scores for scores in group.scores.values()) if group else 0
    return {
        "paper": table.paper, "table": table.number, "row": row.label, "split": row.published.split, "metric": metric,
        "published": published, "ours": ours and ours.mean,
        "difference": ours.mean - published if ours and published is not None else None,
        "std": ours and ours.std, "low": ours and ours.low, "high": ours and ours.high, "seeds": seeds,
        "variants": " ".join(group.names) if group else "", "overrides": "; ".join(group.overrides) if group else "",
        **{name: int(group.weights[name]) if group else None for name in WEIGHTS},
        "times_bert": group.weights["times_bert"] if group else None,
        "printed_scale": row.published.scale, "note": row.published.note,
    }  # fmt: skip


def render(table: Table, study: Study) -> str:
    """Return the table as Markdown, with what a reader must know below it."""
    lines = [_untrained(table, study)] if study.untrained else []
    lines += [_line(table, row, study) for row in table.rows]
    grid = markdown.lined(lines)
    notes = dict.fromkeys(f"{markdown.literal(row.label)}: {markdown.literal(row.published.note)}."
                          for row in table.rows if row.published.note)  # fmt: skip
    marks = [said for mark, said in MARKS.items() if mark in grid]
    return "\n\n".join([f"## {table.heading}", grid, " ".join(marks), "\n".join(f"- {note}" for note in notes)]).strip()


def _printed(table: Table) -> bool:
    return any(row.published.values for row in table.rows)


def _untrained(table: Table, study: Study) -> dict[str, str]:
    cells = {"row": UNTRAINED}
    for metric in table.metrics:
        cells |= {f"{markdown.HEADINGS[metric]}, paper": markdown.DASH} if _printed(table) else {}
        cells[f"{markdown.HEADINGS[metric]}, ours"] = markdown.number(study.untrained.get(metric))
    return cells | {"stored": "0.00", TIMES_BERT: "1.00", "seeds": markdown.DASH}


def _line(table: Table, row: Row, study: Study) -> dict[str, str]:
    several = len({one.published.split for one in table.rows}) > 1
    name = markdown.literal(row.label) + (f" ({row.published.split})" if several else "")
    cells = {"row": f"{name} {CHANGED}" if row.group and row.group.overrides else name}
    for metric in table.metrics:
        paper = markdown.number(row.published.values.get(metric))
        cells |= {f"{markdown.HEADINGS[metric]}, paper": paper} if _printed(table) else {}
        cells[f"{markdown.HEADINGS[metric]}, ours"] = _ours(row, metric, study)
    if row.group is None:
        return cells | dict.fromkeys(("stored", TIMES_BERT, "seeds"), markdown.DASH)
    weights = row.group.weights
    cells |= {"stored": f"{weights['stored'] / 1e6:.2f}", TIMES_BERT: f"{weights['times_bert']:.2f}"}
    return cells | {"seeds": str(len(row.group.seeds))}


def _ours(row: Row, metric: str, study: Study) -> str:
    """Our number with its interval, marked where the untrained encoder is better, or why there is none."""
    ours = row.group.over_seeds(metric) if row.group else None
    if ours is None:
        if row.group is None:
            return "not run" if metric in row.published.values else markdown.DASH
        tasks = {task for name in row.group.names for task in study.about[name].tasks}
        withheld = row.published.split == "test" and (metric in OVERALLS or metric in tasks)
        return "withheld" if withheld else markdown.DASH
    below = row.published.split == "dev" and metric in TASKS and ours.mean < study.untrained.get(metric, -1)
    mark = f" {BELOW}" if below else ""
    return f"{markdown.number(ours.mean)} {markdown.interval(ours.low, ours.high)}".rstrip() + mark
