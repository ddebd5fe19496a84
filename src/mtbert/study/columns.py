"""Tell which columns of a file hold labels, texts and ids: known names, else the columns that are left.

Where two columns may be meant, `task_drafts` asks. The order of columns decides nothing.
"""

import contextlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from mtbert.data import readers, several
from mtbert.data.labels import SCORES
from mtbert.errors import DataError
from mtbert.tasks import label_text
from mtbert.tasks.reading import MOST_IN_A_SET

# Known names; capitals, blanks and -_. do not count.
LABELS = ("label", "gold_label", "labels")  # one of them is the label; else a column that is called like the task
LABELS_OF_PAIRS = (*SCORES, "is_duplicate")  # usual beside a pair, whatever else has few values
OTHER_LABELS = ("class", "category", "target", *LABELS_OF_PAIRS)
PAIRS = (("sentence1", "sentence2"), ("question1", "question2"), ("premise", "hypothesis"), ("text", "text_pair"))
IDS = ("", "id", "idx", "index", "guid", "pair_id", "unnamed: 0")
# Columns by which rows could be split: neither labels nor text, and used only where asked.
GROUPS = (
    "account_id", "author_id", "client_id", "conversation_id", "customer_id", "doc_id", "document_id", "group_id",
    "patient_id", "session_id", "thread_id", "user_id",
)  # fmt: skip
TIMES = ("created_at", "date", "datetime", "timestamp")
FEW = 20  # values of a column of labels that has no known name


