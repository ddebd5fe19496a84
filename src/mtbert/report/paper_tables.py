"""The papers' tables: their numbers, and ours with intervals beside them."""

from collections.abc import Collection
from dataclasses import dataclass, field

from mtbert.config import papers
from mtbert.report import markdown
from mtbert.report.study import RIVALS, Group, Mean, Study, title
from mtbert.results.tables import shown
from mtbert.tasks import COURSE, METRIC_NAMES, Tasks, are_the_courses, main

UNTRAINED = "Untrained encoder, cosine"
TIMES_BERT = f"{markdown.TIMES} BERT"
ABOUT = "Ours is the mean over seeds, in brackets its 95 % interval (Student's t). "
OF_COURSE = (
    "SST-5 (sentiment) and QQP (paraphrases) are accuracies, r is Pearson's correlation on STS-B (similarity). Overall "
    "is (SST-5 + QQP + r) / 3, normalised (SST-5 + QQP + (r + 1) / 2) / 3."
)
OF_OTHERS = "The mean is over {}, where a correlation or MCC, x, counts as (x + 1) / 2."
COSTS = (
    "Mean dev scores. Single-task models that make one row have a line together, too. Rows of different papers differ "
    "in more than one thing. Weights in millions: *added* to the encoder, *trained*, and *stored*, which a model has "
    f"to keep beside the encoder. *{TIMES_BERT}*: all weights over one encoder's."
)


@dataclass(frozen=True)
class Row:
    """A row of a paper's table, or of variants that answer to none, with ours.

    Attributes:
        label: what stands at its beginning.
        split: of all its scores.
        published: the paper's scores by metric; none on other data than the papers'.
        group: ours.
        note: what to know of the row.
    """

    label: str
    split: str
    published: papers.Scores
    group: Group
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        paper: its name; `own` for variants of one's own.
        number: as in the paper, `text` for its text, `others` for variants that answer to no row of its tables,
            `variants` where there is no such paper.
        rows: those that were run, in the paper's order.
        absent: how many were not.
        data: what the data are, where these are not the paper's.
        tasks: those of the data.
    """

    paper: str
    number: str
    rows: list[Row]
    absent: int = 0
    data: str = ""
    tasks: Tasks = field(default_factory=lambda: COURSE)

    @property
    def heading(self) -> str:
        """Such as `Pals for PALs, table 1 (dev)`."""
        places = {"text": ", in the text", "others": ", rows that it does not print", "variants": ""}
        number = places.get(self.number, f", table {self.number}")
        split = ", ".join(dict.fromkeys(row.split for row in self.rows))
        return f"{title(self.paper)}{number} ({split}{f' of {self.data}' if self.data else ''})"

    @property
    def more(self) -> str:
        """What is said of the rows that were not run; empty for none."""
        return f"{self.absent} more row{'s' * (self.absent > 1)} of it: not run." if self.absent else ""

    @property
    def metrics(self) -> list[str]:
        """The metrics that any of its rows has a number of."""
        return [m for m in shown(self.tasks) if any(m in row.published or m in row.group.means for row in self.rows)]


def about(tasks: Tasks) -> str:
    """Return what a reader must know of all tables: what the scores are, and what their mean is."""
    return ABOUT + (OF_COURSE if are_the_courses(tasks) else of_others(tasks))


def of_others(tasks: Tasks) -> str:
    """Return what is scored of each task, and what the mean is."""
    scores = [f"{markdown.literal(tasks[name].shown)} ({METRIC_NAMES[tasks[name].metric]})" for name in main(tasks)]
    return OF_OTHERS.format(", ".join(scores))


def tables(study: Study) -> list[Table]:
    """Return the tables that have a row of ours, in the papers' order.

    Variants of a paper that answer to none of its rows have a table behind its own. Papers without tables, the rivals
    of PALs and variants of one's own have a table each, the highest mean first.
    """
    data = "" if study.is_comparable else markdown.plain(study.results.data.name)
    if study.results.data.kind == "sample":
        data = f"generated sentences, {data}"
    tasks = study.results.tasks
    every: list[Table] = []
    published = {paper: content.tables for paper, content in papers.load().items() if content.tables}
    for paper, published_tables in published.items():
        labels: set[str] = set()
        for number, published_table in published_tables.items():
            rows, absent = _answers(study, paper, published_table)
            every.append(Table(paper, number, rows, absent, data, tasks))
            labels |= published_table.rows.keys()
        every.append(Table(paper, "others", _others(study, paper, labels), data=data, tasks=tasks))
    for paper in dict.fromkeys((*(about.paper for about in study.about.values()), RIVALS)):
        if paper not in published:
            best_first = sorted(_others(study, paper), key=lambda row: study.rank(row.group))
            every.append(Table(paper, "variants", best_first, data=data, tasks=tasks))
    return [table for table in every if any(row.group.means for row in table.rows)]


def _answers(study: Study, paper: str, table: papers.PublishedTable) -> tuple[list[Row], int]:
    """Return our rows for a published table, and how many of its rows were not run, which is 0 on other data."""
    rows: list[Row] = []
    absent = 0
    for label, published in table.rows.items():
        for split in published.splits:
            answers = _rows(study, paper, label, split, published)
            rows += answers
            absent += not answers
    return rows, absent if study.is_comparable else 0


def _others(study: Study, paper: str, labels: Collection[str] = ()) -> list[Row]:
    """Return rows of the variants of a paper that answer to none of its published labels."""
    wanted: list[str] = []
    for about in study.about.values():
        if paper == RIVALS and about.rival:
            wanted.append(about.rival)
        elif about.paper == paper:
            wanted.append(about.row)
    rows: list[Row] = []
    for label in dict.fromkeys(wanted):
        if label not in labels:
            rows += _rows(study, paper, label)
    return rows


def _rows(
    study: Study, paper: str, label: str, split: str = "dev", printed: papers.PublishedRow | None = None
) -> list[Row]:
    """Return a row for each model that answers to a label; where these are several, each is named."""
    printed = printed if printed and study.is_comparable else papers.PublishedRow()
    scores = printed.splits.get(split, {})
    averaged = _averaged(scores, main(study.results.tasks))
    models = study.joined(study.answering(paper, label))
    rows: list[Row] = []
    for names in models:
        shown = label or ", ".join(names)
        if label and len(models) > 1:
            shown = f"{label} ({', '.join(names)})"
        rows.append(Row(shown, split, scores, study.group(names, split, averaged), printed.note))
    return rows


def _averaged(published: papers.Scores, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks that an overall is the mean of: all, or those of a paper that averages over fewer."""
    published_tasks = tuple(task for task in every if task in published)
    return published_tasks if published_tasks and "overall_raw" in published else every


