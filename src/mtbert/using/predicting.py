"""Trained models that predict: a single one, or an ensemble."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from mtbert.data.batches import Examples, Marks
from mtbert.errors import MtbertError, UnknownNameError
from mtbert.model import MultitaskModel
from mtbert.outputs import RunMetrics
from mtbert.results import vote
from mtbert.settings import VariantSettings
from mtbert.tasks import TASKS, Task
from mtbert.training import evaluation
from mtbert.using import names
from mtbert.using.rows import Row, Tokenize, examples, texts


class ModelError(MtbertError):
    """A trained model is missing, or cannot do what was asked."""


class Trained(ABC):
    """The interface of models and ensembles.

    Attributes:
        name, seed: those of the variant or ensemble.
        tasks: the tasks that it predicts.
        longest: most word pieces of a sequence; longer ones are cut.
    """

    name: str
    seed: int
    tasks: tuple[str, ...]
    longest: int

    def predict(self, task: str, rows: Sequence[Row], watch: bool = False) -> pd.DataFrame:
        """Predict each row, in order.

        Args:
            task: one of `tasks`.
            rows: a text for each, or two where the task's examples are pairs.
            watch: show progress on standard error if the rows are more than a batch.

        Returns:
            A table with `prediction`, a class's number or a score (float); for classes `class`, its name, and
            `probability_0`, `probability_1`, ...; for scores `lowest` and `highest`, their range; `cut`, whether the
            row was longer than the model's longest sequence and lost its end, as in training.

        Raises:
            ModelError: it does not predict the task. DataError: a row is empty or has another number of texts.
        """
        about, row_texts = self.task(task), texts(self.task(task), rows)
        raw, cut = self.raw(about, row_texts, watch and len(row_texts) > evaluation.BATCH)
        table = raw.drop(columns=["id", "label", "scored", "overall"])
        if about.kind == "score":
            return table.assign(lowest=about.lowest, highest=about.highest, cut=cut)
        class_names = np.array(names.classes(about), dtype=object)
        table.insert(1, "class", class_names[table["prediction"].to_numpy(dtype=int)])
        return table.assign(cut=cut)

    def task(self, name: str) -> Task:
        """Return one of its tasks; ModelError for another."""
        if name not in self.tasks:
            raise ModelError(f"{self.name}, seed {self.seed}: {UnknownNameError('task', name, self.tasks)}")
        return TASKS[name]

    @abstractmethod
    def raw(self, task: Task, rows: Sequence[tuple[str, ...]], watch: bool) -> tuple[pd.DataFrame, np.ndarray]:
        """Return a prediction table with the columns of `mtbert.predictions`, and a mask [rows] of the rows cut."""


@dataclass
class Model(Trained):
    """One trained model.

    Attributes:
        settings: those that it was trained with.
        metrics: the scores of its training.
        network: the network with its trained weights, in evaluation mode.
        tokenize: maps sentences to the ids of their word pieces.
        marks: the ids that frame a sequence.
        device: the device that it computes on.
        run: the folder of its run.
        encoder: the folder that holds its tokenizer and the encoder's config.json.
    """

    settings: VariantSettings
    metrics: RunMetrics
    network: MultitaskModel
    tokenize: Tokenize
    marks: Marks
    device: torch.device
    run: Path
    encoder: Path

    def __post_init__(self) -> None:
        self.name, self.seed, self.tasks = self.metrics.variant, self.metrics.seed, tuple(self.settings.tasks)
        self.longest = self.settings.model.max_tokens

    def raw(self, task: Task, rows: Sequence[tuple[str, ...]], watch: bool) -> tuple[pd.DataFrame, np.ndarray]:
        """As `Trained.raw`, by the function that trainings predict with: the same rows give the same digits."""
        inputs, cut = self._examples(task, rows, watch)
        with self._as_in_training():
            return evaluation.predict(self.network, inputs, self.device), cut

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
            about = self._alone(about)
        inputs, _ = self._examples(about, texts(about, rows), watch=False)
        embedded = np.zeros((len(inputs), len(inputs.rows[0]), self.network.encoder.width), dtype=np.float32)
        with self._as_in_training(), torch.no_grad():
            for picks, batch in inputs.in_order(evaluation.BATCH):
                embeddings = self.network.embeddings(batch.to(self.device))
                embedded[picks] = torch.stack(embeddings, dim=1).float().cpu().numpy()
        return embedded[:, 0] if embedded.shape[1] == 1 else embedded

    def _alone(self, task: Task) -> Task:
        """Return the task as if its examples were single sentences."""
        if self.settings.model.pair_encoding == "cross" or task.name in self.network.connector.mixed:
            raise ModelError(
                f"{self.name} encodes both sentences of a pair together in {task.name}, so one alone has no embedding; "
                "pass pairs, or use a variant with pair_encoding: bi"
            )
        return replace(task, sentences=("sentence",))

    def _examples(self, task: Task, rows: Sequence[tuple[str, ...]], watch: bool) -> tuple[Examples, np.ndarray]:
        return examples(task, rows, self.tokenize, self.marks, self.settings.model, watch)

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


class Ensemble(Trained):
    """Several models that vote; see `mtbert.results.vote`."""

    def __init__(self, name: str, members: Mapping[str, Model]) -> None:
        """Take members by name, at least one, that share a task."""
        first, *others = members.values()
        self.name, self.seed, self.members = name, first.seed, dict(members)
        self.tasks = tuple(task for task in first.tasks if all(task in other.tasks for other in others))
        self.longest = min(member.longest for member in members.values())

    def raw(self, task: Task, rows: Sequence[tuple[str, ...]], watch: bool) -> tuple[pd.DataFrame, np.ndarray]:
        """As `Trained.raw`; a row counts as cut if it was cut for any member."""
        by_member = {name: member.raw(task, rows, watch) for name, member in self.members.items()}
        voted = vote.vote({name: table for name, (table, _) in by_member.items()}, task)
        return voted, np.any([cut for _, cut in by_member.values()], axis=0)

    def encode(self, rows: Sequence[Row], task: str | None = None) -> np.ndarray:
        """Raise ModelError: an ensemble has no embeddings of its own."""
        raise ModelError(f"{self.name} is an ensemble; its members have embeddings: {', '.join(self.members)}")
