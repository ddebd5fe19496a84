"""A trained model, which predicts sentences: what `mtbert.load` returns."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from mtbert import layout
from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens, Tokenize
from mtbert.errors import first_of
from mtbert.inference import answers
from mtbert.inference.answers import ModelError, TextOrPair, task_name
from mtbert.models.multitask import MultitaskModel
from mtbert.scores.schemas import RunMetrics
from mtbert.tasks import Task
from mtbert.training import evaluation
from mtbert.variants.settings import VariantSettings

SHOWN = 10  # most rows in a message


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
    tokenize: Tokenize
    special_tokens: SpecialTokens
    device: torch.device
    run: Path
    encoder: Path

    def __post_init__(self) -> None:
        self.name, self.seed, self.tasks = self.settings.variant, self.metrics.seed, tuple(self.settings.tasks)
        self.longest = self.settings.model.max_tokens

    def predict(self, rows: Sequence[TextOrPair], task: str | None = None) -> pd.DataFrame:
        """Predict each row, in order: the answers of one task, or of all tasks that take such rows.

        Trainings predict with the same functions: the same rows give the same digits.

        Args:
            rows: a text for each, or two where the task's examples are pairs.
            task: one of `tasks`; None for all that take rows of so many texts, or for the only one.

        Returns:
            For one task a table with `prediction`, a class's number or a score (float), or a list of labels; for
            classes `class`, its name, and `probability_0`, `probability_1`, ..., also of each label where a row has
            several; for scores `lowest` and `highest`, their range; `cut`, whether the row was longer than the model's
            longest sequence and lost its end, as in training.

            For all tasks the columns of `answers.in_one`.

        Raises:
            ModelError: it does not predict the task, or what it computes is not finite. DataError: a row is empty, or
                has another number of texts.
        """
        return answers.predict(self, rows, task)

    def tables(self, tasks: Sequence[str], rows: Sequence[tuple[str, ...]]) -> dict[str, pd.DataFrame]:
        """Return the table of each task, as of `predict`, for rows whose texts were checked.

        The encoder computes once what these tasks have in common: with plain sharing all of it, with adapters in upper
        layers the layers below. Pairs that some tasks have apart are encoded once more.
        """
        by_form: dict[bool, list[Task]] = {}  # by whether a row's texts are encoded apart
        for name in tasks:
            described = self.task(name)
            by_form.setdefault(self.settings.model.is_apart(described), []).append(described)
        tables: dict[str, pd.DataFrame] = {}
        for of_form in by_form.values():
            examples, cut = self.examples(of_form[0], rows)
            with self._as_in_training():
                columns = evaluation.columns_of(of_form, self.network, examples, self.device)
            for described in of_form:
                self._check_finite(described.name, columns[described.name])
                tables[described.name] = answers.table(described, columns[described.name], cut)
        return {name: tables[name] for name in tasks}

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
