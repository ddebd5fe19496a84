"""Guess a folder's tasks from its files: the splits of each, its sentences, its label, and the kind of label.

What cannot be guessed is refused, with the lines that tasks.yaml needs. The order of columns decides nothing.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert.data import readers
from mtbert.errors import DataError, first_of
from mtbert.tasks import FILE, Split, label_text

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
SPLITS: dict[str, Split] = {
    "train": "train", "training": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev",
    "test": "test",
}  # fmt: skip
NAMED = re.compile(rf"(?:(.+?)[-_. ])?({'|'.join(SPLITS)})(?:-\d+-of-\d+)?", re.I)
LABELS = ("label", "gold_label", "class", "category", "target", "score", "similarity", "relevance", "is_duplicate")
SCORES = ("score", "similarity", "relevance")  # labels of such a name are scores, if they are numbers
IDS = ("", "id", "idx", "index", "guid", "pairid", "unnamed: 0")
PAIRS = (("sentence1", "sentence2"), ("question1", "question2"), ("premise", "hypothesis"), ("text", "text_pair"))
SAMPLED = 2000  # rows that decide what a column holds
FEW = 20  # values of a column of labels, if it has no label's name, and of whole numbers that are classes
FEW_NUMBERS = 5  # among words that are classes
MOST_CLASSES = 200
TEMPLATE = "{name}:\n  files: {{train: {file}}}\n  sentences: [COLUMN]\n  label: COLUMN\n  classes: [ONE, OTHER]"
Rows = Sequence[Mapping[str, Any]]


def tasks_of(folder: Path, encoding: str = "utf-8") -> dict[str, dict[str, Any]]:
    """Return a folder's tasks as tasks.yaml has them, by name.

    Args:
        folder: with files such as topic-train.csv, topic.csv or topic/train.csv.
        encoding: of its text files.

    Raises:
        DataError: there is no such file, two are of one split, or a file does not tell what it is.
    """
    files_by_task: dict[str, dict[Split, str]] = {}
    for file in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        if readers.ending(file) not in ENDINGS or file.name.startswith("."):
            continue
        name, split = _named(file, folder)
        shown = file.relative_to(folder).as_posix()
        if other := files_by_task.setdefault(name, {}).get(split):
            raise DataError(f"{folder}: two files are {split} of {name}: {other} and {shown}; remove one, or rename it")
        files_by_task[name][split] = shown
    if not files_by_task:
        raise DataError(f"{folder} holds no task; allowed: files such as topic-train.csv and topic-dev.csv")
    return {name: _described(folder, name, files, encoding) for name, files in files_by_task.items()}


def _named(file: Path, folder: Path) -> tuple[str, Split]:
    """Return the task and the split that a file's name tells; a file that names no split is train."""
    stem = file.name.split(readers.ending(file))[0]
    parts = NAMED.fullmatch(stem)
    within = "" if file.parent == folder else file.parent.name
    words = (parts[1] if parts else stem) or within or folder.name
    name = re.sub(r"[^a-z0-9]+", "_", words.casefold()).strip("_")
    return (
        name if name[:1].isalpha() else f"task_{name}".rstrip("_"),
        SPLITS[parts[2].casefold()] if parts else "train",
    )


def _described(folder: Path, name: str, files: dict[Split, str], encoding: str) -> dict[str, Any]:
    """Return a task as tasks.yaml has it."""
    if "train" not in files:
        raise DataError(f"{folder}: {name} has {first_of([*files.values()], 3)}, but no train; add {name}-train.csv")
    file = folder / files["train"]
    rows = [values for _, values in readers.rows_of(file, encoding, name)]
    if not rows:
        raise DataError(f"{file}: it holds no row")
    try:
        label = _label(name, rows)
        sentences = _sentences(rows, label)
    except ValueError as error:
        fault = f"its columns are {', '.join(rows[0])}, and {error}"
        example = TEMPLATE.format(name=name, file=files["train"])
        raise DataError(f"{file}: {fault}; say it in {folder / FILE}:\n{example}") from None
    described = {"files": dict(files), "sentences": sentences, "label": label}
    described |= _kind(file, label, [label_text(row[label]) for row in rows if row.get(label) not in (None, "")])
    described |= {"encoding": encoding} if encoding != "utf-8" else {}
    return described | _id(rows)


def _label(name: str, rows: Rows) -> str:
    """Return the column of the label: by its name, or the only one with few values; ValueError where none tells."""
    columns = [column for column in rows[0] if column.casefold() not in IDS]
    for label in (name, *LABELS):
        if named := [column for column in columns if column.casefold() == label]:
            return named[0]
    few = [column for column in columns if not _is_text(rows, column)]
    if len(few) != 1:
        raise ValueError("which of them is the label cannot be told; allowed: one that is called label")
    return few[0]


def _sentences(rows: Rows, label: str) -> list[str]:
    """Return the one or two columns of text; ValueError where there are none, or more."""
    columns = [column for column in rows[0] if column != label and column.casefold() not in IDS]
    for pair in PAIRS:
        if {*pair} <= {*columns}:
            return [*pair]
    texts = [column for column in columns if _is_text(rows, column)]
    texts = texts or (columns if len(columns) <= 2 else [])  # of a handful of rows
    if len(texts) not in (1, 2):
        raise ValueError("which of them are the one or two sentences cannot be told")
    return texts


def _is_text(rows: Rows, column: str) -> bool:
    """Return whether a column holds text: words, and more than a few of them."""
    values = [str(row.get(column)) for row in rows[:SAMPLED]]
    distinct = {*values}
    return len(distinct) > min(FEW, len(values) / 2) and not all(map(_is_number, distinct))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _kind(file: Path, label: str, values: list[str]) -> dict[str, Any]:
    """Return what tasks.yaml says of a task's labels: a score's range, or the classes in order, and a metric."""
    distinct = {*values}
    numbers = [float(value) for value in distinct] if all(map(_is_number, distinct)) else []
    whole = all(number.is_integer() for number in numbers)
    if len(distinct) < 2:
        raise DataError(f"{file}: its {label} holds {', '.join(distinct) or 'nothing'}; allowed: two labels or more")
    if numbers and (label.casefold() in SCORES or not whole or len(distinct) > FEW):
        return {"score": [math.floor(min(numbers)), math.ceil(max(numbers))]}
    if len(mixed := [word for word in sorted(distinct) if _is_number(word)]) > FEW_NUMBERS and not numbers:
        word = next(word for word in sorted(distinct) if not _is_number(word))
        told = f"numbers such as {mixed[0]}, and {word!r}; correct it, or list its `classes` in tasks.yaml"
        raise DataError(f"{file}: its {label} holds {told}")
    if len(distinct) > MOST_CLASSES:
        raise DataError(f"{file}: its {label} holds {len(distinct):,} words; allowed: at most {MOST_CLASSES} classes")
    words = [int(number) for number in sorted(numbers)] if numbers else [*_in_yaml(sorted(distinct))]
    return {"classes": words} | ({"metric": "f1"} if len(words) > 2 else {})


def _in_yaml(words: list[str]) -> Iterator[str | bool]:
    for word in words:
        yield word == "true" if word in ("true", "false") else word


def _id(rows: Rows) -> dict[str, str]:
    """Return the column of ids, where one of such a name differs in every row."""
    for column in (column for column in rows[0] if column.casefold() in IDS[1:]):
        values = [str(row.get(column) or "") for row in rows]
        if all(values) and len({*values}) == len(values):
            return {"id": column}
    return {}
