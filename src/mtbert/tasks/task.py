"""What a task is: what models, scores and reports know of it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

NAME = "^[a-z][a-z0-9]*(_[a-z0-9]+)*$"
LONGEST_NAME = 48  # characters: the name of a variant, at most 60, may hold a task's behind a paper's, pals-single-
TITLE = r"^[\w .,:()/+-]*$"  # which Markdown leaves as it is
Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
Metric = Literal["accuracy", "f1", "macro_f1", "mcc", "pearson", "spearman", "micro_f1", "labels_f1"]
METRIC_NAMES: dict[Metric, str] = {  # for people
    "accuracy": "accuracy", "f1": "F1", "macro_f1": "macro-F1", "mcc": "MCC", "pearson": "Pearson",
    "spearman": "Spearman", "micro_f1": "micro-F1", "labels_f1": "macro-F1",
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One task, as a run's settings hold it; `TaskEntry` is how tasks.yaml writes it.

    Attributes:
        name: its name in params.yaml and in every file name.
        classes: number of classes; 1 for a score, a real number in `lowest` to `highest`.
        several: whether a row has any number of these classes, or none: its label is a set, `mtbert.scores.sets`.
        sentences: columns (or JSON keys) of the one or two sentences.
        label: column (or JSON key) of the label; of several `columns`, their names for people.
        metric: what its dev score is; `f1` is that of class 1 alone, `macro_f1` the mean over classes. Of sets,
            `micro_f1` counts each label of each row, and `labels_f1` is the mean over labels.
        labels: for labels that are words, the class of each; empty where they are the classes' numbers.
        names: what people read of each class, where it is not its label.
        serves: the task whose head and adapter its training rows train; its own where empty.
        balanced: whether each class weighs as much as any other in the loss.
        title: its name in tables; its name where empty.
        files: file of each split, below the data folder; without dev, a fifth of train is.
        separator: what parts the labels in a text of several; empty where it is a JSON list.
        columns: of several labels, the column of each that holds 0 or 1; empty where one column holds the set.
        id: column of a row's id; empty where rows are numbered.
        left_out: labels whose rows are left out, such as `-` where annotators did not agree.
        encoding: of its text files.
        group_on: column of a row's group, such as a customer: train has no group of dev or test.
        time_on: column of dates, the latest fifth of which is dev.
        time_format: of these dates, as `strptime` takes it; ISO where empty.
        folds: how many parts its train is drawn into, each of which is dev of some seeds; 0 where it has one dev.
        matters: the smallest difference of its score that matters.
        show_text: whether a report may show its sentences.
        in_mean: whether its score is part of the mean over tasks.
        submission: column title of the course's submission file; empty where the course has none.
    """

    name: Annotated[str, Field(pattern=NAME)]
    classes: Annotated[int, Field(ge=1)]
    sentences: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
    label: str
    metric: Metric
    labels: dict[str, Annotated[int, Field(ge=0)]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    several: bool = False
    lowest: float = 0.0
    highest: float = 0.0
    serves: str = ""
    balanced: bool = False
    title: Annotated[str, Field(pattern=TITLE)] = ""
    files: dict[Split, str] = field(default_factory=dict)
    separator: str = ""
    columns: tuple[str, ...] = ()
    id: str = ""
    left_out: tuple[str, ...] = ()
    encoding: str = "utf-8"
    group_on: str = ""
    time_on: str = ""
    time_format: str = ""
    folds: int = 0
    matters: float = 0.01
    show_text: bool = False
    in_mean: bool = True
    submission: str = ""
    __pydantic_config__ = {"extra": "forbid", "strict": False}

    def fold(self, seed: int) -> int:
        """Return the fold that is dev of a seed, from 0, of a task with folds."""
        return (seed - 1) % self.folds

    @property
    def kind(self) -> Literal["classes", "binary", "sets", "score"]:
        """`score`, `binary` (label 0 or 1), `classes` (label 0 to classes - 1, three or more), or `sets` of classes."""
        if self.several:
            return "sets"
        if self.classes == 1:
            return "score"
        return "binary" if self.classes == 2 else "classes"

    @property
    def has_one_class(self) -> bool:
        """Whether a label is one class, and neither a score nor a set."""
        return self.kind in ("binary", "classes")

    @property
    def draws_dev(self) -> bool:
        """Whether its dev is drawn from its train, of a task of a data folder."""
        return "dev" not in self.files and not self.serves

    @property
    def is_pair(self) -> bool:
        """Whether an example has two sentences."""
        return len(self.sentences) == 2

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The column of its label, or one for each label."""
        return self.columns or (self.label,)

    @property
    def display_name(self) -> str:
        """Its name in tables."""
        return self.title or self.name

    @property
    def trains(self) -> str:
        """The task whose head and adapter its training rows train."""
        return self.serves or self.name

    @property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class by its number: its own name, else as `class_labels`; none for a score."""
        return self.names or self.class_labels

    @property
    def class_labels(self) -> tuple[str, ...]:
        """The label of each class by its number: several are joined, and a number has none; none for a score."""
        if self.kind == "score":
            return ()
        labels: list[list[str]] = [[] for _ in range(self.classes)]
        for label, number in self.labels.items():
            labels[number].append(label)
        return tuple(" / ".join(of_class) or str(number) for number, of_class in enumerate(labels))


_TASK = TypeAdapter(Task)
# Fields that a report, or the reading of files, needs and no trained model: none of them trains anything again.
NOT_OF_A_MODEL = (
    "title", "files", "columns", "id", "left_out", "encoding", "group_on", "time_on", "time_format", "matters",
    "show_text", "submission",
)  # fmt: skip
Tasks = Mapping[str, Task]  # by name, in the order of tasks.yaml


def of_a_model(task: Task) -> Task:
    """Return what a trained model needs of a task: what is in its run's settings."""
    needed = {key: value for key, value in dump_task(task).items() if key not in NOT_OF_A_MODEL}
    return load_tasks({task.name: needed})[task.name]


def for_run(tasks: Tasks, trained: Collection[str], others: Iterable[str] = ()) -> dict[str, Task]:
    """Return what a model of its `trained` tasks, which `others` may serve, needs of them.

    Its scores have a mean where it has all tasks of the mean; else a further task of the folder would train it again.
    """
    has_mean = {*main(tasks)} <= {*trained}
    of_model: dict[str, Task] = {}
    for name in [*trained, *others]:
        task = of_a_model(tasks[name])
        of_model[name] = replace(task, in_mean=task.in_mean and has_mean)
    return of_model


def dump_task(task: Task) -> dict[str, Any]:
    """Return the fields of a task that are not at their default, but for its name."""
    return _TASK.dump_python(task, mode="json", exclude={"name"}, exclude_defaults=True)


def load_tasks(described: Mapping[str, Any]) -> dict[str, Task]:
    """Return tasks from what `dump_task` made of each, by name; pydantic's ValidationError where they are none."""
    tasks: dict[str, Task] = {}
    for name, values in described.items():
        is_task = not isinstance(values, dict)
        tasks[name] = values if is_task else _TASK.validate_python({"name": name, **values})
    return tasks


def number_of_folds(tasks: Tasks) -> int:
    """Return how many folds the tasks have that have some, alike in all of them; 0 where none has."""
    return max((task.folds for task in tasks.values()), default=0)


def repeat_of(seed: int, folds: int) -> int:
    """Return the number of a seed's repeat: of as many seeds as folds, which predict each row once; 0 is the first."""
    return (seed - 1) // folds


def whole_repeats(seeds: Sequence[int], folds: int) -> list[int]:
    """Return the seeds whose repeat is whole, in order; all of them without folds."""
    if not folds:
        return [*seeds]
    counts = Counter(repeat_of(seed, folds) for seed in {*seeds})
    return [seed for seed in seeds if counts[repeat_of(seed, folds)] == folds]


def main(tasks: Tasks) -> tuple[str, ...]:
    """Return the tasks whose scores make the mean."""
    return tuple(name for name, task in tasks.items() if task.in_mean and not task.serves)
