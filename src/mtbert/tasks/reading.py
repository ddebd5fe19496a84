"""Read tasks.yaml, which describes the tasks of a data folder; the course's, beside this file, are the default."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StrictBool, TypeAdapter, ValidationError

from mtbert import files, layout
from mtbert.errors import SettingsError, UnknownNameError, faults, first_of
from mtbert.tasks.task import (
    LONGEST_NAME,
    NAME,
    NOT_OF_A_MODEL,
    TITLE,
    Metric,
    Split,
    Task,
    Tasks,
    load_tasks,
    main,
    of_a_model,
)

FILE = "tasks.yaml"
# What settings and reports call something else beside a task of such a name.
IGNORE = "ignore"  # files in the folder that are of no task
OTHERS_FOLDER = "others"  # the folder in it of predictions that others made
TAKEN = (IGNORE, "all", "each", OTHERS_FOLDER, "smallest", "features", "adapter", "connector", "overfitting", "mean")
COLUMNS = ("row", "way", "mean", "overall", "normalised", "verdict", "seeds")  # of tables, beside those of tasks
SHOWN = 5  # most numbers in a message
KEYS_OF_DRAWS = ("group_on", "time_on", "time_format", "folds")
CODES_OF_YEARS = ("%Y", "%y", "%G", "%c", "%x")  # of `strptime`
FEWEST_FOLDS, MOST_FOLDS = 2, 10
# The metrics of each kind of label, by their names in tasks.yaml; the first one is meant where none is given.
OF_CLASSES: dict[str, Metric] = {"accuracy": "accuracy", "f1": "macro_f1", "mcc": "mcc"}
OF_SCORES: dict[str, Metric] = {"pearson": "pearson", "spearman": "spearman"}
OF_SETS: dict[str, Metric] = {"micro_f1": "micro_f1", "f1": "labels_f1"}
MOST_IN_A_SET = 53  # labels: a set of so many is a number that a float64 holds exactly, see `mtbert.scores.sets`
LABEL_ALLOWED = (
    "COLUMN; of a list, `mtbert study` makes a task for each; with `several: true` [COLUMN, OTHER] or {LABEL: COLUMN}, "
    "columns of 0 and 1"
)
ALLOWED = {  # where pydantic speaks of types
    "classes": "[LABEL, OTHER], {LABEL: 0, OTHER: 1}, or how many there are",
    "score": "[LOWEST, HIGHEST], two numbers",
    "label": LABEL_ALLOWED,
    "left_out": "[LABEL, OTHER]",
    "sentences": "[COLUMN], or [COLUMN, OTHER]",
    "files": "{train: FILE, dev: FILE, test: FILE}",
    "folds": f"{FEWEST_FOLDS} to {MOST_FOLDS}",
    "matters": "above 0 and below 1, since scores are from 0 to 1: 0.02 is two points of a hundred",
    **dict.fromkeys(("several", "show_text", "in_mean"), "true or false, without quotation marks"),
}
ASKED = "?"  # which `mtbert study` writes in place of an answer
QUESTION = f"it is '{ASKED}', where `mtbert study` asks something: the comment at the top says what to write here"
TYPES = ("str", "int", "float", "bool")  # which pydantic adds to the keys of a value that may be of several
WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(\.0)?")  # how a whole number is written: not 01, 1_0 or 1.00


class TaskEntry(BaseModel):
    """A task in tasks.yaml; keys of `Task`'s names mean the same.

    Attributes:
        classes: their labels in order (words, numbers or booleans), or by label the class, or how many: 0, 1, ...
        several: whether a row has any number of the classes, or none.
        label: its column; of several 0/1 columns a list, or by label the column.
        separator: what parts several labels in a text, of which a row then has any number; JSON lists need none.
        score: lowest and highest label, in place of classes.
        metric: where none is given accuracy for classes, micro_f1 for several, and pearson for scores; f1 is the mean
            over classes.
        positive: of two classes, the one whose F1 alone is the metric, which is then f1.
        folds: as `Task.folds`; None where it is left out.
        weights: `balanced`: in the loss, each class weighs as much as any other.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    files: dict[Split, str]
    sentences: list[str] = Field(min_length=1, max_length=2)
    label: str | list[str] | dict[str, str]
    several: StrictBool = False
    separator: str = ""
    classes: list[str | int | float | bool] | dict[str | int | bool, int] | int = 1
    score: tuple[float, float] | None = Field(default=None, strict=False)
    metric: str | None = None
    positive: str | int | bool | None = None
    weights: Literal["balanced"] | None = None
    names: list[str] = []
    serves: str = ""
    title: str = Field(default="", pattern=TITLE)
    id: str = ""
    left_out: list[str | int | float | bool | None] = []
    encoding: str = "utf-8"
    group_on: str = ""
    time_on: str = ""
    time_format: str = ""
    folds: int | None = None
    matters: float = Field(default=0.01, gt=0, lt=1)
    show_text: StrictBool = False
    in_mean: StrictBool = True
    submission: str = ""

    @property
    def has_sets(self) -> bool:
        """Whether a row has several labels, or none: `several` or a separator says so."""
        return self.several or bool(self.separator)


