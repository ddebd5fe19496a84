"""The papers' tables: their numbers, and ours with intervals beside them."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mtbert.claims.sides import differences
from mtbert.config import papers
from mtbert.report import markdown, training_section
from mtbert.report.scoreboard import RIVALS, Row, Scoreboard, title
from mtbert.report.training_check import TrainingCheck
from mtbert.scores.columns import shown_metrics
from mtbert.scores.metrics import in_words
from mtbert.stats import LEAST_SEEDS
from mtbert.tasks import COURSE, Split, Tasks, are_the_courses, main

FAILING = "\N{DAGGER}"  # marks a row that is not trained well enough
TIMES_BERT = f"{markdown.TIMES} BERT"
ABOUT = (
    "Ours is the mean over seeds, in brackets its 95 % interval (Student's t) over seeds and rows; below "
    f"{markdown.count(LEAST_SEEDS)} seeds, and of what has none, over rows alone. "
)
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


NUMBERS = {"text": ", in the text", "others": ", rows that it does not print", "variants": ""}  # that are no numbers


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
        number = NUMBERS.get(self.number, f", table {self.number}")
        splits = ", ".join(dict.fromkeys(row.split for row in self.rows))
        data = f" of {self.data}" if self.data else ""
        return f"{title(self.paper)}{number} ({splits}{data})"

    @property
    def more(self) -> str:
        """What is said of the rows that were not run; empty for none."""
        return f"{self.absent} more row{'s' * (self.absent > 1)} of it: not run." if self.absent else ""

    @property
    def metrics(self) -> list[str]:
        """The metrics that any of its rows has a number of."""
        metrics = {metric for row in self.rows for metric in (*row.published, *row.scores)}
        return [metric for metric in shown_metrics(self.tasks) if metric in metrics]


def about(tasks: Tasks) -> str:
    """Return what a reader must know of all tables: what the scores are, and what their mean is."""
    return ABOUT + (OF_COURSE if are_the_courses(tasks) else of_others(tasks))


def of_others(tasks: Tasks) -> str:
    """Return what is scored of each task, and what the mean is."""
    scores = [f"{tasks[name].shown} ({in_words(tasks[name])})" for name in main(tasks)]
    return OF_OTHERS.format(markdown.literal(", ".join(scores)))


def tables(board: Scoreboard) -> list[Table]:
    """Return the tables that have a row of ours, in the papers' order.

    Variants of a paper that answer to none of its rows have a table behind its own. Papers without tables, the rivals
    of PALs and variants of one's own have a table each, the highest mean first.
    """
    every: list[Table] = []
    published = {paper: content.tables for paper, content in papers.load().items() if content.tables}
    for paper, published_tables in published.items():
        every += _published(board, paper, published_tables)
    names = (*(about.paper for about in board.about.values()), RIVALS)
    for paper in dict.fromkeys(names):
        if paper not in published:
            best_first = sorted(_others(board, paper), key=board.rank)
            every.append(_table(board, paper, "variants", best_first))
    return [table for table in every if any(row.scores for row in table.rows)]


def _published(board: Scoreboard, paper: str, published_tables: Mapping[str, papers.PublishedTable]) -> Iterator[Table]:
    """Yield each table of a paper, and one of its variants that answer to no row of them."""
    labels: set[str] = set()
    for number, published in published_tables.items():
        labels |= published.rows.keys()
        rows, absent = _answers(board, paper, published)
        yield _table(board, paper, number, rows, absent)
    yield _table(board, paper, "others", _others(board, paper, labels))


def _table(board: Scoreboard, paper: str, number: str, rows: list[Row], absent: int = 0) -> Table:
    data = "" if board.is_comparable else markdown.plain(board.results.data.name)
    if board.results.data.kind == "sample":
        data = f"generated sentences, {data}"
    return Table(paper, number, rows, absent, data, board.results.tasks)


def _answers(board: Scoreboard, paper: str, table: papers.PublishedTable) -> tuple[list[Row], int]:
    """Return our rows for a published table, and how many of its rows were not run, which is 0 on other data."""
    rows: list[Row] = []
    absent = 0
    for label, published in table.rows.items():
        for split in published.splits:
            answers = _rows(board, paper, label, split, published)
            rows += answers
            absent += not answers
    return rows, absent if board.is_comparable else 0


def _others(board: Scoreboard, paper: str, labels: Collection[str] = ()) -> list[Row]:
    """Return rows of the variants of a paper that answer to none of its published labels."""
    own_labels: dict[str, None] = {}
    for about in board.about.values():
        if paper == RIVALS and about.rival:
            own_labels[about.rival] = None
        elif about.paper == paper:
            own_labels[about.row] = None
    rows: list[Row] = []
    for label in own_labels:
        if label not in labels:
            rows += _rows(board, paper, label)
    return rows


def _rows(
    board: Scoreboard, paper: str, label: str, split: Split = "dev", published: papers.PublishedRow | None = None
) -> list[Row]:
    """Return a row for each model that answers to a label; if these are several, each is named."""
    if published is None or not board.is_comparable:
        published = papers.PublishedRow()
    scores = published.splits.get(split, {})
    averaged = _averaged(scores, main(board.results.tasks))
    models = board.joined(board.answering(paper, label))
    rows: list[Row] = []
    for names in models:
        row = board.row(names, split, averaged)
        if label:
            row = replace(row, label=label if len(models) == 1 else f"{label} ({row.label})")
        rows.append(replace(row, published=scores, note=published.note))
    return rows


def _averaged(published: papers.Scores, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks that an overall is the mean of: all, or those of a paper that averages over fewer."""
    published_tasks = tuple(task for task in every if task in published)
    return published_tasks if published_tasks and "overall_raw" in published else every


