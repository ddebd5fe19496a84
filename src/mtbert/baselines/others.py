"""Predictions that others made: a language model's answers, an old system's, a colleague's.

`others/NAME/TASK-dev.csv` in the data folder holds a prediction for each row of dev; `TASK-test.csv`, which may be
missing, for each row of test. A row is known by its id or by its text. `others/NAME/costs.yaml` says what they cost.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mtbert import files
from mtbert.baselines.rows import Rows
from mtbert.data import readers, several
from mtbert.data.labels import visible
from mtbert.data.records import NumberedRow
from mtbert.errors import DataError, UnknownNameError, in_words
from mtbert.scores.columns import CONFIDENCE, Predictions
from mtbert.scores.schemas import Costs
from mtbert.settings import NAME
from mtbert.tasks import OTHERS_FOLDER, Split, Task, Tasks, label_text

COSTS = "costs.yaml"
PREDICTION, PROBABILITY, ID, SEED = "prediction", "probability", "id", "seed"  # columns
KNOWN = (PREDICTION, PROBABILITY, ID, SEED)
TEXTS = (("text", "text_pair"), ("sentence1", "sentence2"))  # what columns of text may be called, beside their names
SCORED: tuple[Split, ...] = ("dev", "test")
LONGEST_NAME = 50  # characters
SLACK = 0.005  # of a probability that was rounded to two digits
LONGEST_SHOWN = 60  # characters of a text in a message
FILES = "TASK-dev.csv, TASK-test.csv and costs.yaml"
ReadRows = Callable[[Task, Split], Rows | None]
_Key = tuple[str, ...]  # an id, or the texts of a row


@dataclass(frozen=True)
class Other:
    """What one other has predicted.

    Attributes:
        name: of the folder.
        predicted: by split and task, with the columns of a prediction file, in the order of the data.
        costs: as they are said.
        digests: SHA-256 of each file, by name.
    """

    name: str
    predicted: Predictions = field(default_factory=lambda: {split: {} for split in SCORED})
    costs: Costs = field(default_factory=Costs)
    digests: dict[str, str] = field(default_factory=dict)


def read(data_dir: Path, tasks: Tasks, read_rows: ReadRows) -> list[Other]:
    """Read all predictions of others in a data folder.

    Args:
        data_dir: the data folder.
        tasks: its tasks.
        read_rows: returns the rows of a task's split; None where it has none.

    Raises:
        DataError: a name is not allowed, rows are missing, repeated or others, or a prediction is none of the task's.
    """
    scored = {name: task for name, task in tasks.items() if not task.serves}
    return [_other(folder, scored, read_rows) for folder in _visible(data_dir / OTHERS_FOLDER)]


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if not path.name.startswith("."))


def _other(folder: Path, tasks: Tasks, read_rows: ReadRows) -> Other:
    if not folder.is_dir():
        raise DataError(
            f"{folder} is a file; allowed in {OTHERS_FOLDER}: a folder for each who predicted, with {FILES}"
        )
    if not re.fullmatch(NAME, folder.name) or len(folder.name) > LONGEST_NAME:
        allowed = f"a to z, 0 to 9 and - between them, at most {LONGEST_NAME}"
        raise DataError(f"{folder}: a folder of this name cannot be a row of the report; allowed: {allowed}")
    other = Other(folder.name, costs=_costs(folder / COSTS))
    for file in _visible(folder):
        if file.name != COSTS:
            task, split = _task_and_split(file, tasks)
            if task.name in other.predicted[split]:
                raise DataError(f"{folder} has two files of {task.name}, {split}; remove one")
            rows = read_rows(task, split)
            if rows is None:
                raise DataError(f"{file}: {task.name} has no rows of {split}; remove the file")
            other.predicted[split][task.name] = _table(file, task, split, rows)
        other.digests[file.name] = files.sha256(file)
    if not other.predicted["dev"]:
        raise DataError(f"{folder} holds no predictions of dev; allowed: {FILES}")
    return other


def _costs(file: Path) -> Costs:
    """Return what costs.yaml says; nothing where it is missing."""
    if not file.is_file():
        return Costs()
    allowed = "allowed: such as `price: 0.4`, of 1,000 rows, `currency: EUR`, `milliseconds: 800`, of a row"
    content = files.read_yaml(file, "correct it")
    if not isinstance(content, dict) or not content:
        raise DataError(f"{file} holds no keys with values; {allowed}; if nothing is known, remove the file")
    empty = [str(key) for key, value in content.items() if value in (None, "")]
    if empty:
        raise DataError(f"{file}: {', '.join(empty)}: no value; {allowed}; what is not known is left out")
    try:
        return Costs.model_validate(content)
    except ValidationError as error:
        raise DataError(f"{file}: {in_words(error)}; {allowed}") from None


def _task_and_split(file: Path, tasks: Tasks) -> tuple[Task, Split]:
    """Return the task and split that a file's name says."""
    name, _, split_name = file.name.split(".")[0].rpartition("-")
    splits: list[Split] = [split for split in SCORED if split == split_name]
    if not splits or readers.ending(file) not in readers.ENDINGS:
        raise DataError(
            f"{file}: its name says no split of a task; allowed: {FILES}, also {', '.join(readers.ENDINGS[1:])}"
        )
    if name not in tasks:
        raise DataError(f"{file}: {UnknownNameError('task', name, tasks)}")
    return tasks[name], splits[0]