def read_folder(data_dir: Path) -> dict[str, Task]:
    """Return the tasks of a data folder by name, in their order: those of its tasks.yaml, else the course's.

    Raises:
        SettingsError: the file is no list of tasks; the message has file, line and key.
    """
    file = data_dir / FILE
    return read(file) if file.is_file() else COURSE


def read_build(build: Path) -> dict[str, Task]:
    """Return the tasks of what a build directory trains, by its plan; the course's where it has none."""
    if not layout.plan(build).is_file():
        return COURSE
    planned = layout.read_catalog(build).get("tasks")
    return load_tasks(planned) if planned else COURSE


def read(file: Path) -> dict[str, Task]:
    """Read a tasks.yaml; errors as for `read_folder`."""
    content: Any = files.read_yaml(file, "correct it")
    if not isinstance(content, dict) or not content:
        raise SettingsError(f"{file} has to hold tasks by name, and holds none")
    ignored = checked_ignored(file, content.pop(IGNORE, []))
    tasks = {str(name): _task(file, str(name), entry) for name, entry in content.items()}
    for name, task in tasks.items():
        _check_serves(file, task, tasks)
        if both := ignored & {*task.files.values()}:
            raise _fault(file, (IGNORE,), f"{min(both)} is a file of {name}; allowed: files of no task")
    _check_titles(file, tasks)
    _check_draws(file, tasks)
    _check_folds(file, tasks)
    tasks = {name: _without_gaps(task, tasks) for name, task in tasks.items()}
    if not main(tasks):
        raise SettingsError(f"{file}: no task is part of the mean; allowed: one at least without `in_mean: false`")
    return tasks


def _check_serves(file: Path, task: Task, tasks: Tasks) -> None:
    """Raise SettingsError where a task serves one that it cannot."""
    if not task.serves:
        return
    own = [name for name, other in tasks.items() if not other.serves]
    if task.serves not in own:
        raise _fault(file, (task.name, "serves"), str(UnknownNameError("task", task.serves, own)))
    served = tasks[task.serves]
    if served.several:
        fault = f"{served.name} has several labels a row; allowed: a task with one"
        raise _fault(file, (task.name, "serves"), fault)
    if task.classes > served.classes:
        allowed = "a score" if served.kind == "score" else f"0 to {served.classes - 1}"
        fault = f"its last class is {task.classes - 1}; allowed: {allowed}, as {served.name} has, which it serves"
        raise _fault(file, (task.name, "classes"), fault)


def _without_gaps(task: Task, tasks: Tasks) -> Task:
    """Return a task; in a file shared by tasks, skip rows whose label for this task is empty."""
    labels = {other.label for other in tasks.values() if {*other.files.values()} & {*task.files.values()}}
    if len(labels) < 2 or "" in task.left_out or task.separator:  # an empty text is a set without labels
        return task
    return replace(task, left_out=(*task.left_out, ""))


