"""A trained model that predicts and embeds sentences."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tqdm import tqdm

from mtbert.data import readers
from mtbert.data.batches import Batch, Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError, MtbertError, UnknownNameError
from mtbert.models.multitask import MultitaskModel
from mtbert.schemas import RunMetrics
from mtbert.settings import VariantSettings
from mtbert.tasks import TASKS, Task
from mtbert.training import evaluation

if TYPE_CHECKING:
    import pandas as pd

Row = str | Sequence[str]  # a text, or the two texts of a pair
CLASS_NAMES = {  # for people; trainings use numbers
    "sst": ("very negative", "negative", "neutral", "positive", "very positive"),
    "qqp": ("other question", "duplicate"),
    "cfimdb": ("negative", "positive"),
}


class ModelError(MtbertError):
    """A trained model is missing, or cannot do what was asked."""


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

    def predict(self, task: str, rows: Sequence[Row]) -> "pd.DataFrame":
        """Predict each row, in order; at a terminal, show progress on standard error for more than a batch.

        Trainings predict with the same function: the same rows give the same digits.

        Args:
            task: one of `tasks`.
            rows: a text for each, or two where the task's examples are pairs.

        Returns:
            A table with `prediction`, a class's number or a score (float); for classes `class`, its name, and
            `probability_0`, `probability_1`, ...; for scores `lowest` and `highest`, their range; `cut`, whether the
            row was longer than the model's longest sequence and lost its end, as in training.

        Raises:
            ModelError: it does not predict the task. DataError: a row is empty or has another number of texts.
        """
        import pandas as pd  # takes a fifth of a second, and a command with one sentence does without

        return pd.DataFrame(self.columns(task, rows))

    def columns(self, task: str, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        """Return the columns of `predict`, each [rows]."""
        about = self.task(task)
        examples, cut = self.examples(about, checked_rows(about, rows))
        with self._as_in_training():
            found = evaluation.columns(self.network, examples, self.device)
        prediction = found["prediction"]
        if about.kind == "score":
            added = {"lowest": np.full(len(cut), about.lowest), "highest": np.full(len(cut), about.highest)}
        else:
            added = {"class": np.array(class_names(about), dtype=object)[prediction.astype(int)]}
        return {"prediction": prediction} | added | found | {"cut": cut}

    def task(self, name: str) -> Task:
        """Return one of its tasks; ModelError for another."""
        if name not in self.tasks:
            raise ModelError(f"{self.name}, seed {self.seed}: {UnknownNameError('task', name, self.tasks)}")
        return TASKS[name]

    def encode(self, rows: Sequence[Row], task: str | None = None) -> np.ndarray:
        """Return the sentence embeddings that a task's head reads, float32 [rows, width].

        Args:
            rows: as for `predict`; also single texts where the model encodes the sentences of a pair apart.
            task: the task whose adapter, pooling and connector are used; optional for a model of one task.

        Returns:
            An embedding for each row; [rows, 2, width] for pairs whose sentences are encoded apart.

        Raises:
            ModelError: it lacks the task, none is named where there are several, or a single text is passed where pairs
                are encoded together.
            DataError: a row is empty or has another number of texts.
        """
        first, *others = self.tasks
        if task is None and others:
            raise ModelError(f"{self.name} has an embedding for each of its tasks; choose one: {', '.join(self.tasks)}")
        about = self.task(task or first)
        if about.is_pair and any(isinstance(row, str) for row in rows):
            if self.settings.model.pair_encoding == "cross" or about.name in self.network.connector.mixed:
                raise ModelError(
                    f"{self.name} encodes both sentences of a pair together in {about.name}, so one alone has no "
                    "embedding; pass pairs, or use a variant with pair_encoding: bi"
                )
            about = replace(about, sentences=about.sentences[:1])
        examples, _ = self.examples(about, checked_rows(about, rows))
        with self._as_in_training():
            embedded = evaluation.embed(self.network, examples, self.device)
        return embedded.squeeze(1) if embedded.shape[1] == 1 else embedded

    def examples(self, task: Task, rows: Sequence[tuple[str, ...]]) -> tuple[Examples, np.ndarray]:
        """Make examples without labels, and a mask [rows] of those that are cut to the longest sequence."""
        pieces = [self.tokenize([*texts]) for texts in zip(*rows, strict=True)]
        table = {f"tokens{number}": column for number, column in enumerate(pieces, 1)}
        table |= {"id": [str(number) for number in range(len(rows))], "label": [np.nan] * len(rows)}
        encoding = self.settings.model.pair_encoding
        lengths = np.array([[len(ids) for ids in column] for column in pieces])  # [texts, rows]
        crossed = task.is_pair and encoding == "cross"
        marked = lengths.sum(axis=0) + 3 if crossed else lengths.max(axis=0) + 2
        return _Watched(table, task, encoding, self.special_tokens, self.longest), marked > self.longest

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


class _Watched(Examples):
    """Examples that show progress at a terminal."""

    def in_order(self, size: int, numbers: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, Batch]]:
        few = len(self) <= size
        with tqdm(total=len(self), unit=" rows", desc=self.task.name, disable=few or None) as bar:
            for picks, batch in super().in_order(size, numbers):
                yield picks, batch
                bar.update(len(picks))


def class_names(task: Task) -> tuple[str, ...]:
    """Return the name of each class by its number; none for a score.

    The names above; else the words that are the corpus's labels; else the numbers.
    """
    if task.kind == "score":
        return ()
    words = sorted(task.labels, key=task.labels.__getitem__) or map(str, range(task.classes))
    return CLASS_NAMES.get(task.name, tuple(words))


def checked_rows(task: Task, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the texts of each row, as many as the task's examples have.

    Raises:
        DataError: no rows, a row with another number of texts, or a text that preprocessing refuses: empty, too long,
            or not text.
    """
    form = "two texts" if task.is_pair else "one text"
    if isinstance(rows, str) or not len(rows):
        raise DataError(f"{task.name} needs a list of rows, each {form}; came {'a text' if rows else 'no row'}")
    row_texts: list[tuple[Any, ...]] = [tuple(row) if isinstance(row, (list, tuple)) else (row,) for row in rows]
    for number, row in enumerate(row_texts, 1):
        if len(row) != len(task.sentences):
            raise DataError(f"{task.name}: row {number}: needs {form}, came {len(row)}")
        if fault := next(filter(None, map(readers.fault_of_text, task.sentences, row)), ""):
            raise DataError(f"{task.name}: row {number}: {fault}")
    return row_texts
