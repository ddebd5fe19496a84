"""A trained model, which predicts sentences: what `mtbert.load` returns."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch

from mtbert import layout
from mtbert.data import readers
from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError, MtbertError, UnknownNameError, first_of
from mtbert.models.multitask import MultitaskModel
from mtbert.scores.schemas import RunMetrics
from mtbert.tasks import Task
from mtbert.training import evaluation
from mtbert.variants.settings import VariantSettings

Row = str | Sequence[str]  # a text, or the two texts of a pair
ANY_TASK = ("text", "text_pair")  # columns of rows that every task takes
FORMS = {1: "one text", 2: "two texts"}  # of a row, by the number of a task's sentences
SHOWN = 10  # most rows in a message


class ModelError(MtbertError):
    """A trained model is missing, or lacks a task."""


class NotFiniteError(ModelError):
    """What a model computes of some rows is no number.

    Attributes:
        source: the model and its task, in words.
        rows: the numbers of the rows, from 0.
        fault: why it may be so, and what to do.
    """

    def __init__(self, source: str, rows: Sequence[int], fault: str) -> None:
        self.source, self.rows, self.fault = source, rows, fault
        numbers = first_of([str(number + 1) for number in rows], SHOWN)
        super().__init__(f"{source}: row {numbers}: what is computed is not finite (NaN or infinite); {fault}")


@dataclass
class Model:
    """One trained model.

    Attributes:
        settings, metrics: those of its training.
        network: the network with its trained weights, in evaluation mode.
        tokenize: maps sentences to the ids of their word pieces.
        special_tokens: the ids that frame a sequence.
        device: the device that it computes on.
        run, encoder: the folder of its run, and the one that holds its tokenizer and the encoder's config.json.
        name, seed: those of the variant.
        tasks: the tasks that it predicts.
        longest: most word pieces of a sequence; longer ones are cut.
    """

    settings: VariantSettings
    metrics: RunMetrics
    network: MultitaskModel
    tokenize: Callable[[list[str]], list[list[int]]]
    special_tokens: SpecialTokens
    device: torch.device
    run: Path
    encoder: Path

    def __post_init__(self) -> None:
        self.name, self.seed, self.tasks = self.settings.variant, self.metrics.seed, tuple(self.settings.tasks)
        self.longest = self.settings.model.max_tokens

    def predict(self, task: str, rows: Sequence[Row]) -> pd.DataFrame:
        """Predict each row, in order.

        Trainings predict with the same function: the same rows give the same digits.

        Args:
            task: one of `tasks`.
            rows: a text for each, or two where the task's examples are pairs.

        Returns:
            A table with `prediction`, a class's number or a score (float); for classes `class`, its name, and
            `probability_0`, `probability_1`, ...; for scores `lowest` and `highest`, their range; `cut`, whether the
            row was longer than the model's longest sequence and lost its end, as in training.

        Raises:
            ModelError: it does not predict the task, or what it computes is not finite. DataError: a row is empty or
                has another number of texts.
        """
        chosen = self.task(task)
        examples, cut = self.examples(chosen, checked_rows(chosen, rows))
        with self._as_in_training():
            columns = evaluation.columns(self.network, examples, self.device)
        self._check_finite(task, columns)
        prediction = columns.pop("prediction")
        if chosen.kind == "score":
            labels = {"lowest": chosen.lowest, "highest": chosen.highest}
        else:
            labels = {"class": [chosen.class_names[int(number)] for number in prediction]}
        return pd.DataFrame({"prediction": prediction} | labels | columns | {"cut": cut})

    def _check_finite(self, task: str, columns: Mapping[str, np.ndarray]) -> None:
        """Raise ModelError with the rows whose numbers are not finite, such as those of weights that are NaN."""
        is_finite = np.isfinite(np.column_stack([*columns.values()])).all(axis=1)
        if not is_finite.all():
            remedy = f"`{layout.remedy(self.run)} --force --single-item` trains again"
            fault = f"the weights in {self.run} may be faulty, and {remedy}"
            rows = np.flatnonzero(~is_finite)
            raise NotFiniteError(f"{self.name}, seed {self.seed}, {task}", [*map(int, rows)], fault)

    def timed(self, task: str, row: tuple[str, ...]) -> float:
        """Return the seconds that a prediction of one row takes, from its tokens on."""
        examples, _ = self.examples(self.task(task), [row])
        with self._as_in_training():
            started = time.perf_counter()
            evaluation.columns(self.network, examples, self.device)
            return time.perf_counter() - started

    def task(self, name: str | None) -> Task:
        """Return one of its tasks, or the only one; ModelError for another, or where none is named of several."""
        chosen = task_name(self, name)
        return self.settings.described[chosen]

    def examples(self, task: Task, rows: Sequence[tuple[str, ...]]) -> tuple[Examples, np.ndarray]:
        """Make examples without labels, and a mask [rows] of those that are cut to the longest sequence."""
        is_apart = self.settings.model.is_apart(task)
        columns = [self.tokenize([*texts]) for texts in zip(*rows, strict=True)]  # word pieces, [texts][rows]
        table: dict[str, Any] = {f"tokens{number}": column for number, column in enumerate(columns, 1)}
        table |= {"id": [str(number) for number in range(len(rows))], "label": [np.nan] * len(rows)}
        counts = np.array([[len(ids) for ids in column] for column in columns])  # [texts, rows]
        is_joined = task.is_pair and not is_apart
        longest = counts.sum(axis=0) if is_joined else counts.max(axis=0)
        is_cut = longest + self.special_tokens.count(is_joined) > self.longest
        encoding = "bi" if is_apart else "cross"
        return Examples(table, task, encoding, self.special_tokens, self.longest), is_cut

    @contextlib.contextmanager
    def _as_in_training(self) -> Iterator[None]:
        """Compute with threads and precision of the run, on which the last digits depend."""
        threads = torch.get_num_threads()
        torch.set_num_threads(self.settings.run.threads)
        try:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.metrics.precision == "bf16"):
                yield
        finally:
            torch.set_num_threads(threads)


class Predictor(Protocol):
    """What predicts: a model, or an ensemble of them; attributes as of `Model`."""

    name: str
    seed: int
    tasks: tuple[str, ...]


def task_name(predictor: Predictor, name: str | None) -> str:
    """Return the name of one of its tasks, or of the only one; ModelError as for `Model.task`."""
    first, *others = predictor.tasks
    if name is None and others:
        raise ModelError(f"{predictor.name} has several tasks; choose one: {', '.join(predictor.tasks)}")
    if name is not None and name not in predictor.tasks:
        raise ModelError(f"{predictor.name}, seed {predictor.seed}: {UnknownNameError('task', name, predictor.tasks)}")
    return name or first


def checked_rows(task: Task, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the texts of each row, as many as the task's examples have.

    Raises:
        DataError: no rows, a row with another number of texts, or a text that preprocessing refuses: empty, too long,
            or not text.
    """
    if isinstance(rows, str) or not len(rows):
        actual = "a text" if rows else "no row"
        raise DataError(f"{task.name} needs a list of rows, each {FORMS[len(task.sentences)]}; got {actual}")
    row_texts: list[tuple[Any, ...]] = [tuple(row) if isinstance(row, (list, tuple)) else (row,) for row in rows]
    for number, row in enumerate(row_texts, 1):
        if fault := fault_of_row(task.sentences, row):
            raise DataError(f"{task.name}: row {number}: {fault}")
    return row_texts


def fault_of_row(columns: Sequence[str], row: Sequence[object]) -> str | None:
    """Return why a row's texts, which stand in these columns, cannot be predicted; None where they can."""
    if len(row) != len(columns):
        return f"needs {FORMS[len(columns)]}, got {len(row)}"
    for column, text in zip(columns, row, strict=True):
        if fault := readers.fault_of_text(column, text):
            return fault
    return None