def checked_ignored(file: Path, ignored: Any) -> set[str]:
    """Return the files that tasks.yaml ignores; SettingsError where `ignore` is no list of files that are there."""
    if not isinstance(ignored, list) or not all(isinstance(name, str) for name in ignored):
        raise _fault(file, (IGNORE,), f"it is {ignored!r}; allowed: [FILE, OTHER]")
    for number, name in enumerate(ignored):
        if not (file.parent / name).is_file():
            raise _fault(file, (IGNORE, number), f"{name} is not there; allowed: files below the folder")
    return {PurePath(name).as_posix() for name in ignored}


def _check_titles(file: Path, tasks: Tasks) -> None:
    """Raise SettingsError where two columns of a table would have one name."""
    taken: dict[str, str] = dict.fromkeys(COLUMNS, "another column of tables")
    for name, task in tasks.items():
        title = task.display_name.casefold()
        if title in taken:
            raise _fault(
                file, (name, "title"), f"{task.display_name} is the name of {taken[title]}; allowed: any other title"
            )
        taken[title] = f"task {name}, too"


def _check_draws(file: Path, tasks: Tasks) -> None:
    """Raise SettingsError where tasks that draw their dev from one file would draw it in different ways."""
    first_by_file: dict[str, Task] = {}
    for name, task in tasks.items():
        if not task.draws_dev:
            continue
        first = first_by_file.setdefault(task.files["train"], task)
        for key in KEYS_OF_DRAWS:
            if getattr(task, key) != getattr(first, key):
                here, there = (getattr(each, key) or "left out" for each in (task, first))
                fault = f"it is {here}, and {there} in {first.name}, which draws dev from the same file"
                raise _fault(file, (name, key), f"{fault}; allowed: the same in both")


def _check_folds(file: Path, tasks: Tasks) -> None:
    """Raise SettingsError where tasks have different numbers of folds: a seed has one fold of each."""
    with_folds = [task for task in tasks.values() if task.folds]
    for task in with_folds:
        if task.folds != with_folds[0].folds:
            fault = f"it is {task.folds}, and {with_folds[0].folds} in {with_folds[0].name}"
            raise _fault(file, (task.name, "folds"), f"{fault}; allowed: the same in all tasks that have folds")


def are_the_courses(tasks: Tasks) -> bool:
    """Return whether the tasks of the mean are the course's three, not some of a user's that are called like them."""
    names = main(COURSE)
    return main(tasks) == names and all(of_a_model(tasks[name]) == of_a_model(COURSE[name]) for name in names)


def _task(file: Path, name: str, content: Any) -> Task:
    """Return the task of an entry of tasks.yaml."""
    content = content if isinstance(content, dict) else {}
    for key in content:
        if key not in TaskEntry.model_fields:
            raise _fault(file, (name, key), str(UnknownNameError("key", key, TaskEntry.model_fields)))
    try:
        TypeAdapter(Annotated[str, Field(pattern=NAME)]).validate_python(name)
        entry = TaskEntry.model_validate(content)
    except ValidationError as error:
        keys, fault = faults(error)[0]
        if len(keys) > 1 and keys[-1] in TYPES:
            keys = keys[:-1]
        raise _fault(file, (name, *keys), _in_words(name, keys, fault, content)) from None
    for rule in _rules(name, entry):
        if rule.is_broken:
            raise _fault(file, (name, rule.key), rule.fault)
    lowest, highest = entry.score or (0.0, 0.0)
    as_written = {*NOT_OF_A_MODEL, "in_mean", "separator"} - {"left_out", "columns", "files"}
    unchanged = {key: getattr(entry, key) for key in as_written}
    columns = _columns(entry)
    return Task(
        name=name,
        classes=_count(entry),
        sentences=tuple(entry.sentences),
        label=first_of(columns, SHOWN) if columns else str(entry.label),
        columns=columns,
        several=entry.has_sets,
        metric=_metric(entry),
        labels=_labels(entry),
        names=tuple(reversed(entry.names) if _swaps(entry) else entry.names),
        lowest=lowest,
        highest=highest,
        serves=entry.serves,
        balanced=entry.weights == "balanced",
        left_out=tuple(map(label_text, entry.left_out)),
        files={split: PurePath(path).as_posix() for split, path in entry.files.items()},  # a.csv of ./a.csv
        folds=entry.folds or 0,
        **unchanged,
    )


