"""Read tasks.yaml, which describes the tasks of a data folder; the course's, beside this file, are the default."""

from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, TypeAdapter, ValidationError

from mtbert import files, layout
from mtbert.errors import SettingsError, UnknownNameError, faults
from mtbert.tasks.task import NAME, NOT_OF_A_MODEL, TITLE, Metric, Split, Task, Tasks, main, of_a_model, restored

FILE = "tasks.yaml"
# What settings and reports call something else beside a task of such a name.
TAKEN = ("all", "each", "others", "smallest", "features", "adapter", "connector", "overfitting", "mean")
OF_SCORES = ("pearson", "spearman")


class Described(BaseModel):
    """A task in tasks.yaml; keys of `Task`'s names mean the same.

    Attributes:
        classes: their labels in order (words, numbers or booleans), or by label the class, or how many: 0, 1, ...
        score: lowest and highest label, in place of classes.
        metric: accuracy for classes and pearson for scores where none is given; f1 is the mean over classes.
        positive: of two classes, the one whose F1 alone is the metric.
        weights: `balanced`: in the loss, each class weighs as much as any other.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    files: dict[Split, str]
    sentences: list[str] = Field(min_length=1, max_length=2)
    label: str
    classes: list[str | int | float | bool] | dict[str | int | bool, int] | int = 1
    score: tuple[float, float] | None = Field(default=None, strict=False)
    metric: Literal["accuracy", "f1", "mcc", "pearson", "spearman"] | None = None
    positive: str | int | bool | None = None
    weights: Literal["balanced"] | None = None
    names: list[str] = []
    serves: str = ""
    title: str = Field(default="", pattern=TITLE)
    id: str = ""
    left_out: list[str] = []
    encoding: str = "utf-8"
    matters: float = Field(default=0.01, gt=0)
    show_text: StrictBool = False
    in_mean: StrictBool = True
    submission: str = ""


def of_folder(data_dir: Path) -> dict[str, Task]:
    """Return the tasks of a data folder by name, in their order: those of its tasks.yaml, else the course's.

    Raises:
        SettingsError: the file is no list of tasks; the message has file, line and key.
    """
    file = data_dir / FILE
    return read(file) if file.is_file() else COURSE


def of_build(build: Path) -> dict[str, Task]:
    """Return the tasks of what a build directory trains, by its plan; the course's where it has none."""
    told = layout.read_catalog(build).get("tasks") if layout.plan(build).is_file() else None
    return restored(told) if told else COURSE


def read(file: Path) -> dict[str, Task]:
    """Read a tasks.yaml; errors as for `of_folder`."""
    content: Any = files.read_yaml(file, "correct it")
    if not isinstance(content, dict) or not content:
        raise SettingsError(f"{file} has to hold tasks by name, and holds none")
    found = {str(name): _task(file, str(name), value) for name, value in content.items()}
    for name, task in found.items():
        if task.serves and (task.serves not in found or found[task.serves].serves):
            raise _fault(file, (name, "serves"), str(UnknownNameError("task", task.serves, found)))
    if not main(found):
        raise SettingsError(f"{file}: no task is part of the mean; allowed: one at least without `in_mean: false`")
    return found


def are_the_courses(tasks: Tasks) -> bool:
    """Return whether the tasks of the mean are the course's three, not some of a user's that are called like them."""
    names = main(COURSE)
    return main(tasks) == names and all(of_a_model(tasks[name]) == of_a_model(COURSE[name]) for name in names)


