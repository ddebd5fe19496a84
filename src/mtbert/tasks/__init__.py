"""The tasks: one file NAME.yaml a task, here, with its corpus's files, and the meaning of its labels."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

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
        classes: number of classes; 1 for a score, a real number in `lowest` to `highest`.
        files: file of each split, below the data directory: .jsonl, .parquet, or any other, separated by tabs.
        sentences: columns (or JSON keys) of the one or two sentences.
        label: column (or JSON key) of the label.
        labels: for labels that are words, the class of each; empty where labels are numbers.
        undecided: the label of rows whose annotators did not agree, which are left out; empty where there is none.
        submission: column title of the course's submission file; empty where the course has none.
        id: column (or JSON key) of a row's id; empty where rows have none, and are numbered.
        order: its place among the tasks.
    """

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    title: str
    classes: Annotated[int, Field(ge=1)]
    files: dict[Split, str]
    sentences: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
    label: str
    labels: dict[str, Annotated[int, Field(ge=0)]] = field(default_factory=dict)
    undecided: str = ""
    submission: str = ""
    lowest: float = 0.0
    highest: float = 0.0
    id: str = "id"
    order: int = 1000
    __pydantic_config__ = {"extra": "forbid"}

    @property
    def kind(self) -> Literal["classes", "binary", "score"]:
        """`score`, `binary` (label 0 or 1), or `classes` (label 0 to classes - 1, three or more)."""
        return "score" if self.classes == 1 else "binary" if self.classes == 2 else "classes"

    @property
    def metric(self) -> Literal["accuracy", "pearson"]:
        """What its dev score is."""
        return "pearson" if self.kind == "score" else "accuracy"

    @property
    def is_pair(self) -> bool:
        """Whether an example has two sentences."""
        return len(self.sentences) == 2


@dataclass(frozen=True)
class Reuse:
    """A corpus whose training examples serve another corpus's task, with its head and its adapter.

    Attributes:
        corpus: the corpus whose training examples are reused; its file has the rest under `reused`, by name.
        serves: the task that they train.
        labels: maps the corpus's labels to labels of that task; examples with another label are left out.
    """

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
    for file in sorted(folder.glob("*.yaml")):
        try:
            content = TypeAdapter(dict[str, Any]).validate_python(read_yaml(file, "correct it"))
            reused = TypeAdapter(dict[str, dict[str, Any]]).validate_python(content.pop("reused", {}))
            for name, rest in reused.items():
                reuses[name] = TypeAdapter(Reuse).validate_python({"corpus": file.stem, **rest})
            task = TypeAdapter(Task).validate_python({"name": file.stem, **content})
        except ValidationError as error:
            raise SettingsError(f"{file}: {in_words(error)}") from None
        if fault := _fault(task):
            raise SettingsError(f"{file}: {fault}")
        tasks.append(task)
    return {task.name: task for task in sorted(tasks, key=lambda task: task.order)}, reuses


def _fault(task: Task) -> str | None:
    """Return what does not go together in a task."""
    if (task.classes == 1) is not (task.lowest < task.highest):
        return f"classes is {task.classes}; allowed: 2 or more, or 1 for a score from lowest up to highest"
    if not {"train", "dev"} <= task.files.keys():
        return "files has to name those of train and dev"
    if any(label >= task.classes for label in task.labels.values()):
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