class Table:
    """A file's rows, and what each column holds.

    Attributes:
        rows: of the file, each its values by column.
        values: the different labels in each column; empty ones are none. In JSON lines, each row has its own columns.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = rows
        columns = dict.fromkeys(column for row in rows for column in row)
        self.values = {column: {label_text(row.get(column)) for row in rows} - {""} for column in columns}

    @cached_property
    def content(self) -> list[str]:
        """The columns that may be labels or texts: not those that are called like ids, groups or dates."""
        others = called(self.values, (*IDS, *GROUPS, *TIMES))
        return [column for column in self.values if column not in others]

    @cached_property
    def pair(self) -> list[str]:
        """Two columns that are called like a pair of sentences; none where there are no such two."""
        pairs = (called(self.values, names) for names in PAIRS)
        return next((pair for pair in pairs if len(pair) == 2), [])

    def is_numeric(self, column: str) -> bool:
        """Return whether each value is a number."""
        return all(map(is_number, self.values[column]))

    def is_shared(self, column: str) -> bool:
        """Return whether rows share the values of a column: at most half as many as there are rows."""
        return len(self.values[column]) <= len(self.rows) / 2

    def has_few(self, column: str) -> bool:
        """Return whether rows share the values of a column, and it has at most FEW."""
        return len(self.values[column]) <= FEW and self.is_shared(column)

    def cells(self, column: str) -> list[Any]:
        """Return a column's cells as the file has them; None where a row has none."""
        return [row.get(column) for row in self.rows]

    def listed(self, column: str) -> set[str]:
        """Return the labels in a column of lists; none where at least half of the cells hold something else."""
        cells = [cell for cell in self.cells(column) if cell not in (None, "")]
        labels: set[str] = set()
        lists = 0
        for cell in cells:
            if isinstance(cell, str) and not cell.lstrip().startswith("["):
                continue
            with contextlib.suppress(DataError):
                labels.update(several.parts(cell, ""))
                lists += 1
        return labels if 2 * lists > len(cells) else set()

    def indicators(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of 0 and 1, which may be the labels of one task; none where fewer than two hold both."""
        indicators = [column for column in columns if self.values[column] and self.values[column] <= {"0", "1"}]
        return indicators if sum(len(self.values[column]) == 2 for column in indicators) > 1 else []

    def repeats(self, column: str, other: str) -> bool:
        """Return whether a column is another in other words: each value goes with one of the other, and the reverse."""
        pairs = {*zip(map(label_text, self.cells(column)), map(label_text, self.cells(other)), strict=True)}
        values, others = ({*side} for side in zip(*pairs, strict=True))
        return 1 < len(pairs) == len(values) == len(others) <= len(self.rows) / 2


def called(columns: Sequence[str] | Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return the columns of these names, in the order of names; capitals, blanks and -_. do not count."""
    return [column for name in names for column in columns if _letters(column) == _letters(name)]


def _letters(name: str) -> str:
    return re.sub(r"[-_. ]", "", name.casefold())


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def labels(table: Table, name: str) -> list[str]:
    """Return the columns that may be the label, or a label of a task each.

    A known name decides; else the only column of lists. Else it is each column that is usually called so, or of few
    values, or of fractions; where there is none, the only one of words that rows share. Of two that repeat each other
    one counts: that of a usual name, or of words.

    Args:
        table: of train.
        name: the task's, as its column of labels may be called.
    """
    columns = [column for column in table.content if column not in table.pair]
    like_the_task = [column for column in called(columns, [name]) if not _has_most(table, column)]
    if first := [*called(columns, LABELS), *like_the_task][:1]:
        return first
    lists = [column for column in columns if 1 < len(table.listed(column)) <= MOST_IN_A_SET]
    if len(lists) == 1:
        return lists
    usual = called(columns, OTHER_LABELS)
    if table.pair and called(usual, LABELS_OF_PAIRS):
        return usual
    may_be = [column for column in columns if column in usual or table.has_few(column) or _has_fractions(table, column)]
    if not may_be:
        shared = [column for column in columns if table.is_shared(column) and not table.is_numeric(column)]
        may_be = shared if len(shared) == 1 else []
    distinct: list[str] = []
    for column in sorted(may_be, key=lambda column: (column not in usual, table.is_numeric(column))):
        if not any(table.repeats(column, other) and not table.indicators([column, other]) for other in distinct):
            distinct.append(column)
    indicators = table.indicators(distinct)  # one of 0 alone is a label that no row has
    return [
        column for column in columns if column in distinct and (len(table.values[column]) > 1 or column in indicators)
    ]


def _has_most(table: Table, column: str) -> bool:
    """Return whether a column is of words, and no other one has more values, as of a text."""
    others = [len(table.values[other]) for other in table.content if other != column]
    is_of_words = not table.is_numeric(column) and not table.listed(column)
    return is_of_words and max(others, default=math.inf) <= len(table.values[column])


def _has_fractions(table: Table, column: str) -> bool:
    """Return whether a column is of numbers, of which some are no whole ones."""
    return table.is_numeric(column) and not all(float(value).is_integer() for value in table.values[column])


def sentences(table: Table, of_labels: Sequence[str]) -> list[str]:
    """Return the columns that may be the text, or the two of a pair."""
    if table.pair:
        return table.pair
    others = [column for column in table.content if column not in of_labels]
    texts = [
        column
        for column in others
        if not (table.is_numeric(column) or table.has_few(column))
        and not any(table.repeats(column, label) for label in of_labels)
    ]
    return texts or others  # a handful of rows has few values in each


def ids(table: Table, rows_of_others: Iterable[Sequence[Mapping[str, Any]]]) -> str | None:
    """Return the first column of a known name that has text or another whole number in each row of each file.

    Args:
        table: of train.
        rows_of_others: those of dev and test.
    """
    named = called(table.values, IDS[1:])
    files = [table.rows, *rows_of_others] if named else []
    return next((column for column in named if all(_are_ids(rows, column) for rows in files)), None)


def _are_ids(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    """Return whether values are text or whole numbers, and none comes twice."""
    values = [row.get(column) for row in rows]
    texts = [str(value) if isinstance(value, int) else value for value in values]
    return len({*map(str, texts)}) == len(texts) and not any(readers.fault_of_text("id", text) for text in texts)