def render(table: Table, study: Study) -> str:
    """Return the table as Markdown, with what a reader must know below it."""
    splits = {row.split for row in table.rows}
    untrained = Group((), {task: Mean(score) for task, score in study.untrained.items()}, [], {})
    first = [Row(UNTRAINED, "dev", {}, untrained)]
    rows = [*(first if study.untrained and "dev" in splits else []), *table.rows]
    printed = any(row.published for row in rows)
    grid = markdown.lined([_line(table, row, printed, len(splits) > 1) for row in rows])
    notes = dict.fromkeys(f"- {markdown.literal(row.label)}: {markdown.literal(row.note)}."
                          for row in table.rows if row.note)  # fmt: skip
    return "\n\n".join(filter(None, [f"### {markdown.literal(table.heading)}", grid, table.more, "\n".join(notes)]))


def _line(table: Table, row: Row, printed: bool, with_split: bool) -> dict[str, str]:
    cells = {"row": markdown.literal(row.label) + (f" ({row.split})" if with_split else "")}
    for metric in table.metrics:
        heading, ours = markdown.heading(metric, table.tasks), str(row.group.means.get(metric, markdown.DASH))
        if printed:
            cells |= {f"{heading}, paper": markdown.number(row.published.get(metric)), f"{heading}, ours": ours}
        else:
            cells[heading] = ours
    return cells | {"seeds": str(len(row.group.seeds) or markdown.DASH)}


def costs(study: Study) -> str:
    """Return every row of ours with its weights as Markdown, from the highest mean on dev."""
    tasks = study.results.tasks
    scored = [metric for metric in shown(tasks) if any(metric in row.means for row in study.rows)]
    lines = [
        {"variants": ", ".join(f"`{name}`" for name in row.names)}
        | {markdown.heading(metric, tasks): str(row.means.get(metric, markdown.DASH)) for metric in scored}
        | {name: f"{row.weights[name] / 1e6:.2f}" for name in ("added", "trained", "stored")}
        | {TIMES_BERT: f"{row.weights['times_bert']:.2f}", "seeds": str(len(row.seeds))}
        for row in sorted(study.rows, key=study.rank)
    ]
    return f"{COSTS}\n\n{markdown.lined(lines)}"
