"""What a trained model, a baseline and a vote take and return alike: rows in, a table of answers out."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, Protocol

import numpy as np
import pandas as pd

from mtbert.data import readers
from mtbert.errors import DataError, MtbertError, UnknownNameError
from mtbert.scores import predictions, sets
from mtbert.tasks import Task

TextOrPair = str | Sequence[str]  # a text, or the two texts of a pair
SEVERAL = (list, tuple, np.ndarray)  # what may hold the texts of a row
ANY_TASK = ("text", "text_pair")  # columns of rows that every task takes
FORMS = {1: "one text", 2: "two texts"}  # of a row, by the number of a task's sentences
PROBABILITY = "_probability"  # ends the name of the column beside a task's
CUT = "cut"


class ModelError(MtbertError):
    """A trained model is missing, or lacks a task."""


class Predictor(Protocol):
    """What predicts.

    Attributes:
        name, seed: those of the variant.
        tasks: the tasks that it predicts.
    """

    name: str
    seed: int
    tasks: tuple[str, ...]

    def task(self, name: str | None) -> Task:
        """Return one of its tasks, or the only one; ModelError for another, or where none is named of several."""
        ...

    def tables(self, tasks: Sequence[str], rows: Sequence[tuple[str, ...]]) -> dict[str, pd.DataFrame]:
        """Return the table of each of some tasks, as of `predict`, for rows whose texts were checked."""
        ...


def predict(predictor: Predictor, rows: Sequence[TextOrPair], task: str | None) -> pd.DataFrame:
    """Predict each row, in order; see `mtbert.inference.model.Model.predict`."""
    if task is not None and not isinstance(task, str):
        raise ModelError(f"task is {task!r}; allowed: the name of a task. The rows come first: predict(rows, task)")
    if task is not None or len(predictor.tasks) == 1:
        chosen = predictor.task(task)
        checked = checked_rows(chosen.name, chosen.sentences, rows)
        return predictor.tables([chosen.name], checked)[chosen.name]
    tasks = that_take(predictor, _texts_of_first(rows))
    checked = checked_rows(predictor.name, tasks[0].sentences, rows)
    return in_one(tasks, predictor.tables([one.name for one in tasks], checked))


def that_take(predictor: Predictor, texts: int) -> list[Task]:
    """Return the tasks that take rows of so many texts; ModelError where there is none."""
    tasks = [predictor.task(name) for name in predictor.tasks]
    taking = [task for task in tasks if len(task.sentences) == texts]
    if not taking:
        needed = ", ".join(f"{task.name} {FORMS[len(task.sentences)]}" for task in tasks)
        raise ModelError(
            f"{predictor.name} has no task for rows of {FORMS.get(texts, texts)}; its tasks take: {needed}"
        )
    return taking


def table(task: Task, columns: Mapping[str, np.ndarray], is_cut: np.ndarray) -> pd.DataFrame:
    """Return the table of one task from its predictions and probabilities, and a mask [rows] of those that are cut."""
    if task.kind == "score":
        labels: dict[str, Any] = {"lowest": task.lowest, "highest": task.highest}
    elif task.several:
        return with_names(task, pd.DataFrame({**columns} | {CUT: is_cut}))
    else:
        labels = {"class": [task.class_names[int(number)] for number in columns["prediction"]]}
    return pd.DataFrame({"prediction": columns["prediction"]} | labels | {**columns} | {CUT: is_cut})


def with_names(task: Task, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of sets of labels with the list of their names in place of each set's number."""
    return table.assign(prediction=[sets.names_in(task, number) for number in table["prediction"]])


def with_numbers(task: Task, table: pd.DataFrame) -> pd.DataFrame:
    """Return the reverse of `with_names`."""
    numbers = [sets.number_of(map(task.class_names.index, names)) for names in table["prediction"]]
    return table.assign(prediction=numbers)


