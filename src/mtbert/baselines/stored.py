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
from mtbert.baselines.linear import Linear
from mtbert.errors import DataError
from mtbert.scores import predictions
from mtbert.settings import Section
from mtbert.tasks import Task

CONFIG = layout.BASELINE


@dataclass(frozen=True)
class Trained:
    """A baseline of one task.

    Attributes:
        task: what it predicts.
        features: what it makes of texts.
        model: the regression on them.
        penalty: that was chosen; None where there was none to choose.
        scores: by penalty, what cross-validation on train scored.
    """

    task: Task
    features: Features
    model: Linear
    penalty: float | None = None
    scores: Mapping[float, float] | None = None

    @property
    def weights(self) -> int:
        """How many numbers it has to keep."""
        return sum(array.size for array in self.arrays().values())

    def predict(self, columns: Columns) -> dict[str, np.ndarray]:
        """Return `prediction` and, for classes, the probability of each, as prediction files have them: [rows]."""
        matrix = self.features.matrix(columns)
        if self.task.kind == "score":
            return {"prediction": self.model.predict(matrix, self.task)}
        probabilities = self.model.probabilities(matrix, self.task.classes)
        return predictions.columns(self.task, probabilities, self.model.thresholds)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all numbers that it keeps, by name."""
        parts = {"coefficients": self.model.coefficients, "intercepts": self.model.intercepts}
        if self.model.thresholds is not None:
            parts["thresholds"] = self.model.thresholds
        return parts | self.features.arrays()


class TaskContent(Section):
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


class Content(Section):
    """config.json; `encoder` is the key of the embeddings that it reads, as `mtbert.pretrained.embeddings` has it."""

    baseline: str
    encoder: str | None
    tasks: dict[str, TaskContent]


def write(folder: Path, name: str, trained: Mapping[str, Trained], encoder: str | None) -> None:
    """Write config.json and model.safetensors."""
    arrays: dict[str, np.ndarray] = {}
    tasks: dict[str, TaskContent] = {}
    for task, model in trained.items():
        arrays |= {f"{task}/{part}": np.ascontiguousarray(array) for part, array in model.arrays().items()}
        tasks[task] = TaskContent(
            classes=[*model.model.classes],
            penalty=model.penalty,
            cross_validation={f"{penalty:g}": score for penalty, score in (model.scores or {}).items()},
            features=model.features.content(),
        )
    files.write_json(folder / CONFIG, Content(baseline=name, encoder=encoder, tasks=tasks).model_dump())
    save_file(arrays, folder / layout.WEIGHTS)


def read(folder: Path, tasks: Mapping[str, Task], embed: Embed) -> dict[str, Trained]:
    """Read the models of a folder, by task; DataError where a file is missing or damaged."""
    content = read_content(folder)
    try:
        arrays = load_file(folder / layout.WEIGHTS)
        return {name: _restored(content, name, tasks[name], arrays, embed) for name in content.tasks}
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        again = layout.remedy(folder)
        raise DataError(f"{folder / layout.WEIGHTS} does not fit {CONFIG}: {error}; `{again}` makes both") from None


def read_content(folder: Path) -> Content:
    """Read config.json."""
    return files.read_as(Content, folder / CONFIG, layout.remedy(folder))


def _restored(content: Content, name: str, task: Task, arrays: Mapping[str, Any], embed: Embed) -> Trained:
    entry, prefix = content.tasks[name], f"{name}/"
    parts = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
    model = Linear(parts["coefficients"], parts["intercepts"], tuple(entry.classes), parts.get("thresholds"))
    features = TECHNIQUES[content.baseline].restored(entry.features, parts, embed)
    return Trained(task, features, model, entry.penalty)