def _in_words(name: str, keys: Sequence[str | int], fault: str, content: dict[str, Any]) -> str:
    """Return a fault of pydantic's as it is said to people, with what is allowed."""
    if not keys:
        return f"{name!r} cannot be a task's name; allowed: a to z, 0 to 9 and _ between them, a letter first"
    if content.get(str(keys[0])) == ASKED:
        return QUESTION
    allowed = ALLOWED.get(str(keys[0]))
    if not allowed or keys[0] not in content:
        return fault
    return f"it is {_at(content, keys)!r}; allowed: {allowed}"


def _at(content: Any, keys: Sequence[str | int]) -> Any:
    """Return the value to which keys lead, as far as they do: a list may lack the item that is wanted."""
    for key in keys:
        try:
            content = content[key]
        except (LookupError, TypeError):
            break
    return content


def label_text(value: object) -> str:
    """Return a label as it is compared, `1` for `1.0` and `true` for `True`; empty where it is missing: null or NaN."""
    text = "" if value is None else str(value).strip()
    if text.casefold() in ("true", "false"):
        return text.casefold()
    if text.casefold() == "nan":
        return ""
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def _columns(entry: TaskEntry) -> tuple[str, ...]:
    """Return the 0/1 column of each of several labels, in their order; none where one column holds the label."""
    if isinstance(entry.label, str):
        return ()
    return tuple(entry.label.values() if isinstance(entry.label, dict) else entry.label)


def _count(entry: TaskEntry) -> int:
    """Return the number of classes; of those that serve another task, the highest that is mentioned counts."""
    if columns := _columns(entry):
        return len(columns)
    if isinstance(entry.classes, dict):
        return max(entry.classes.values(), default=0) + 1
    return entry.classes if isinstance(entry.classes, int) else len(entry.classes)


def _labels(entry: TaskEntry) -> dict[str, int]:
    """Return the class of each label, in the order of classes; of two the positive one is class 1."""
    labels = _listed(entry)
    if _swaps(entry):
        labels = {label: 1 - number for label, number in labels.items()}
    return dict(sorted(labels.items(), key=lambda item: item[1]))


def _listed(entry: TaskEntry) -> dict[str, int]:
    """Return the class of each label as they are listed."""
    if not isinstance(entry.label, str):
        return {label_text(label): number for number, label in enumerate(entry.label)}
    if isinstance(entry.classes, int):
        return {}
    if isinstance(entry.classes, dict):
        return {label_text(label): number for label, number in entry.classes.items()}
    return {label_text(label): number for number, label in enumerate(entry.classes)}


def _swaps(entry: TaskEntry) -> bool:
    """Return whether two classes change places with their names, since the first one listed is positive."""
    return _count(entry) == 2 and entry.positive is not None and _listed(entry).get(label_text(entry.positive)) == 0


def _metric(entry: TaskEntry) -> Metric:
    if entry.positive is not None:
        return "f1"
    metrics = _metrics(entry)
    return metrics[entry.metric or next(iter(metrics))]


def _metrics(entry: TaskEntry) -> dict[str, Metric]:
    """Return the metrics that a task may have."""
    if entry.has_sets:
        return OF_SETS
    return OF_CLASSES if entry.score is None else OF_SCORES


class _Rule(NamedTuple):
    """What keys of a task have to be together.

    Attributes:
        key: the one that a message names; empty for the task itself.
        is_broken: whether the task breaks it.
        fault: what is said then.
    """

    key: str
    is_broken: bool
    fault: str


