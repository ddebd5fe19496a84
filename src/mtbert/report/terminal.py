"""What a run of the pipeline ends with: the tables that have results, narrow; which way to keep; what to do next."""

from pathlib import Path

from mtbert.judge import STUDY, Judgement, Row
from mtbert.report import answer_section, catalog_section, markdown, paper_tables, training_section
from mtbert.tasks import are_the_courses

LOOK = """Look at it:        {page}
Compare the runs:  make mlflow
"""
NEXT = LOOK + "Change something:  . .venv/bin/activate; dvc exp run -S pals.dim=276"
NEXT_OF_STUDY = LOOK + "Use a model:       mtbert predict {model} --file FILE --out ANSWERS"


def in_short(judgement: Judgement, page: Path, interim: str = "") -> str:
    """Return the tables, the papers' numbers, an arrow, and ours; one's own differences; the answer; a next step.

    `page` is the report's. `interim` stands in place of the next step while trainings go on.
    """
    results, tables = judgement.results, paper_tables.tables(judgement)
    paragraphs = [_table(table) for table in tables]
    if tables and not are_the_courses(results.tasks):
        paragraphs.append(markdown.bare(paper_tables.of_others(results.tasks)))
    if catalog_lines := catalog_section.lines(judgement):
        paragraphs.append(f"{catalog_section.TITLE}: first minus second\n\n{markdown.lined(catalog_lines)}")
    paragraphs += [f"data: {fault}" for fault in results.data.faults]
    sentences = [training_section.headline(results, training_section.rows(judgement))]
    if judgement.answer is not None:
        sentences += answer_section.headlines(judgement.answer, judgement.confirmation)
        sentences += answer_section.sentences(judgement.answer)
    paragraphs.append("\n".join(map(markdown.bare, filter(None, sentences))))
    following = f"{markdown.bare(interim)}\nLook at it: {page}" if interim else _next(judgement, page)
    return "\n\n".join([*filter(None, paragraphs), following])


def _next(judgement: Judgement, page: Path) -> str:
    """Return what to do next; of a study, with a model of the way to keep, else of the best one."""
    if judgement.answer is None or STUDY not in judgement.results.by_paper:
        return NEXT.format(page=page)
    return NEXT_OF_STUDY.format(page=page, model=(judgement.answer.kept or judgement.answer.best).names[0])


def _table(table: paper_tables.Table) -> str:
    lines: list[dict[str, str]] = []
    for row in table.rows:
        cells = {"": markdown.plain(row.label)}
        for metric in table.metrics:
            cells[markdown.heading(metric, table.tasks)] = _published_and_ours(row, metric)
        lines.append(cells)
    return f"{table.heading}\n\n{markdown.lined(lines)}\n{table.more}".strip()


def _published_and_ours(row: Row, metric: str) -> str:
    published = row.published.get(metric)
    ours = markdown.estimate(row.scores.get(metric))
    return ours if published is None else f"{markdown.number(published)} \N{RIGHTWARDS ARROW} {ours}"
