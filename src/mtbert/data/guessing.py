"""Guess a folder's tasks from its files: the splits of each, its sentences, its label, and the kind of label.

What cannot be guessed is refused, with the lines that tasks.yaml needs. The order of columns decides nothing.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert.data import readers
from mtbert.errors import DataError, first_of
from mtbert.tasks import FILE, Split, label_text

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
SPLIT_NAMES: dict[str, Split] = {
    "train": "train", "training": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev",
    "test": "test",
}  # fmt: skip
# A file's name without ending: its task, if it names one, its split, and which of several files it is.
STEM = re.compile(rf"(?:(?P<task>.+?)[-_. ])?(?P<split>{'|'.join(SPLIT_NAMES)})(?:-\d+-of-\d+)?", re.I)
LABELS = ("label", "gold_label", "class", "category", "target", "score", "similarity", "relevance", "is_duplicate")
SCORES = ("score", "similarity", "relevance")  # labels of such a name are scores, if they are numbers
IDS = ("", "id", "idx", "index", "guid", "pairid", "unnamed: 0")
PAIRS = (("sentence1", "sentence2"), ("question1", "question2"), ("premise", "hypothesis"), ("text", "text_pair"))
SAMPLED = 2000  # rows that decide what a column holds
FEW = 20  # values of a column of labels, if it has no label's name, and of whole numbers that are classes
FEW_NUMBERS = 5  # among words that are classes
MOST_CLASSES = 200
TEMPLATE = "{name}:\n  files: {{train: {file}}}\n  sentences: [COLUMN]\n  label: COLUMN\n  classes: [ONE, OTHER]"
Records = Sequence[Mapping[str, Any]]  # a file's rows, by column


def tasks_of(folder: Path, encoding: str = "utf-8") -> dict[str, dict[str, Any]]:
    """Return a folder's tasks as tasks.yaml has them, by name.

    Args:
        folder: with files such as topic-train.csv, topic.csv or topic/train.csv.
        encoding: of its text files.

    Raises:
        DataError: there is no such file, two are of one split, or what a file holds cannot be guessed.
    """
    files_by_task: dict[str, dict[Split, str]] = {}
    for file in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        if readers.ending(file) not in ENDINGS or file.name.startswith("."):
            continue
        name, split = _task_and_split(file, folder)
        shown = file.relative_to(folder).as_posix()
        if other := files_by_task.setdefault(name, {}).get(split):
            raise DataError(f"{folder}: two files are {split} of {name}: {other} and {shown}; remove one, or rename it")
        files_by_task[name][split] = shown
    if not files_by_task:
        raise DataError(f"{folder} holds no task; allowed: files such as topic-train.csv and topic-dev.csv")
    return {name: _describe(folder, name, files, encoding) for name, files in files_by_task.items()}


def _task_and_split(file: Path, folder: Path) -> tuple[str, Split]:
    """Return the task and the split of a file by its name; a file that names no split is train.

    A name without a task has that of the folder below `folder`, else of `folder`.
    """
    stem = file.name.split(readers.ending(file))[0]
    parts = STEM.fullmatch(stem)
    words = parts["task"] if parts else stem
    split = SPLIT_NAMES[parts["split"].casefold()] if parts else "train"
    name = re.sub(r"[^a-z0-9]+", "_", (words or file.parent.name).casefold()).strip("_")
    if not name[:1].isalpha():
        name = f"task_{name}".rstrip("_")
    return name, split


def _describe(folder: Path, name: str, files: dict[Split, str], encoding: str) -> dict[str, Any]:
    """Return a task as tasks.yaml has it."""
    if "train" not in files:
        raise DataError(f"{folder}: {name} has {first_of([*files.values()], 3)}, but no train; add {name}-train.csv")
    file = folder / files["train"]
    rows = [row.values for row in readers.rows_of(file, encoding, name)]
    if not rows:
        raise DataError(f"{file}: it holds no row")
    try:
        label = _label(name, rows)
        sentences = _sentences(rows, label)
    except ValueError as error:
        fault = f"its columns are {', '.join(rows[0])}, and {error}"
        example = TEMPLATE.format(name=name, file=files["train"])
        raise DataError(f"{file}: {fault}; say it in {folder / FILE}:\n{example}") from None
    labels = {label_text(row[label]) for row in rows if row.get(label) not in (None, "")}
    entry = {"files": dict(files), "sentences": sentences, "label": label, **_kind(file, label, labels)}
    if encoding != "utf-8":
        entry["encoding"] = encoding
    if column := _id(rows):
        entry["id"] = column
    return entry


def _label(name: str, rows: Records) -> str:
    """Return the column of the label: by its name, or the only one with few values; ValueError where neither helps."""
    columns = [column for column in rows[0] if column.casefold() not in IDS]
    for label in (name, *LABELS):
        for column in columns:
            if column.casefold() == label:
                return column
    with_few_values = [column for column in columns if not _is_text(rows, column)]
    if len(with_few_values) != 1:
        raise ValueError("which of them is the label cannot be told; allowed: one that is called label")
    return with_few_values[0]


def _sentences(rows: Records, label: str) -> list[str]:
    """Return the one or two columns of text; ValueError where there are none, or more."""
    columns = [column for column in rows[0] if column != label and column.casefold() not in IDS]
    for pair in PAIRS:
        if {*pair} <= {*columns}:
            return [*pair]
    texts = [column for column in columns if _is_text(rows, column)]
    if not texts:
        texts = columns  # a handful of rows has few values in each
    if len(texts) not in (1, 2):
        raise ValueError("which of them are the one or two sentences cannot be told")
    return texts


def _is_text(rows: Records, column: str) -> bool:
    """Return whether a column holds text: words, and more than a few of them."""
    values = [str(row.get(column)) for row in rows[:SAMPLED]]
    distinct = {*values}
    return len(distinct) > min(FEW, len(values) / 2) and not all(map(_is_number, distinct))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _kind(file: Path, label: str, labels: set[str]) -> dict[str, Any]:
    """Return the entries of tasks.yaml about a task's labels: a score's range, or the classes in order, and a metric.

    DataError where they are neither.
    """
    shown = f"{file}: its {label} holds"
    if len(labels) < 2:
        raise DataError(f"{shown} {', '.join(labels) or 'nothing'}; allowed: two labels or more")
    numbers = sorted(filter(_is_number, labels), key=float)
    words = sorted(labels.difference(numbers))
    if not words and _are_scores(label, [float(number) for number in numbers]):
        return {"score": [math.floor(float(numbers[0])), math.ceil(float(numbers[-1]))]}
    if words and len(numbers) > FEW_NUMBERS:
        raise DataError(
            f"{shown} numbers such as {min(numbers)}, and {words[0]!r}; correct it, or list its `classes` in tasks.yaml"
        )
    if len(labels) > MOST_CLASSES:
        raise DataError(f"{shown} {len(labels):,} words; allowed: at most {MOST_CLASSES} classes")
    entry: dict[str, Any] = {"classes": [_in_yaml(word) for word in sorted(labels)] if words else [*map(int, numbers)]}
    if len(labels) > 2:
        entry["metric"] = "f1"
    return entry


def _are_scores(label: str, numbers: list[float]) -> bool:
    """Return whether labels that are numbers are scores, not classes."""
    return label.casefold() in SCORES or len(numbers) > FEW or not all(number.is_integer() for number in numbers)


def _in_yaml(word: str) -> str | bool:
    """Return a label as YAML has it."""
    return word == "true" if word in ("true", "false") else word


def _id(rows: Records) -> str | None:
    """Return the column of ids: the first of such a name whose values differ in every row."""
    for column in rows[0]:
        values = [str(row.get(column) or "") for row in rows]
        if column.casefold() in IDS[1:] and all(values) and len({*values}) == len(values):
            return column
    return None