def _task(file: Path, name: str, content: Any) -> Task:
    """Return the task of an entry of tasks.yaml."""
    content = content if isinstance(content, dict) else {}
    for key in content:
        if key not in Described.model_fields:
            raise _fault(file, (name, key), str(UnknownNameError("key", key, Described.model_fields)))
    try:
        TypeAdapter(Annotated[str, Field(pattern=NAME)]).validate_python(name)
        written = Described.model_validate(content)
    except ValidationError as error:
        place, told = faults(error)[0]
        raise _fault(file, (name, *place), told) from None
    if wrong := _wrong(name, written):
        raise _fault(file, (name, wrong[0]), wrong[1])
    labels = _labels(written)
    lowest, highest = written.score or (0.0, 0.0)
    same = {key: getattr(written, key) for key in (*NOT_OF_A_MODEL, "in_mean") if key != "left_out"}
    return Task(
        name=name,
        classes=_count(written),
        sentences=tuple(written.sentences),
        label=written.label,
        metric=_metric(written),
        labels=labels,
        names=tuple(written.names),
        lowest=lowest,
        highest=highest,
        serves=written.serves,
        balanced=written.weights == "balanced",
        left_out=tuple(map(label_text, written.left_out)),
        **same,
    )


def label_text(value: object) -> str:
    """Return a label as it is compared: `1.0` and 1 are `1`, `True` and true are `true`, words stay as they are."""
    text = str(value).strip()
    if text.casefold() in ("true", "false"):
        return text.casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def _count(written: Described) -> int:
    """Return the number of classes; of those that serve another task, the highest that is mentioned counts."""
    if isinstance(written.classes, dict):
        return max(written.classes.values(), default=0) + 1
    return written.classes if isinstance(written.classes, int) else len(written.classes)


def _labels(written: Described) -> dict[str, int]:
    """Return the class of each label; for two classes the positive one is class 1."""
    if isinstance(written.classes, dict):
        return {label_text(label): number for label, number in written.classes.items()}
    if isinstance(written.classes, int):
        return {}
    words = [label_text(label) for label in written.classes]
    if written.positive is not None and label_text(written.positive) == words[0]:
        words.reverse()
    return {label: number for number, label in enumerate(words)}


def _metric(written: Described) -> Metric:
    if written.metric is None:
        return "pearson" if written.score else "accuracy"
    return "macro_f1" if written.metric == "f1" and written.positive is None else written.metric


def _wrong(name: str, written: Described) -> tuple[str, str] | None:
    """Return the key of what does not go together, and why."""
    count, words = _count(written), [*_labels(written)]
    given = len(written.classes) if isinstance(written.classes, list | dict) else count
    positive = None if written.positive is None else label_text(written.positive)
    low, high = written.score or (0, 1)
    rules = {
        "": (name in TAKEN, f"{name!r} has another meaning in settings; allowed: any other name"),
        "classes": ((count < 2) is not bool(written.score), "allowed: two or more, or `score: [lowest, highest]`"),
        "score": (low >= high, f"it is {low:g} to {high:g}; allowed: the lowest label, then the highest"),
        "files": (
            "train" not in written.files or any(map(_is_outside, written.files.values())),
            "it has to name that of train, and files below the folder",
        ),
        "metric": (
            written.metric is not None and bool(written.score) is not (written.metric in OF_SCORES),
            "allowed: pearson or spearman for a score; accuracy, f1 or mcc for classes",
        ),
        "positive": (
            positive is not None and (count != 2 or positive not in words),
            "allowed: one of two classes that are listed",
        ),
        "names": (len(written.names) not in (0, count), f"allowed: one for each of {count} classes"),
        "weights": (bool(written.weights and written.score), "a score has no classes to balance"),
    }
    if len(words) not in (0, given):
        return "classes", "a label is listed twice; allowed: each once"
    return next(((key, told) for key, (is_wrong, told) in rules.items() if is_wrong), None)


def _is_outside(file: str) -> bool:
    return PurePath(file).is_absolute() or ".." in PurePath(file).parts


def _fault(file: Path, place: tuple[str | int, ...], told: str) -> SettingsError:
    keys = [key for key in place if key != ""]
    return SettingsError(f"{file}:{files.yaml_line(file, keys)}: {'.'.join(map(str, keys))}: {told}")


COURSE = read(Path(__file__).with_name(FILE))
