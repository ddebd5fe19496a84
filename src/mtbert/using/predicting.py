"""Trained models that predict: one, or an ensemble of several."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from mtbert import ensembling
from mtbert.data.batches import Examples, Marks
from mtbert.errors import MtbertError, UnknownNameError
from mtbert.model import MultitaskModel
from mtbert.outputs import RunMetrics
from mtbert.settings import VariantSettings
from mtbert.tasks import TASKS, Task
from mtbert.training import evaluation
from mtbert.using import names
from mtbert.using.rows import Row, Tokenize, examples, texts


class ModelError(MtbertError):
    """A trained model that is not there, or that cannot do what is asked of it."""


class Trained(ABC):
    """What predicts.

    Attributes:
        name, seed: of the variant or ensemble.
        tasks: those that it predicts.
        longest: word pieces that a sequence may have; longer ones are cut.
    """

    name: str
    seed: int
    tasks: tuple[str, ...]
    longest: int

    def predict(self, task: str, rows: Sequence[Row], watch: bool = False) -> pd.DataFrame:
        """What it says of each row, in their order.

        Args:
            task: one of `tasks`.
            rows: a text each, or two where the task's examples are pairs.
            watch: show on standard error how far it is, where the rows are more than a batch.

        Returns:
            `prediction`, a class's number or a score (float); for classes `class`, its name, and `probability_0`,
            `probability_1`, ...; for scores `lowest` and `highest`, their range; `cut`, whether the row was longer
            than the model's longest sequence and lost its end, as in training.

        Raises:
            ModelError: the task is none of its own. DataError: a row is empty or not of that task's form.
        """
        about, several = self.task(task), texts(self.task(task), rows)
        raw, cut = self.raw(about, several, watch and len(several) > evaluation.BATCH)
        table = raw.drop(columns=["id", "label", "scored"])
        if about.kind == "score":
            return table.assign(lowest=about.lowest, highest=about.highest, cut=cut)
        called = np.array(names.classes(about), dtype=object)
        table.insert(1, "class", called[table["prediction"].to_numpy(dtype=int)])
        return table.assign(cut=cut)

    def task(self, name: str) -> Task:
        """One of its tasks; ModelError for another."""
        if name not in self.tasks:
            raise ModelError(f"{self.name}, seed {self.seed}: {UnknownNameError('task', name, self.tasks)}")
        return TASKS[name]

    @abstractmethod
    def raw(self, task: Task, rows: Sequence[tuple[str, ...]], watch: bool) -> tuple[pd.DataFrame, np.ndarray]:
        """The prediction table as `mtbert.predictions` has it, and which rows were cut, bool [rows]."""


@dataclass
class Model(Trained):
    """One trained model.

    Attributes:
        settings: of its variant, as trained.
        metrics: what its training scored.
        network: with its trained weights, in evaluation mode.
        tokenize, marks: sentences to the ids of their word pieces; the ids that frame a sequence.
        device: where it computes.
        run: the folder that it came from.
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
        """As `Trained.raw`, by what training itself predicts with: the same rows give the same digits."""
        made, cut = self._examples(task, rows, watch)
        with self._as_in_training():
            return evaluation.predict(self.network, made, self.device), cut

    def encode(self, rows: Sequence[Row], task: str | None = None) -> np.ndarray:
        """The sentence embeddings that a task's head sees, float32 [rows, width].

        Args:
            rows: as `predict` takes them. Where the model encodes the sentences of a pair apart, single texts, too.
            task: whose adapter, pooling and connector to go through; may be left out where there is one task.

        Returns:
            An embedding for each row; [rows, 2, width] for pairs whose sentences are encoded apart.

        Raises:
            ModelError: another task, none where there are several, or single texts where the model sees pairs alone.
            DataError: a row is empty or not of that task's form.
        """
        first, *others = self.tasks
        if task is None and others:
            raise ModelError(f"{self.name} has an embedding for each of its tasks; say which: {', '.join(self.tasks)}")
        about = self.task(task or first)
        if about.is_pair and any(isinstance(row, str) for row in rows):
            about = self._alone(about)
        made, _ = self._examples(about, texts(about, rows), watch=False)
        found = np.zeros((len(made), len(made.rows[0]), self.network.encoder.width), dtype=np.float32)
        with self._as_in_training(), torch.no_grad():
            for picks, batch in made.in_order(evaluation.BATCH):
                embeddings = self.network.embeddings(batch.to(self.device))
                found[picks] = torch.stack(embeddings, dim=1).float().cpu().numpy()
        return found[:, 0] if found.shape[1] == 1 else found

    def _alone(self, task: Task) -> Task:
        """The task as if its examples were single sentences."""
        if self.settings.model.pair_encoding == "cross" or task.name in self.network.connector.mixed:
            raise ModelError(
                f"{self.name} sees both sentences of a pair together in {task.name}, so one alone has no embedding; "
                "give pairs, or take a variant with pair_encoding: bi"
            )
        return replace(task, sentences=("sentence",))

    def _examples(self, task: Task, rows: Sequence[tuple[str, ...]], watch: bool) -> tuple[Examples, np.ndarray]:
        return examples(task, rows, self.tokenize, self.marks, self.settings.model, watch)

    @contextlib.contextmanager
    def _as_in_training(self) -> Iterator[None]:
        """Threads and precision of the run, since the last digits depend on them."""
        threads = torch.get_num_threads()
        torch.set_num_threads(self.settings.run.threads)
        try:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.metrics.precision == "bf16"):
                yield
        finally:
            torch.set_num_threads(threads)


class Ensemble(Trained):
    """Several models that vote; see `mtbert.ensembling`."""

    def __init__(self, name: str, members: Mapping[str, Model]) -> None:
        """Members by name, one at least, that share a task."""
        first, *others = members.values()
        self.name, self.seed, self.members = name, first.seed, dict(members)
        self.tasks = tuple(task for task in first.tasks if all(task in other.tasks for other in others))
        self.longest = min(member.longest for member in members.values())

    def raw(self, task: Task, rows: Sequence[tuple[str, ...]], watch: bool) -> tuple[pd.DataFrame, np.ndarray]:
        """As `Trained.raw`; a row counts as cut where it was for one member at least."""
        found = {name: member.raw(task, rows, watch) for name, member in self.members.items()}
        voted = ensembling.vote({name: table for name, (table, _) in found.items()}, task)
        return voted, np.any([cut for _, cut in found.values()], axis=0)

    def encode(self, rows: Sequence[Row], task: str | None = None) -> np.ndarray:
        """ModelError: an ensemble has no embeddings of its own."""
        raise ModelError(f"{self.name} is an ensemble; its members have embeddings: {', '.join(self.members)}")