def _rules(name: str, entry: TaskEntry) -> Iterator[_Rule]:
    """Yield the rules for a task, in the order in which they are checked."""
    yield _Rule("", name in TAKEN, f"{name!r} has another meaning in settings; allowed: any other name")
    allowed = f"at most {LONGEST_NAME}, so write a shorter name here"
    yield _Rule("", len(name) > LONGEST_NAME, f"a task's name of {len(name)} characters; allowed: {allowed}")
    yield from _rules_of_columns(entry)
    yield from _rules_of_draws(entry)
    yield from _rules_of_sets(entry)
    yield from _rules_of_classes(entry)
    count = _count(entry)
    is_score = entry.score is not None
    has_classes = count >= 2
    is_alone = len(_columns(entry)) == 1
    yield _Rule("label", is_alone, f"it is {entry.label!r}; allowed: two columns of 0 and 1, or more")
    yield _Rule("classes", has_classes is is_score, "allowed: two or more, or `score: [lowest, highest]`")
    low, high = entry.score or (0, 1)
    yield _Rule("score", low >= high, f"it is {low:g} to {high:g}; allowed: the lowest label, then the highest")
    is_other_metric = entry.metric not in (None, *_metrics(entry))
    allowed = f"for a score {', '.join(OF_SCORES)}; for classes {', '.join(OF_CLASSES)}"
    yield _Rule("metric", is_other_metric, f"it is {entry.metric}; allowed: {allowed}")
    is_unlisted = entry.positive is not None and (count != 2 or label_text(entry.positive) not in _listed(entry))
    yield _Rule("positive", is_unlisted, "allowed: one of two classes that are listed")
    is_not_f1 = entry.positive is not None and entry.metric not in (None, "f1")
    yield _Rule("metric", is_not_f1, f"it is {entry.metric}, beside `positive`; allowed: f1, that of this class alone")
    yield _Rule("names", len(entry.names) not in (0, count), f"allowed: one for each of {count} classes")
    yield _Rule("names", len({*entry.names}) < len(entry.names), "a name comes twice; allowed: another for each class")
    labels = {label: number for label, number in _listed(entry).items()}
    taken = [name for number, name in enumerate(entry.names) if labels.get(label_text(name), number) != number]
    fault = f"{first_of(taken, SHOWN)}: labels of other classes; allowed: other names"
    yield _Rule("names", bool(taken), fault)
    yield _Rule("weights", bool(entry.weights and is_score), "a score has no classes to balance")


def _rules_of_columns(entry: TaskEntry) -> Iterator[_Rule]:
    columns = _columns(entry) or (str(entry.label),)
    yield _Rule(
        "label", bool(_columns(entry)) and not entry.several, f"it is {entry.label!r}; allowed: {LABEL_ALLOWED}"
    )
    read = [column for column in columns if column in entry.sentences]
    yield _Rule("sentences", bool(read), f"{first_of(read, 1)} is the column of the label; allowed: columns of text")
    is_same = len({*entry.sentences}) < len(entry.sentences)
    yield _Rule("sentences", is_same, f"{entry.sentences[0]} comes twice; allowed: one column, or two different ones")
    is_elsewhere = "train" not in entry.files or any(map(_is_outside, entry.files.values()))
    yield _Rule("files", is_elsewhere, "it has to name that of train, and files below the folder")
    is_twice = len({*map(PurePath, entry.files.values())}) < len(entry.files)
    yield _Rule("files", is_twice, "one file is that of two splits; allowed: another for each, or train alone")


def _rules_of_draws(entry: TaskEntry) -> Iterator[_Rule]:
    for key in ("group_on", "time_on"):
        column = getattr(entry, key)
        is_other = bool(column) and column in (*entry.sentences, entry.label, entry.id)
        yield _Rule(key, is_other, f"{column} is a column of the text, the label or the ids; allowed: another one")
    yield _Rule("group_on", bool(entry.group_on and entry.serves), "it has no dev, since it serves another task")
    draws = "dev" not in entry.files and not entry.serves
    yield _Rule("time_on", bool(entry.time_on) and not draws, "it draws dev, and the task draws none; leave it out")
    has_folds = entry.folds is not None
    is_other = has_folds and not FEWEST_FOLDS <= (entry.folds or 0) <= MOST_FOLDS
    yield _Rule("folds", is_other, f"it is {entry.folds}; allowed: {FEWEST_FOLDS} to {MOST_FOLDS}")
    no_draw = "it divides train, and the task has a dev of its own or serves another task; remove this key"
    yield _Rule("folds", has_folds and not draws, no_draw)
    both = "a fold may be of any date, and `time_on` draws the latest rows; remove one of both keys"
    yield _Rule("folds", has_folds and bool(entry.time_on), both)
    is_alone = bool(entry.time_format) and not entry.time_on
    yield _Rule("time_format", is_alone, "it says how dates are written, and `time_on` names no column of them")
    has_no_year = bool(entry.time_format) and not any(code in entry.time_format for code in CODES_OF_YEARS)
    fault = f'it is {entry.time_format!r}, which has no code for the year; allowed: such as "%d/%m/%Y"'
    yield _Rule("time_format", has_no_year, fault)


