"""The papers' tables: their numbers, and ours with intervals beside them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mtbert.config import papers
from mtbert.judge import Judgement, Row
from mtbert.judge.paper_rows import UNPUBLISHED, VARIANTS
from mtbert.judge.rows import rank
from mtbert.judge.settings_diff import differing_settings
from mtbert.report import markdown, training_section
from mtbert.scores.columns import shown_metrics
from mtbert.scores.metrics import in_words
from mtbert.scores.results import Results
from mtbert.stats import LEAST_SEEDS
from mtbert.tasks import COURSE, Tasks, are_the_courses, main

FAILING = "\N{DAGGER}"  # marks a row that is not trained well enough
TIMES_BERT = f"{markdown.TIMES} BERT"
ABOUT = (
    "Ours is the mean over seeds, in brackets its 95 % interval (Student's t) over seeds and rows (over rows "
    f"only, if there are fewer than {markdown.count(LEAST_SEEDS)} seeds). "
)
OF_COURSE = (
    "SST-5 (sentiment) and QQP (paraphrases) are accuracies, r is Pearson's correlation on STS-B (similarity). Overall "
    "is (SST-5 + QQP + r) / 3, normalised (SST-5 + QQP + (r + 1) / 2) / 3."
)
OF_OTHERS = "The mean is over {}, where a correlation or MCC, x, counts as (x + 1) / 2."
COSTS = (
    "Mean dev scores. Single-task models that form one row also have a line together. Rows of different papers differ "
    "in more than one thing. Weights in millions: *added* to the encoder, *trained*, and *stored*, which a model has "
    f"to keep beside the encoder. *{TIMES_BERT}*: all weights over one encoder's."
)


NUMBERS = {"text": ", in the text", UNPUBLISHED: ", rows that it does not print", VARIANTS: ""}  # that are no numbers


def title(paper: str) -> str:
    """Return what tables call a paper."""
    every = papers.load()
    return every[paper].title if paper in every else "Variants of one's own"


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        paper: its name; `own` for variants of one's own.
        number: as in the paper, `text` for its text, or UNPUBLISHED or VARIANTS.
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
    scores = [f"{tasks[name].display_name} ({in_words(tasks[name])})" for name in main(tasks)]
    return OF_OTHERS.format(markdown.literal(", ".join(scores)))


def tables(judgement: Judgement) -> list[Table]:
    """Return the tables that have a row of ours, in the papers' order."""
    results = judgement.results
    data = "" if results.is_comparable else markdown.plain(results.data.name)
    if results.data.kind == "sample":
        data = f"generated sentences, {data}"
    every: list[Table] = []
    for (paper, number), rows in itertools.groupby(judgement.paper_rows, lambda row: (row.paper, row.table)):
        absent = _absent(results, paper, number) if results.is_comparable else 0
        every.append(Table(paper, number, [*rows], absent, data, results.tasks))
    return every


def _absent(results: Results, paper: str, number: str) -> int:
    """Return how many rows of a paper's table were not run; 0 of a table that is not the paper's own."""
    published = papers.load()[paper].tables if paper in papers.load() else {}
    rows = published.get(number, {})
    return sum(len(row.splits) for label, row in rows.items() if not results.answering(paper, label))


def render(table: Table, judgement: Judgement) -> str:
    """Return the table as Markdown, with what a reader must know below it."""
    reasons = {row.label: training_section.reasons(row.below, table.tasks) for row in table.rows if row.below}
    splits = {row.split for row in table.rows}
    rows = [*judgement.baselines, *table.rows] if "dev" in splits else table.rows
    is_published = any(row.published for row in rows)
    marks = dict.fromkeys(reasons, f" {FAILING}")
    lines = [_line(table, row, is_published, marks.get(row.label, ""), with_split=len(splits) > 1) for row in rows]
    notes = [f"- {markdown.literal(row.label)}: {markdown.literal(row.note)}." for row in table.rows if row.note]
    heading = f"### {markdown.literal(table.heading)}"
    notes += _alike(table, judgement.results)
    parts = [heading, markdown.lined(lines), _failing(reasons), table.more, "\n".join(dict.fromkeys(notes))]
    return "\n\n".join(filter(None, parts))


def _failing(reasons: Mapping[str, str]) -> str:
    """Return the line below a table that says why rows are marked; empty for none."""
    labels_by_reason: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        labels_by_reason.setdefault(reason, []).append(markdown.literal(label))
    sentences = [f"{', '.join(labels)}: {reason}." for reason, labels in labels_by_reason.items()]
    return f"{FAILING} Not trained well enough to compare. {' '.join(sentences)}" if sentences else ""


def _alike(table: Table, results: Results) -> Iterator[str]:
    """Yield a line for each two rows that are one training, as where a profile sets what they differ in."""
    trained = {name for name, settings in results.settings.items() if "model" in settings}
    rows = [row for row in table.rows if len(row.names) == 1 and trained.issuperset(row.names)]
    for one, other in itertools.combinations(rows, 2):
        is_alike = one.split == other.split and one.seeds == other.seeds and one.names != other.names
        if is_alike and _has_one_training(results, one.names, other.names):
            labels = f"{markdown.literal(one.label)}, {markdown.literal(other.label)}"
            yield f"- {labels}: trained with the same settings here, so their scores are the same."


def _has_one_training(results: Results, one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two models differ in nothing that they were trained and scored with."""
    runs = [results.settings[name].get("run") for name in (*one, *other)]
    return runs[0] == runs[1] and not differing_settings(results.settings, one, other)


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


def costs(judgement: Judgement) -> str:
    """Return every row of ours with its weights as Markdown, from the highest mean on dev."""
    tasks = judgement.results.tasks
    metrics = [metric for metric in shown_metrics(tasks) if any(metric in row.scores for row in judgement.rows)]
    lines: list[dict[str, str]] = []
    for row in sorted(judgement.rows, key=lambda row: rank(row, tasks)):
        cells = {"variants": ", ".join(f"`{name}`" for name in row.names)}
        for metric in metrics:
            cells[markdown.heading(metric, tasks)] = markdown.estimate(row.scores.get(metric))
        for weights in ("added", "trained", "stored"):
            cells[weights] = f"{row.weights[weights] / 1e6:.2f}"
        cells[TIMES_BERT] = f"{row.weights['times_bert']:.2f}"
        cells["seeds"] = str(len(row.seeds))
        lines.append(cells)
    return f"{COSTS}\n\n{markdown.lined(lines)}"