class _Prediction(NamedTuple):
    """A row of a file: its line, the value as it stands there, and both values as numbers."""

    line: int
    text: str
    prediction: float
    probability: float


@dataclass(frozen=True)
class _Source:
    """A file of predictions.

    Attributes:
        file: its path.
        task, split: what it predicts.
        columns: that it has.
    """

    file: Path
    task: Task
    split: Split
    columns: Sequence[str]

    @property
    def has_ids(self) -> bool:
        """Whether rows are known by their ids, not by their texts."""
        return ID in self.columns

    @property
    def texts(self) -> list[str]:
        """The columns of text, called as in the files of the task or as usual; none if they are not there."""
        count = len(self.task.sentences)
        for names in (self.task.sentences, *(usual[:count] for usual in TEXTS)):
            if {*names} <= {*self.columns}:
                return [*names]
        return []

    def key(self, values: Mapping[str, Any]) -> _Key:
        """Return what a row is known by."""
        return (_cell(values.get(ID)),) if self.has_ids else self.key_of_texts(values)

    def key_of_texts(self, values: Mapping[str, Any]) -> _Key:
        """Return a row's texts."""
        return tuple(visible(_cell(values.get(column))) for column in self.texts)

    def check_columns(self) -> None:
        """Raise DataError where the columns do not say which row is predicted as what, once."""
        listed = ", ".join(self.columns) or "no rows"
        for column in self.columns:
            meant = column.strip().casefold().removesuffix("s")
            if meant in KNOWN and column not in KNOWN:
                raise DataError(f"{self.file} has a column {column}; allowed: {meant}, spelled like this")
        if PREDICTION not in self.columns:
            raise DataError(f"{self.file} has no column {PREDICTION}; it has {listed}")
        if SEED in self.columns:
            allowed = "one prediction a row, so each seed in a folder of its own"
            raise DataError(f"{self.file} has a column {SEED}; allowed: {allowed}")
        if not self.has_ids and not self.texts:
            allowed = f"a column {ID}, or {', '.join(self.task.sentences)}"
            raise DataError(
                f"{self.file} does not say which row a prediction is of; allowed: {allowed}; it has {listed}"
            )

    def prediction(self, line: int, values: Mapping[str, Any]) -> _Prediction:
        """Return the prediction of a row; DataError where it is none of the task's."""
        place, value = f"{self.file}, line {line}", values.get(PREDICTION)
        if self.task.several and value is None:
            empty = '""' if self.task.separator else "[]"
            raise DataError(f"{place}: its {PREDICTION} is missing; of a row without labels it is {empty}")
        text = label_text(value)
        number = _set_number(self.task, value) if self.task.several else _number(self.task, text)
        if number is None:
            actual = repr(text) if text else "empty"
            raise DataError(f"{place}: its {PREDICTION} is {actual}; allowed: {_allowed(self.task)}")
        probability = math.nan
        if PROBABILITY in self.columns:
            probability = self._probability(place, _cell(values.get(PROBABILITY)).strip())
        return _Prediction(line, text, number, probability)

    def _probability(self, place: str, text: str) -> float:
        if not self.task.has_one_class:
            kind = "a score" if self.task.kind == "score" else "a set of labels"
            raise DataError(f"{place}: {kind} has no {PROBABILITY}; remove the column")
        probability = float(text) if readers.NUMBER.fullmatch(text) else math.nan
        if not 0 <= probability <= 1:
            raise DataError(f"{place}: its {PROBABILITY} is {text!r}; allowed: 0 to 1, that of the predicted class")
        return probability

    def check_repeated(self, key: _Key, found: _Prediction, first: _Prediction | None) -> None:
        """Raise DataError for a row that came before; a text may come again, with the same prediction."""
        if first is None or (not self.has_ids and first.text == found.text):
            return
        differ = "" if self.has_ids else f", with the predictions {first.text} and {found.text}"
        raise DataError(f"{self.file}, line {found.line}: {self.name_of(key)} is in line {first.line}, too{differ}")

    def check_rows(self, keys: Sequence[_Key], by_key: Mapping[_Key, _Prediction]) -> None:
        """Raise DataError where rows of the data have no prediction, or predictions are of other rows."""
        keys_of_data = {*keys}
        missing = [key for key in keys if key not in by_key]
        unknown = [f"line {by_key[key].line}, {self.name_of(key)}" for key in by_key if key not in keys_of_data]
        if missing:
            others = f"; {len(unknown):,} others have one, first {unknown[0]}" if unknown else ""
            no_ids = (
                f"; {self.task.name} has no `{ID}` in tasks.yaml, so leave this column out and name rows by their text"
            )
            remedy = no_ids if self.has_ids and not self.task.id else ""
            of_all = f"{len(missing):,} of {len(keys):,} rows of {self.split} have no prediction"
            raise DataError(f"{self.file}: {of_all}, first {self.name_of(missing[0])}{others}{remedy}")
        if unknown:
            of_all = f"{len(unknown):,} rows are none of {self.split}, or were left out there"
            raise DataError(f"{self.file}: {of_all}, first {unknown[0]}; remove them")

    def check_texts(self, texts_by_id: Mapping[_Key, _Key], lines: Sequence[NumberedRow]) -> None:
        """Raise DataError where a row's id is that of another text: ids of another order would score at random."""
        for line, values in lines if self.has_ids and self.texts else ():
            ours, theirs = texts_by_id[self.key(values)], self.key_of_texts(values)
            if ours != theirs:
                both = f"is {_short(ours)} in the data, and {_short(theirs)} here"
                raise DataError(f"{self.file}, line {line}: {self.name_of(self.key(values))} {both}")

    def name_of(self, key: _Key) -> str:
        """Return what a row is known by, for a message."""
        return f"{'id' if self.has_ids else 'text'} {_short(key)}"


