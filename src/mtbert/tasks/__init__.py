"""The tasks: one file NAME.yaml a task, here, with its corpus's files, the meaning of its labels, and its metric."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from mtbert.errors import SettingsError, in_words
from mtbert.files import read_yaml

FOLDER = Path(__file__).parent
Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")


@dataclass(frozen=True)
class Task:
    """One corpus and the task on it.

    Attributes:
        name: its name in params.yaml and in every file name: that of its file.
        title: its name in tables.
        kind: `classes` (label 0 to classes - 1), `binary` (0 or 1) or `score` (a real number in `lowest` to `highest`).
        classes: number of classes; 1 for a score.
        metric: `accuracy`, or `pearson` for scores.
        reader: which reader of `mtbert.data.readers` understands the files: `course`, `nli` or `parquet`.
        files: file of each split, below the data directory.
        sentences: columns (or JSON keys) of the one or two sentences.
        label: column (or JSON key) of the label.
        labels: for labels that are words, the class of each; empty where labels are numbers.
        submission: column title of the course's submission file; empty where the course has none.
        id: column (or JSON key) of a row's id; empty where rows have none, and are numbered.
        order: its place among the tasks.
    """

    name: str
    title: str
    kind: Literal["classes", "binary", "score"]
    classes: int
    metric: Literal["accuracy", "pearson"]
    reader: Literal["course", "nli", "parquet"]
    files: dict[Split, str]
    sentences: tuple[str, ...]
    label: str
    labels: dict[str, int] = field(default_factory=dict)
    submission: str = ""
    lowest: float = 0.0
    highest: float = 0.0
    id: str = "id"
    order: int = 1000
    __pydantic_config__ = {"extra": "forbid"}

    @property
    def is_pair(self) -> bool:
        """Whether an example has two sentences."""
        return len(self.sentences) == 2


@dataclass(frozen=True)
class Reuse:
    """A corpus whose training examples serve another corpus's task, with its head and its adapter.

    Attributes:
        name: its name in `training.tasks`, beside the tasks proper.
        corpus: the corpus whose training examples are reused; its file has the rest under `reused`, by name.
        serves: the task that they train.
        labels: maps the corpus's labels to labels of that task; examples with another label are left out.
    """

    name: str
    corpus: str
    serves: str
    labels: dict[int, int]
    __pydantic_config__ = {"extra": "forbid"}


def load(folder: Path = FOLDER) -> tuple[dict[str, Task], dict[str, Reuse]]:
    """Read folder/*.yaml: the tasks by name, in their order, and the corpora that are reused for others.

    Raises:
        SettingsError: a file is no task; the message names it.
    """
    tasks, reuses = list[Task](), dict[str, Reuse]()
    for file in folder.glob("*.yaml"):
        content = _checked(dict[str, Any], read_yaml(file, "correct it"), file)
        for name, rest in _checked(dict[str, dict[str, Any]], content.pop("reused", {}), file).items():
            reuses[name] = _checked(Reuse, {"name": name, "corpus": file.stem, **rest}, file)
        task = _checked(Task, {"name": file.stem, **content}, file)
        if fault := _fault(task):
            raise SettingsError(f"{file}: {fault}")
        tasks.append(task)
    by_order = sorted(tasks, key=lambda task: (task.order, task.name))
    return {task.name: task for task in by_order}, dict(sorted(reuses.items()))


def _checked(kind: Any, content: Any, file: Path) -> Any:
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        raise SettingsError(f"{file}: {in_words(error)}") from None


def _fault(task: Task) -> str | None:
    """Return what does not go together in a task."""
    kinds = {"binary": (2, "accuracy"), "score": (1, "pearson"), "classes": (max(task.classes, 2), "accuracy")}
    if (task.classes, task.metric) != (allowed := kinds[task.kind]):
        return (
            f"classes is {task.classes} and metric {task.metric}; allowed with {task.kind}: {allowed[0]}, {allowed[1]}"
        )
    if not re.fullmatch("[a-z][a-z0-9_]*", task.name):
        return "a task's file is named of a-z, 0-9 and _"
    if len(task.sentences) not in (1, 2) or not {"train", "dev"} <= task.files.keys():
        return "sentences has to name one column or two, and files those of train and dev"
    if any(file.startswith("/") or ".." in Path(file).parts for file in task.files.values()):
        return "files have to lie below the data directory"
    if not set(task.labels.values()) <= set(range(task.classes)):
        return f"labels has to map words to 0 to {task.classes - 1}"
    return None


TASKS, REUSES = load()
ENTAILMENT = TASKS["snli"].labels


def served(name: str) -> str:
    """Return the task that a phase's entry trains: itself, or the one that a reused corpus serves."""
    return REUSES[name].serves if name in REUSES else name


def corpus(name: str) -> str:
    """Return the corpus that a phase's entry draws its examples from."""
    return REUSES[name].corpus if name in REUSES else name