def render(table: Table, board: Scoreboard, check: TrainingCheck) -> str:
    """Return the table as Markdown, with what a reader must know below it."""
    reasons = _reasons(table, board, check)
    splits = {row.split for row in table.rows}
    rows = table.rows
    if "dev" in splits:
        rows = [*_cheap_rows(board), *rows]
    is_published = any(row.published for row in rows)
    marks = dict.fromkeys(reasons, f" {FAILING}")
    lines = [_line(table, row, is_published, marks.get(row.label, ""), with_split=len(splits) > 1) for row in rows]
    notes = [f"- {markdown.literal(row.label)}: {markdown.literal(row.note)}." for row in table.rows if row.note]
    heading = f"### {markdown.literal(table.heading)}"
    notes += _alike(table, board)
    parts = [heading, markdown.lined(lines), _failing(reasons), table.more, "\n".join(dict.fromkeys(notes))]
    return "\n\n".join(filter(None, parts))


def _reasons(table: Table, board: Scoreboard, check: TrainingCheck) -> dict[str, str]:
    """Return by label why a row's models are not trained well enough, by their dev scores whatever the row's split."""
    reasons: dict[str, str] = {}
    for row in table.rows:
        checked = check.of(board.row(row.names))
        if checked.fails:
            reasons[row.label] = training_section.reasons(checked.below, table.tasks)
    return reasons


def _failing(reasons: Mapping[str, str]) -> str:
    """Return the line below a table that says why rows are marked; empty for none."""
    labels_by_reason: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        labels_by_reason.setdefault(reason, []).append(markdown.literal(label))
    sentences = [f"{', '.join(labels)}: {reason}." for reason, labels in labels_by_reason.items()]
    return f"{FAILING} Not trained well enough to compare. {' '.join(sentences)}" if sentences else ""


def _alike(table: Table, board: Scoreboard) -> Iterator[str]:
    """Yield a line for each two rows that are one training, as where a profile sets what they differ in."""
    trained = {name for name, settings in board.settings.items() if "model" in settings}
    models = [row for row in table.rows if len(row.names) == 1 and trained.issuperset(row.names)]
    for one, other in itertools.combinations(models, 2):
        is_alike = one.split == other.split and one.seeds == other.seeds and one.names != other.names
        if is_alike and _has_one_training(board, one.names, other.names):
            labels = f"{markdown.literal(one.label)}, {markdown.literal(other.label)}"
            yield f"- {labels}: trained with the same settings here, so their scores are the same."


def _has_one_training(board: Scoreboard, one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two models differ in nothing that they were trained and scored with."""
    runs = [board.settings[name].get("run") for name in (*one, *other)]
    return runs[0] == runs[1] and not differences(board.settings, one, other)


def _cheap_rows(board: Scoreboard) -> Iterator[Row]:
    """Yield the rows of the untrained encoder and of the baselines, which have no seeds."""
    if board.untrained_row is not None:
        yield board.untrained_row
    yield from (row for row in map(board.baseline, board.baselines) if row.scores)


def _line(table: Table, row: Row, is_published: bool, mark: str, with_split: bool) -> dict[str, str]:
    split = f" ({row.split})" if with_split else ""
    cells = {"row": f"{markdown.literal(row.label)}{split}{mark}"}
    for metric in table.metrics:
        heading = markdown.heading(metric, table.tasks)
        ours = markdown.estimate(row.scores.get(metric))
        if is_published:
            cells[f"{heading}, paper"] = markdown.number(row.published.get(metric))
            cells[f"{heading}, ours"] = ours
        else:
            cells[heading] = ours
    cells["seeds"] = str(len(row.seeds) or markdown.DASH)
    return cells


def costs(board: Scoreboard) -> str:
    """Return every row of ours with its weights as Markdown, from the highest mean on dev."""
    tasks = board.results.tasks
    metrics = [metric for metric in shown_metrics(tasks) if any(metric in row.scores for row in board.rows)]
    lines: list[dict[str, str]] = []
    for row in sorted(board.rows, key=board.rank):
        cells = {"variants": ", ".join(f"`{name}`" for name in row.names)}
        for metric in metrics:
            cells[markdown.heading(metric, tasks)] = markdown.estimate(row.scores.get(metric))
        for weights in ("added", "trained", "stored"):
            cells[weights] = f"{row.weights[weights] / 1e6:.2f}"
        cells[TIMES_BERT] = f"{row.weights['times_bert']:.2f}"
        cells["seeds"] = str(len(row.seeds))
        lines.append(cells)
    return f"{COSTS}\n\n{markdown.lined(lines)}"
