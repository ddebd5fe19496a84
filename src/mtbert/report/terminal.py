"""What a run of the pipeline ends with: the tables that have results, narrow; which way to keep; what to do next."""

from collections.abc import Sequence
from pathlib import Path

from mtbert.report import answer_section, differences, markdown, paper_tables
from mtbert.report.answer import Answer
from mtbert.report.study import Study

NEXT = """Look at it:        {page}
Compare the runs:  make mlflow
Change something:  . .venv/bin/activate; dvc exp run -S pals.dim=276"""


def in_short(study: Study, tables: Sequence[paper_tables.Table], which_way: Answer | None, report: Path) -> str:
    """Return the tables, the papers' numbers, an arrow, and ours; one's own differences; the answer; a next step."""
    shown = []
    for table in tables:
        lines = []
        for row in table.rows:
            scores = {markdown.heading(metric, table.tasks): _both(row, metric) for metric in table.metrics}
            lines.append({"": markdown.plain(row.label)} | scores)
        shown.append(f"{table.heading}\n\n{markdown.lined(lines)}\n{table.more}".strip())
    if own := differences.lines(study):
        shown.append(f"{differences.TITLE}: first minus second\n\n{markdown.lined(own)}")
    shown += [f"data: {fault}" for fault in study.results.data.faults]
    if which_way is not None:
        shown.append("\n".join(map(markdown.bare, answer_section.sentences(which_way))))
    return "\n\n".join([*shown, NEXT.format(page=report / "index.html")])


def _both(row: paper_tables.Row, metric: str) -> str:
    paper = row.published.get(metric)
    ours = str(row.group.means.get(metric, markdown.DASH))
    return f"{markdown.number(paper)} \N{RIGHTWARDS ARROW} {ours}" if paper is not None else ours
