"""Ours beside the papers': one table per published table of every paper that the catalog has a variant of."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from statistics import fmean
from typing import Any

import pandas as pd

from mtbert import metrics
from mtbert.metrics import MAIN_TASKS
from mtbert.outputs import Untrained
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.claims import Comparison
from mtbert.reporting.comparisons import compare_rows, corrected
from mtbert.reporting.evidence import Evidence
from mtbert.reporting.published import METRICS, OVERALLS, RIVALS, SCORED, PublishedRow
from mtbert.reporting.results import Score, Weights, together
from mtbert.statistics import intervals

RUN, NOT_RUN, WITHHELD, NOT_SCORED, NO_PART = "run", "not run", "withheld", "not scored", ""
NOT_SHARED = "no shared seed"
UNTRAINED = "Untrained encoder, cosine"
OWN_TABLE = "variants"  # stands for the table number of variants that answer to no published paper


@dataclass(frozen=True)
class Cell:
    """One metric of one row.

    Attributes:
        published: the paper's number; None where it gives none.
        ours: mean over seeds; None where there is none, and then status says why.
        spread: sample standard deviation over seeds; None with fewer than two.
        seeds: how many seeds ours is the mean of.
        status: `run`; `not run`; `withheld`: predicted, but the labels are not public; `not scored`: not predicted;
            `no shared seed`: the variants of its row have none in common; or empty: no part of this row.
        low, high: 95 % interval of the mean over seeds (Student's t); None with fewer than two.
        below: whether ours is less than what the encoder knows untrained.
    """

    published: float | None
    ours: float | None
    spread: float | None
    seeds: int
    status: str
    low: float | None = None
    high: float | None = None
    below: bool = False

    @property
    def difference(self) -> float | None:
        """Ours - published."""
        return None if self.ours is None or self.published is None else self.ours - self.published


@dataclass(frozen=True)
class Row:
    """One row: a published one with the variants that answer to it, if any.

    Attributes:
        label: as in the paper.
        split: which split it speaks of.
        cells: by metric, in the order of METRICS.
        variants: names of the selected variants that it joins.
        weights: theirs together; None without variants.
        scale, note: of the published row.
        against: its comparison with the table's baseline on dev; None for the baseline itself, and where there is none.
        departures: settings of its variants that differ from the shipped ones, such as `pals.dim=276`.
        faulty: whether code with a known fault trained any of its models.
        of_seeds: the seeds that its numbers are means of, in order.
    """

    label: str
    split: str
    cells: dict[str, Cell]
    variants: tuple[str, ...]
    weights: Weights | None
    scale: str
    note: str
    against: Comparison | None = None
    departures: tuple[str, ...] = ()
    faulty: bool = False
    of_seeds: tuple[int, ...] = ()

    @property
    def seeds(self) -> int:
        """How many seeds its numbers are means of; 0 where it has none."""
        return len(self.of_seeds)


@dataclass(frozen=True)
class Table:
    """One table: number as in the paper, `text` for its text, `variants` where there is no such paper.

    baseline: the variants of the row that its others are tested against; empty for none.
    untested: labels of the rows that share one seed with it where others share several, so that they have no p.
    untrained: a row of what the encoder knows on dev before any training; empty where that was not measured.
    """

    paper: str
    number: str
    rows: tuple[Row, ...]
    baseline: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    untrained: tuple[Row, ...] = ()

    @property
    def name(self) -> str:
        """The table's file name without its ending."""
        return f"{self.paper}-table-{self.number}" if self.number.isdigit() else f"{self.paper}-{self.number}"

    @property
    def run(self) -> bool:
        """Whether any of its rows was."""
        return any(row.variants for row in self.rows)

    @property
    def lines(self) -> tuple[Row, ...]:
        """The rows that it shows: all, but of one's own table those that were run, where any was; untrained first."""
        ran = tuple(row for row in self.rows if row.variants)
        return (*self.untrained, *(ran if ran and self.number == OWN_TABLE else self.rows))

    @property
    def left_out(self) -> tuple[Row, ...]:
        """The others."""
        return tuple(row for row in self.rows if row not in self.lines)

    @property
    def scored(self) -> bool:
        """Whether any of its cells holds a number of ours."""
        return any(cell.ours is not None for row in self.rows for cell in row.cells.values())

    @property
    def published(self) -> bool:
        """Whether any of its rows holds a paper's number."""
        return any(cell.published is not None for row in self.rows for cell in row.cells.values())

    @property
    def splits(self) -> list[str]:
        """The splits it speaks of."""
        return list(dict.fromkeys(row.split for row in self.rows))

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that any of its rows speaks of, in the order of METRICS."""
        spoken = {m for row in self.rows for m, cell in row.cells.items() if cell != Cell(None, None, None, 0, NO_PART)}
        return [metric for metric in METRICS if metric in spoken]

    def tidy(self) -> pd.DataFrame:
        """One line per row and metric: what Row and Cell hold, and paper and table."""
        rows = (*self.untrained, *self.rows)
        lines = [self._line(row, metric, row.cells[metric]) for row in rows for metric in self.metrics]
        return pd.DataFrame(lines).astype(dict.fromkeys(("encoder", "added", "trained", "stored"), "Int64"))

    def _line(self, row: Row, metric: str, cell: Cell) -> dict[str, Any]:
        where = {"paper": self.paper, "table": self.number, "row": row.label, "split": row.split, "metric": metric}
        numbers = {"published": cell.published, "ours": cell.ours, "difference": cell.difference, "std": cell.spread}
        numbers |= {"low": cell.low, "high": cell.high}
        size = vars(row.weights) if row.weights else dict.fromkeys(Weights.__dataclass_fields__)
        about = {"seeds": cell.seeds, "status": cell.status, "variants": " ".join(row.variants)}
        about |= {"departures": "; ".join(row.departures), "faulty": row.faulty}
        about |= {"below_untrained": cell.below} if self.untrained else {}
        return where | numbers | about | size | {"printed_scale": row.scale, "note": row.note}


def compare(
    published: Sequence[PublishedRow], completed: Completed, scores: Sequence[Score], weights: dict[str, Weights]
) -> list[Table]:
    """Every table, in the papers' order.

    Args:
        published: from `published.load`.
        completed: variants and ensembles; rows find theirs by paper and row name.
        scores: from `results.scores`.
        weights: from `results.weights`.

    Returns:
        Rows in the papers' order. Variants of a paper that answer to no published row stand at the end of its first
        table; those of no published paper have a table of their own, from the highest overall to the lowest. On data
        of one's own there are no published numbers and only rows that were run.
    """
    if completed.own_data:
        published = [PublishedRow(row.paper, row.table, row.row, row.split, {}) for row in published]
    papers: list[str] = [*(entry.paper for entry in completed.entries), *([RIVALS] if completed.rivals else [])]
    wanted = dict.fromkeys(papers)
    shown = [row for row in published if row.paper in wanted]
    grouped = [(key, list(rows)) for key, rows in groupby(shown, key=lambda row: (row.paper, row.table))]
    first = {paper: number for (paper, number), _ in reversed(grouped)}
    grouped += [((paper, OWN_TABLE), []) for paper in wanted if paper not in first]
    tables = []
    for (paper, number), rows in grouped:
        known = {row.row for row in published if row.paper == paper}
        more = _unpublished(paper, known, completed) if number == first.get(paper, number) else []
        every = [line for row in (*rows, *more) for line in _rows(row, completed, scores, weights)]
        every = sorted(every, key=_rank) if number == OWN_TABLE else every
        tables.append(Table(paper, number, tuple(row for row in every if row.variants or not completed.own_data)))
    return [table for table in tables if table.rows]


def _rank(row: Row) -> tuple[bool, float]:
    """From the highest overall to the lowest, then the rows that ran and have none, then those that were not run."""
    overall = row.cells["overall_raw"].ours
    return not row.variants, float("inf") if overall is None else -overall


def marked(tables: Sequence[Table], faulty: AbstractSet[str]) -> list[Table]:
    """The tables in which the rows know whether any of their models is among these variants and ensembles."""
    return [
        replace(table, rows=tuple(replace(row, faulty=not faulty.isdisjoint(row.variants)) for row in table.rows))
        for table in tables
    ]


def against(tables: Sequence[Table], evidence: Evidence, baselines: Mapping[str, tuple[str, ...]]) -> list[Table]:
    """The tables with every row compared on dev with its table's baseline, corrected by Holm over the table.

    Args:
        tables: from `compare` or `marked`.
        evidence: of the same runs.
        baselines: by table name, as in `claims.Claims`.

    Returns:
        Rows of faulty code are not compared, nor are others with a baseline of it: code differs. What is compared is
        the overall that the paper prints, or the first metric that both rows have. Where some rows share several seeds
        with the baseline, those that share one are not tested: without the noise of training their p would be of
        another kind than the others', and Holm would raise those for it.
    """
    return [_against(table, evidence, baselines.get(table.name, ())) for table in tables]


def _against(table: Table, evidence: Evidence, baseline: tuple[str, ...]) -> Table:
    printed = next((row.scale for row in table.rows if row.scale), "raw")
    sound = [row for row in table.rows if row.split == "dev" and not row.faulty]
    rows = [row for row in sound if baseline and set(row.variants) - set(baseline)]
    made: dict[int, Comparison] = {}  # by the row's identity: two rows may be equal
    for row in rows:
        comparison = compare_rows(evidence, row.variants, baseline, (f"overall_{printed}", *SCORED))
        if comparison is not None:
            made[id(row)] = comparison
    several = any(comparison.seeds > 1 for comparison in made.values())
    kept = {at: comparison for at, comparison in made.items() if comparison.seeds > 1 or not several}
    against = dict(zip(kept, corrected(list(kept.values())), strict=True))
    compared = tuple(replace(row, against=against.get(id(row))) for row in table.rows)
    untested = tuple(row.label for row in rows if id(row) in made.keys() - kept.keys())
    return replace(table, rows=compared, baseline=baseline if against else (), untested=untested)


def beside_untrained(tables: Sequence[Table], known: Untrained | None) -> list[Table]:
    """The tables with dev rows and a task that the untrained encoder answers, each with its row and marks below it."""
    scores = {task: score for task in ("qqp", "sts") if known and (score := getattr(known, task)) is not None}
    return [_beside_untrained(table, scores) if table.run and "dev" in table.splits else table for table in tables]


def _beside_untrained(table: Table, scores: Mapping[str, float]) -> Table:
    if not scores.keys() & set(table.metrics):
        return table
    cells = {m: Cell(None, scores.get(m), None, 0, RUN if m in scores else NO_PART) for m in METRICS}
    rows = tuple(_marked_below(row, scores) if row.split == "dev" else row for row in table.rows)
    return replace(table, rows=rows, untrained=(Row(UNTRAINED, "dev", cells, (), None, "", ""),))


def _marked_below(row: Row, scores: Mapping[str, float]) -> Row:
    cells = {m: replace(cell, below=_below(cell, scores.get(m))) for m, cell in row.cells.items()}
    return replace(row, cells=cells)


def _below(cell: Cell, score: float | None) -> bool:
    return cell.ours is not None and score is not None and cell.ours < score


def compared(tables: Sequence[Table]) -> dict[tuple[str, str], Comparison]:
    """Every comparison of a row with its table's baseline, by table name and row."""
    rows = ((table, row) for table in tables for row in table.rows)
    return {(table.name, row.label): row.against for table, row in rows if row.against is not None}


def join(entries: Sequence[CompletedEntry]) -> list[list[CompletedEntry]]:
    """Entries of one row to groups whose tasks are disjoint, each entry in the first group that it fits.

    Three single-task variants make one group, one row of a table; a second model of all tasks makes a group of its own.
    """
    groups: list[list[CompletedEntry]] = []
    for entry in entries:
        fitting = (g for g in groups if not any(set(entry.tasks) & set(other.tasks) for other in g))
        group = next(fitting, None)
        if group is None:
            groups.append([entry])
        else:
            group.append(entry)
    return groups


def _unpublished(paper: str, known: set[str], completed: Completed) -> list[PublishedRow]:
    """Rows, without numbers, for the entries of a paper that answer to none of its published rows."""
    every = dict.fromkeys(entry.row_in(paper) for entry in completed.entries)
    rows = [row for row in every if row is not None and row not in known]
    return [PublishedRow(paper, OWN_TABLE, row, "dev", {}) for row in rows]


def _rows(row: PublishedRow, completed: Completed, scores: Sequence[Score], weights: dict[str, Weights]) -> list[Row]:
    """The row; where several models answer to it, one row each, named, those that were asked for first."""
    answering = [entry for entry in completed.entries if entry.answers(row.paper, row.row)]
    groups = join(sorted(answering, key=lambda entry: not entry.ran)) or [[]]
    if len(groups) == 1:
        return [_row(row, row.row, groups[0], scores, weights)]
    labels = [f"{row.row} ({', '.join(entry.name for entry in group)})" for group in groups]
    return [_row(row, label, group, scores, weights) for label, group in zip(labels, groups, strict=True)]


def _row(
    row: PublishedRow, label: str, group: list[CompletedEntry], scores: Sequence[Score], weights: dict[str, Weights]
) -> Row:
    selected = [entry.name for entry in group if entry.ran]
    spoken = _averaged(row)
    mine = [score for score in scores if score.variant in selected and score.split == row.split]
    shared = _of_shared_seeds(mine)
    values, without = _by_metric(shared, spoken), NOT_SHARED if mine and not shared else NOT_SCORED
    cells = {
        metric: _cell(metric, row.values.get(metric), group, values.get(metric, []), without) for metric in METRICS
    }
    stored = together([weights[name] for name in selected]) if selected else None
    for metric in OVERALLS:
        cells[metric] = _overall_cell(cells, metric, bool(group), spoken)
    changed = tuple(dict.fromkeys(one for entry in group if entry.ran for one in entry.changed))
    seeds = tuple(sorted({score.seed for score in shared if score.value is not None}))
    return Row(
        label, row.split, cells, tuple(selected), stored, row.scale, row.note, departures=changed, of_seeds=seeds
    )


def _averaged(row: PublishedRow) -> list[str]:
    """The tasks that the row's overall is the mean of: all three, or, where its paper averages over fewer, those."""
    given = [task for task in MAIN_TASKS if task in row.values]
    return given if given and "overall_raw" in row.values else list(MAIN_TASKS)


def _of_shared_seeds(scores: Sequence[Score]) -> list[Score]:
    """Those of the seeds that all their variants have, so that all cells of a joined row speak of the same models."""
    seeds: dict[str, set[int]] = {}
    for score in scores:
        seeds.setdefault(score.variant, set()).add(score.seed)
    return [score for score in scores if all(score.seed in of_variant for of_variant in seeds.values())]


def _by_metric(scores: Sequence[Score], averaged: Sequence[str]) -> dict[str, list[float | None]]:
    """One value per seed for each task and, of the seeds that have all `averaged`, for joined variants' overalls."""
    by_seed: dict[int, dict[str, float | None]] = {}
    for score in scores:
        by_seed.setdefault(score.seed, {})[score.metric] = score.value
    by_metric: dict[str, list[float | None]] = {}
    for values in by_seed.values():
        tasks = {task: value for task, value in values.items() if task in SCORED}
        scored = {task: value for task, value in tasks.items() if value is not None}
        overall = metrics.overall(scored)
        if len(averaged) < len(MAIN_TASKS) and set(averaged) <= set(scored):
            overall = {"overall_raw": fmean(scored[task] for task in averaged)}
        for metric, value in (tasks | overall).items():
            by_metric.setdefault(metric, []).append(value)
    return by_metric


def _cell(
    metric: str, published: float | None, group: list[CompletedEntry], values: list[float | None], without: str
) -> Cell:
    known = [value for value in values if value is not None]
    status = _status(metric, published, group, values, without)
    if not known:
        return Cell(published, None, None, 0, status)
    interval = intervals.over_seeds(known)
    return Cell(published, interval.mean, interval.std, len(known), status, interval.low, interval.high)


def _status(
    metric: str, published: float | None, group: list[CompletedEntry], values: list[float | None], without: str
) -> str:
    """Why a task's cell holds a number of ours, or none; `without` is why where its models have run."""
    models = [entry for entry in group if metric in entry.tasks]
    if not models:
        return NO_PART if published is None else NOT_RUN
    if not any(entry.ran for entry in models):
        return NOT_RUN
    if not values:
        return without
    return WITHHELD if None in values else RUN


def _overall_cell(cells: dict[str, Cell], metric: str, has_models: bool, averaged: Sequence[str]) -> Cell:
    """An overall is there where all its parts are; else the first reason why one is not."""
    cell = cells[metric]
    parts = [cells[task].status for task in averaged]
    if metric == "overall_normalised" and len(averaged) < len(MAIN_TASKS):
        status = NO_PART
    elif not has_models:
        status = NO_PART if cell.published is None else NOT_RUN
    else:
        reasons = (NO_PART, NOT_RUN, NOT_SHARED, NOT_SCORED, WITHHELD)
        status = next((reason for reason in reasons if reason in parts), RUN)
    return replace(cell, status=status)
