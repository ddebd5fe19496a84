"""A baseline's model in a folder: config.json and model.safetensors, for all of its tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from mtbert import files, layout
from mtbert.baselines import TECHNIQUES
from mtbert.baselines.base import Columns, Embed, Features
from mtbert.baselines.linear import Fit, Linear
from mtbert.errors import DataError
from mtbert.scores import predictions
from mtbert.settings import Section
from mtbert.tasks import Task

CONFIG = layout.BASELINE


@dataclass(frozen=True)
class TaskBaseline:
    """A baseline of one task.

    Attributes:
        task: what it predicts.
        features: what it makes of texts.
        fit: the regression on them, and how its penalty was chosen.
    """

    task: Task
    features: Features
    fit: Fit

    @property
    def weights(self) -> int:
        """How many numbers it has to keep."""
        return sum(array.size for array in self.arrays().values())

    def predict(self, columns: Columns) -> dict[str, np.ndarray]:
        """Return `prediction` and, for classes, the probability of each, as prediction files have them: [rows]."""
        model, matrix = self.fit.model, self.features.matrix(columns)
        if self.task.kind == "score":
            return {"prediction": model.predict(matrix, self.task)}
        probabilities = model.probabilities(matrix, self.task.classes)
        return predictions.columns(self.task, probabilities, model.thresholds)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all numbers that it keeps, by name."""
        model = self.fit.model
        parts = {"coefficients": model.coefficients, "intercepts": model.intercepts}
        if model.thresholds is not None:
            parts["thresholds"] = model.thresholds
        return parts | self.features.arrays()


class _StoredTask(Section):
    """What config.json says of a task.

    Attributes:
        classes: that its outputs are of; none for a score.
        penalty: of the squared coefficients.
        cross_validation: the score on train by penalty.
        features: what they are, in the order of the columns.
    """

    classes: list[int]
    penalty: float | None
    cross_validation: dict[str, float]
    features: dict[str, list[str]]


class StoredBaselines(Section):
    """config.json; `encoder` is the key of the embeddings that it reads, as `mtbert.pretrained.embeddings` has it."""

    baseline: str
    encoder: str | None
    tasks: dict[str, _StoredTask]


def write(folder: Path, name: str, trained: Mapping[str, TaskBaseline], encoder: str | None) -> None:
    """Write config.json and model.safetensors."""
    arrays: dict[str, np.ndarray] = {}
    tasks: dict[str, _StoredTask] = {}
    for task, of_task in trained.items():
        arrays |= {f"{task}/{part}": np.ascontiguousarray(array) for part, array in of_task.arrays().items()}
        tasks[task] = _StoredTask(
            classes=[*of_task.fit.model.classes],
            penalty=of_task.fit.penalty,
            cross_validation={f"{penalty:g}": score for penalty, score in of_task.fit.scores.items()},
            features=of_task.features.content(),
        )
    files.write_json(folder / CONFIG, StoredBaselines(baseline=name, encoder=encoder, tasks=tasks).model_dump())
    save_file(arrays, folder / layout.WEIGHTS)


def read(folder: Path, tasks: Mapping[str, Task], embed: Embed) -> dict[str, TaskBaseline]:
    """Read the models of a folder, by task; DataError where a file is missing or damaged."""
    content = read_content(folder)
    try:
        arrays = load_file(folder / layout.WEIGHTS)
        return {name: _load(content, name, tasks[name], arrays, embed) for name in content.tasks}
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        again = layout.remedy(folder)
        raise DataError(f"{folder / layout.WEIGHTS} does not fit {CONFIG}: {error}; `{again}` makes both") from None


def read_content(folder: Path) -> StoredBaselines:
    """Read config.json."""
    return files.read_as(StoredBaselines, folder / CONFIG, layout.remedy(folder))


def _load(content: StoredBaselines, name: str, task: Task, arrays: Mapping[str, Any], embed: Embed) -> TaskBaseline:
    entry, prefix = content.tasks[name], f"{name}/"
    parts = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
    model = Linear(parts["coefficients"], parts["intercepts"], tuple(entry.classes), parts.get("thresholds"))
    features = TECHNIQUES[content.baseline].load(entry.features, parts, embed)
    return TaskBaseline(task, features, Fit(model, entry.penalty, {}))