def _table(file: Path, task: Task, split: Split, rows: Rows) -> pd.DataFrame:
    """Return a file as a prediction file: a line for each row of the data, in its order."""
    lines = [*readers.rows_of(file)]
    source = _Source(file, task, split, [*dict.fromkeys(column for line in lines for column in line.values)])
    source.check_columns()
    texts: list[_Key] = [*zip(*([visible(text) for text in column] for column in rows.columns), strict=True)]
    keys: list[_Key] = [(identifier,) for identifier in rows.ids] if source.has_ids else texts
    by_key: dict[_Key, _Prediction] = {}
    for line, values in lines:
        key, found = source.key(values), source.prediction(line, values)
        source.check_repeated(key, found, by_key.get(key))
        by_key[key] = found
    source.check_rows(keys, by_key)
    source.check_texts(dict(zip(keys, texts, strict=True)), lines)
    predictions = [by_key[key] for key in keys]
    table = pd.DataFrame({ID: rows.ids, "label": rows.labels, PREDICTION: [row.prediction for row in predictions]})
    if PROBABILITY in source.columns:
        table[CONFIDENCE] = [row.probability for row in predictions]
    return table.assign(scored=True)


def _number(task: Task, text: str) -> float | None:
    """Return a label as a number; any number for a score; None where it is none of the task's."""
    if task.kind == "score":
        return float(text) if readers.NUMBER.fullmatch(text) else None
    labels = task.labels or {str(number): number for number in range(task.classes)}
    return float(labels[text]) if text in labels else None


def _set_number(task: Task, value: Any) -> float | None:
    """Return the number of a list, or a text, of labels; None where one is none of the task's."""
    return several.read_cell(task, value).number


def _allowed(task: Task) -> str:
    """Return what a prediction may be, in words."""
    labels = readers.allowed_labels(task)
    if not task.several:
        return labels
    return f"labels with {task.separator!r} between: {labels}" if task.separator else f"a JSON list of {labels}"


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _short(key: _Key) -> str:
    text = " / ".join(key)
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…")


def in_lines(others: Sequence[Other], tasks_by_name: Tasks) -> Iterator[str]:
    """Yield a line for each: what it predicted; and one for values that such predictions, or costs, rarely have."""
    for other in others:
        tasks = [f"{task} {split}" for split, by_task in other.predicted.items() for task in by_task]
        yield f"{OTHERS_FOLDER}/{other.name}: predictions of {', '.join(tasks)}"
        yield from _rare_costs(f"{OTHERS_FOLDER}/{other.name}/{COSTS}", other.costs)
        for split, by_task in other.predicted.items():
            for name, table in by_task.items():
                yield from _rare_values(f"{OTHERS_FOLDER}/{other.name}, {name} {split}", tasks_by_name[name], table)


def _rare_costs(file: str, costs: Costs) -> Iterator[str]:
    """Yield that a row takes longer among others than alone, as the time of a whole batch does."""
    if costs.milliseconds is not None and (costs.batch_milliseconds or 0) > costs.milliseconds:
        more = f"`batch_milliseconds` {costs.batch_milliseconds:g} is more than `milliseconds` {costs.milliseconds:g}"
        yield f"{file}: {more}; is it the time of one row among 32, not of all 32?"


def _rare_values(file: str, task: Task, table: pd.DataFrame) -> Iterator[str]:
    """Yield how many scores are outside a task's range, and how many probabilities no likeliest class has."""
    if task.kind == "score":
        scores = table[PREDICTION].to_numpy(float)
        outside = scores[(scores < task.lowest) | (scores > task.highest)]
        if len(outside):
            limits = f"from {task.lowest:g} to {task.highest:g}, such as {outside[0]:g}"
            yield f"{file}: {len(outside):,} of {len(table):,} scores are not {limits}"
    elif CONFIDENCE in table and not task.several:
        count = int(np.sum(table[CONFIDENCE].to_numpy(float) < 1 / task.classes - SLACK))
        if not count:
            return
        of_all = f"{count:,} of {len(table):,} probabilities are below 1/{task.classes}"
        yield f"{file}: {of_all}, which that of the likeliest class is not; is each that of the predicted class?"
