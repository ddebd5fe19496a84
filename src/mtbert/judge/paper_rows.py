"""The rows of the papers' tables, with the published scores beside ours."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mtbert.config import papers
from mtbert.judge.rows import Row, Scoreboard, rank
from mtbert.judge.training_check import TrainingCheck
from mtbert.scores.described import RIVALS
from mtbert.scores.results import Results
from mtbert.tasks import Split, main

UNPUBLISHED = "others"  # the table of a paper's variants that answer to no row of its tables
VARIANTS = "variants"  # the table of a paper without tables, of the rivals of PALs, and of variants of one's own


def rows(board: Scoreboard, check: TrainingCheck) -> list[Row]:
    """Return the rows of all tables, in the papers' order; without tables of which none has a score.

    Variants of a paper that answer to none of its rows have a table behind its own. Papers without tables, the rivals
    of PALs and variants of one's own have a table each, the highest mean first.
    """
    every: list[Row] = []
    for table in _tables(board):
        if any(row.scores for row in table):
            every += map(check.checked, table)
    return every


def _tables(board: Scoreboard) -> Iterator[list[Row]]:
    published = {paper: content.tables for paper, content in papers.load().items() if content.tables}
    for paper, tables in published.items():
        labels: set[str] = set()
        for number, table in tables.items():
            labels |= table.keys()
            yield [*_answers(board, paper, number, table)]
        yield [*_unpublished(board, paper, UNPUBLISHED, labels)]
    names = (*(about.paper for about in board.results.about.values()), RIVALS)
    for paper in dict.fromkeys(names):
        if paper not in published:
            in_order = _unpublished(board, paper, VARIANTS)
            yield sorted(in_order, key=lambda row: rank(row, board.results.tasks))


def _answers(board: Scoreboard, paper: str, number: str, table: Mapping[str, papers.PublishedRow]) -> Iterator[Row]:
    """Yield our rows for a published table."""
    for label, published in table.items():
        for split in published.splits:
            yield from _rows(board, paper, number, label, split, published)


def _unpublished(board: Scoreboard, paper: str, number: str, labels: Collection[str] = ()) -> Iterator[Row]:
    """Yield rows of the variants of a paper that answer to none of its published labels."""
    for label in _labels(board.results, paper):
        if label not in labels:
            yield from _rows(board, paper, number, label)


def _labels(results: Results, paper: str) -> list[str]:
    """Return the labels of the rows of a paper's variants, each once."""
    labels: dict[str, None] = {}
    for about in results.about.values():
        if paper == RIVALS and about.rival:
            labels[about.rival] = None
        elif about.paper == paper:
            labels[about.row] = None
    return [*labels]


def _rows(
    board: Scoreboard,
    paper: str,
    number: str,
    label: str,
    split: Split = "dev",
    published: papers.PublishedRow | None = None,
) -> Iterator[Row]:
    """Yield a row for each model that answers to a label; if these are several, each is named."""
    results = board.results
    if published is None or not results.is_comparable:
        published = papers.PublishedRow()
    scores = published.splits.get(split, {})
    averaged = _averaged(scores, main(results.tasks))
    every = results.into_rows(results.answering(paper, label))
    for names in every:
        row = board.row(names, split, averaged)
        if label:
            row = replace(row, label=label if len(every) == 1 else f"{label} ({row.label})")
        yield replace(row, paper=paper, table=number, published=scores, note=published.note)


def _averaged(published: papers.Scores, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks that an overall is the mean of: all, or those of a paper that averages over fewer."""
    published_tasks = tuple(task for task in every if task in published)
    return published_tasks if published_tasks and "overall_raw" in published else every