def _rules_of_classes(entry: TaskEntry) -> Iterator[_Rule]:
    words = _listed(entry)
    is_doubled = isinstance(entry.classes, list | dict) and len(words) < len(entry.classes)
    yield _Rule("classes", is_doubled, "a label is listed twice; allowed: each once")
    yield _Rule("classes", "" in words, "a label is empty or nan, which stands for none; allowed: any other")
    if isinstance(entry.classes, dict) and words:
        numbers = sorted({*words.values()})
        has_gap = numbers[0] < 0 or (len(numbers) < _count(entry) and not entry.serves)
        fault = (
            f"its numbers are {first_of([*map(str, numbers)], SHOWN)}; allowed: 0, 1, ..., each for a label at least"
        )
        yield _Rule("classes", has_gap, fault)


def _rules_of_sets(entry: TaskEntry) -> Iterator[_Rule]:
    """Yield the rules for several labels a row, and for what only they have."""
    yield _Rule("separator", entry.separator == ASKED, QUESTION)
    is_of_sets = entry.metric == "micro_f1" and not entry.has_sets
    yield _Rule("metric", is_of_sets, "micro_f1 is of several labels a row; add `several: true`, or allowed: accuracy")
    if not entry.has_sets:
        return
    columns = _columns(entry)
    is_empty = not isinstance(entry.label, str) and not columns
    yield _Rule("label", is_empty, f"it is {entry.label!r}; allowed: {LABEL_ALLOWED}")
    for key in ("score", "positive", "weights"):
        fault = "each of several labels is there or not; remove this key"
        yield _Rule(key, getattr(entry, key) is not None, fault)
    yield _Rule("serves", bool(entry.serves), "a task of several labels a row serves no other; remove this key")
    is_other = entry.metric not in (None, *OF_SETS)
    yield _Rule("metric", is_other, f"it is {entry.metric}; allowed for several labels a row: {', '.join(OF_SETS)}")
    is_twice = len({*columns}) < len(columns) or len(_listed(entry)) < len(columns)
    yield _Rule("label", is_twice, "a column or a label comes twice; allowed: another for each label")
    has_both = bool(columns) and entry.classes != 1
    yield _Rule("classes", has_both, "`label` names a column for each label; remove this key, or name one column")
    yield _Rule("separator", bool(columns and entry.separator), "columns of 0 and 1 have none; remove this key")
    count, most = _count(entry), f"allowed: at most {MOST_IN_A_SET} labels, of which a row has several"
    yield _Rule("label" if columns else "classes", count > MOST_IN_A_SET, f"they are {count}; {most}")
    parted = [label for label in (*_listed(entry), *entry.names) if entry.separator and entry.separator in label]
    fault = f"it is {entry.separator!r}, which the label {first_of(parted, 1)!r} holds; allowed: what no label holds"
    yield _Rule("separator", bool(parted), f"{fault}, or a JSON list in place of a text")


def _is_outside(file: str) -> bool:
    return PurePath(file).is_absolute() or ".." in PurePath(file).parts


def _fault(file: Path, keys: tuple[str | int, ...], fault: str) -> SettingsError:
    keys = tuple(key for key in keys if key != "")
    return SettingsError(f"{file}:{files.yaml_line(file, keys)}: {'.'.join(map(str, keys))}: {fault}")


COURSE = read(Path(__file__).with_name(FILE))
