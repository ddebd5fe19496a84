"""A baseline that predicts sentences, with the interface of `mtbert.inference.model.Model`."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, layout
from mtbert.baselines import stored
from mtbert.baselines.stored import TaskBaseline
from mtbert.data import tokens
from mtbert.inference import answers
from mtbert.inference.answers import ModelError, TextOrPair, task_name
from mtbert.machine import hardware
from mtbert.pretrained import embeddings
from mtbert.provenance import manifests, seals
from mtbert.scores.described import FROZEN
from mtbert.scores.schemas import ModelMetrics
from mtbert.tasks import Task, load_tasks


@dataclass
class Baseline:
    """A trained baseline.

    Attributes:
        run: its folder.
        metrics: its scores.
        trained: its models, by task.
        encoder: the folder of the encoder that it reads; None for one that needs no encoder.
        embed: that encoder.
        name, seed: those of its folder; the seed is 0.
        tasks: the tasks that it predicts.
        longest: most tokens of a text; longer ones are cut. None without an encoder.
    """

    run: Path
    metrics: ModelMetrics
    trained: Mapping[str, TaskBaseline]
    encoder: Path | None
    embed: "_Encoder"

    def __post_init__(self) -> None:
        self.name, self.seed, self.tasks = self.metrics.variant, self.metrics.seed, tuple(self.trained)
        self.longest = None if self.encoder is None else embeddings.longest(self.encoder)

    def predict(self, rows: Sequence[TextOrPair], task: str | None = None) -> pd.DataFrame:
        """Predict each row, in order; arguments, columns and errors as for `Model.predict`."""
        return answers.predict(self, rows, task)

    def tables(self, tasks: Sequence[str], rows: Sequence[tuple[str, ...]]) -> dict[str, pd.DataFrame]:
        """Return the table of each of some tasks, for rows whose texts were checked; each text is embedded once."""
        columns = [[*texts] for texts in zip(*rows, strict=True)]
        is_cut = self._cut(columns)
        with self.embed.in_common():
            predicted = {task: self.trained[task].predict(columns) for task in tasks}
        return {task: answers.table(self.task(task), predicted[task], is_cut) for task in tasks}

    def timed(self, task: str, row: tuple[str, ...]) -> float:
        """Return the seconds that a prediction of one row takes, from its text on."""
        started = time.perf_counter()
        self.trained[task].predict([[text] for text in row])
        return time.perf_counter() - started

    def task(self, name: str | None) -> Task:
        """Return one of its tasks; errors as for `Model.task`."""
        return self.trained[task_name(self, name)].task

    def _cut(self, columns: Sequence[Sequence[str]]) -> np.ndarray:
        """Return which rows have a text that is longer than the encoder takes: [rows]."""
        if self.longest is None:
            return np.zeros(len(columns[0]), bool)
        counts = np.array([[len(ids) for ids in self._tokenize([*texts])] for texts in columns])
        return counts.max(axis=0) + self._special > self.longest

    @cached_property
    def _tokenize(self) -> Any:
        return tokens.wordpieces(Path(str(self.encoder)))

    @cached_property
    def _special(self) -> int:
        return tokens.special_tokens(Path(str(self.encoder))).count(pair=False)


def load(folder: Path, device: str = "auto") -> Baseline:
    """Load the baseline of a folder.

    Raises:
        DataError: a file is missing, altered, or of another encoder.
        ModelError: it has no encoder, which alone computes on a device other than the CPU.
        SettingsError: the machine has no such device.
    """
    again = layout.remedy(folder)
    seals.check(folder, only=(layout.WEIGHTS, stored.CONFIG, layout.METRICS, layout.SETTINGS))
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, again)
    encoder = _encoder(folder)
    if encoder is None and device not in ("auto", "cpu"):
        raise ModelError(f"{folder.parent.name} computes on the CPU, and the device is {device}; allowed: auto, cpu")
    hardware.device(device)
    embed = _Encoder(encoder, device)
    return Baseline(
        run=folder,
        metrics=files.read_as(ModelMetrics, folder / layout.METRICS, again),
        trained=stored.read(folder, load_tasks(settings["described"]), embed),
        encoder=encoder,
        embed=embed,
    )


def _encoder(folder: Path) -> Path | None:
    """Return the folder of the encoder that a baseline reads: within its own, else in its build folder."""
    content = stored.read_content(folder)
    if content.baseline != FROZEN:
        return None
    if (folder / "encoder").is_dir():
        return folder / "encoder"
    encoder = layout.encoder(layout.build_of(folder))
    seals.check(encoder, manifests.ENCODER_FILES)
    if embeddings.key(encoder) != content.encoder:
        raise ModelError(
            f"{folder} was trained with another encoder than lies in {encoder} now; `{layout.remedy(folder)}` trains "
            "it again"
        )
    return encoder


class _Encoder:
    """An encoder that is loaded where it is first asked; `in_common` keeps embeddings for the tasks of one request."""

    def __init__(self, folder: Path | None, device: str) -> None:
        self.folder, self.device = folder, device
        self.kept: dict[tuple[str, ...], np.ndarray] | None = None  # by texts, within `in_common`

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return an embedding of each text: [texts, width]."""
        if self.kept is None:
            return self._embed(texts)
        if (*texts,) not in self.kept:
            self.kept[(*texts,)] = self._embed(texts)
        return self.kept[(*texts,)]

    @contextlib.contextmanager
    def in_common(self) -> Iterator[None]:
        """Embed the same texts once."""
        self.kept = {}
        try:
            yield
        finally:
            self.kept = None

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        return self._model.encode([*texts], show_progress_bar=False)

    @cached_property
    def _model(self) -> Any:
        return embeddings.embedding_model(Path(str(self.folder)), self.device)