def in_one(tasks: Sequence[Task], tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the answers of several tasks side by side.

    For a task `topic` the table has `topic`: the class by its name, a list of labels, or a score. For classes it also
    has `topic_probability`, the probability of that class; for labels `topic_probability_0`, ..., that of each. `cut`
    is whether any task lost the end of the row.

    Raises: ModelError where two columns would have one name.
    """
    columns: dict[str, Any] = {}
    for task in tasks:
        answers = tables[task.name]
        of_task = {task.name: answers["class" if "class" in answers else "prediction"]}
        if task.several:
            of_task |= {f"{task.name}_{name}": answers[name] for name in predictions.probability_columns(task)}
        elif task.kind != "score":
            of_task[f"{task.name}{PROBABILITY}"] = _probabilities(answers)
        for name, values in of_task.items():
            if name in (*columns, CUT):
                raise ModelError(f"the answers of all tasks would have two columns {name}; name one task")
            columns[name] = values
    is_cut = np.column_stack([tables[task.name][CUT] for task in tasks]).any(axis=1)
    return pd.DataFrame(columns | {CUT: is_cut})


def _probabilities(answers: pd.DataFrame) -> np.ndarray:
    """Return the probability of each row's predicted class: [rows]."""
    names = [name for name in answers if str(name).startswith("probability_")]
    picks = answers["prediction"].astype(int).to_numpy()
    return answers[names].to_numpy()[np.arange(len(answers)), picks]


def task_name(predictor: Predictor, name: str | None) -> str:
    """Return the name of one of its tasks, or of the only one; ModelError as for `Predictor.task`."""
    first, *others = predictor.tasks
    if name is None and others:
        raise ModelError(f"{predictor.name} has several tasks; choose one: {', '.join(predictor.tasks)}")
    if name is not None and name not in predictor.tasks:
        raise ModelError(f"{predictor.name}, seed {predictor.seed}: {UnknownNameError('task', name, predictor.tasks)}")
    return name or first


def _texts_of_first(rows: Sequence[TextOrPair]) -> int:
    """Return how many texts the first row has; 1 where there are no rows, which `checked_rows` refuses."""
    _check_form(rows)
    first = next(iter(rows), "")
    return len(first) if isinstance(first, SEVERAL) else 1


def _check_form(rows: object) -> None:
    """Raise DataError for what yields no rows in order: a table yields the names of its columns."""
    if isinstance(rows, (pd.DataFrame, Mapping, Set)):
        raise DataError(
            f"rows are a {type(rows).__name__}, which has no order of rows; allowed: a list of texts, such as "
            "table['text'].tolist(), or of pairs of texts, such as [*zip(table['text'], table['text_pair'])]"
        )


def checked_rows(name: str, columns: Sequence[str], rows: Sequence[TextOrPair]) -> list[tuple[str, ...]]:
    """Return the texts of each row, as many as there are columns.

    Raises:
        DataError: no rows, a row with another number of texts, or a text that preprocessing refuses: empty, too long,
            or not text; the message begins with `name`.
    """
    _check_form(rows)
    if isinstance(rows, str) or not len(rows):
        actual = "a text" if rows else "no row"
        raise DataError(f"{name} needs a list of rows, each {FORMS[len(columns)]}; got {actual}")
    row_texts: list[tuple[Any, ...]] = [tuple(row) if isinstance(row, SEVERAL) else (row,) for row in rows]
    for number, row in enumerate(row_texts, 1):
        if fault := fault_of_row(columns, row):
            raise DataError(f"{name}: row {number}: {fault}")
    return row_texts


def fault_of_row(columns: Sequence[str], row: Sequence[object]) -> str | None:
    """Return why a row's texts, which stand in these columns, cannot be predicted; None where they can."""
    if len(row) != len(columns):
        return f"needs {FORMS[len(columns)]}, got {len(row)}"
    for column, text in zip(columns, row, strict=True):
        if fault := readers.fault_of_text(column, text):
            return fault
    return None
