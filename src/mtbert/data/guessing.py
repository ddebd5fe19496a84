"""Guess a folder's tasks from its files: the splits of each, its sentences, its label, and the kind of label.

What cannot be guessed is refused, with the lines that tasks.yaml needs. The order of columns decides nothing.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from mtbert.data import labels as labelling
from mtbert.data import readers
from mtbert.data.labels import ASKED, NUMBER, SCORES, SEVERAL, TASK_OF_EACH, Question
from mtbert.data.readers import ENDINGS
from mtbert.data.records import repeats_header
from mtbert.errors import DataError, first_of
from mtbert.files import sha256
from mtbert.tasks import FILE, Split, Task, label_text

SPLIT_NAMES: dict[str, Split] = {
    "train": "train", "training": "train", "dev": "dev", "development": "dev", "val": "dev", "valid": "dev",
    "validation": "dev", "eval": "dev", "evaluation": "dev", "test": "test", "testing": "test",
}  # fmt: skip
SPLIT_WORDS = (*SPLIT_NAMES, "holdout")  # which a file's name may hold nowhere else
WORD = re.compile(r"[A-Z]*[^\W\d_A-Z]+|[A-Z]+")  # topicTrain has two
# A file's name without ending: its task, if it names one, its split, and which of several files it is.
STEM = re.compile(rf"(?:(?P<task>.+?)[-_. ])?(?P<split>{'|'.join(SPLIT_NAMES)})(?P<part>-\d+-of-\d+)?", re.I)
SPLIT_FIRST = re.compile(rf"(?P<split>{'|'.join(SPLIT_NAMES)})[-_. ](?P<task>[^\W\d_].*)", re.I)
LABELS = ("label", "gold_label")  # the label's column has such a name, else the task's, else one of OTHER_LABELS
OF_PAIRS = (*SCORES, "is_duplicate")  # beside a pair of sentences, the only one of OTHER_LABELS is surely the label
OTHER_LABELS = ("class", "category", "target", *OF_PAIRS)
IDS = ("", "id", "idx", "index", "guid", "pairid", "unnamed: 0")
PAIRS = (("sentence1", "sentence2"), ("question1", "question2"), ("premise", "hypothesis"), ("text", "text_pair"))
SAMPLED = 2000  # rows that decide what a column holds
FEW = 20  # values of a column of labels, if it has no label's name, and of whole numbers that surely are classes
MOST_CLASSES = 200
HEADED = (".csv", ".tsv")
WHOLE = re.compile(r"-?[0-9]+")
TEMPLATE = "{name}:\n  files: {{{files}}}\n  sentences: [COLUMN]\n  label: COLUMN\n  classes: [ONE, OTHER]"
Records = Sequence[Mapping[str, Any]]  # a file's rows, by column


class AskedError(DataError):
    """Something is in doubt that only the user knows.

    Attributes:
        entries: the tasks as tasks.yaml has them, with ASKED in place of each answer.
        questions: a line each.
    """

    def __init__(self, folder: Path, entries: dict[str, dict[str, Any]], questions: Sequence[str]) -> None:
        self.entries, self.questions = entries, questions
        super().__init__(
            f"{folder / FILE} is written with a question: {first_of(questions, 3)}. Answer it there, in place of "
            f"'{ASKED}', and give this command again"
        )


def tasks_of(folder: Path, encoding: str = "utf-8") -> dict[str, dict[str, Any]]:
    """Return a folder's tasks as tasks.yaml has them, by name.

    Args:
        folder: with files such as topic-train.csv, topic.csv or topic/train.csv.
        encoding: of its text files.

    Raises:
        AskedError: all is understood but what only the user knows.
        DataError: there is no such file, two are of one split, or what a file holds cannot be guessed.
    """
    files_by_task = _files_by_task(folder)
    if not files_by_task:
        others = [*unreadable_files(folder), *deep_files(folder)]
        not_read = f"; not read: {first_of(others, 3)}" if others else ""
        allowed = f"files such as topic-train.csv and topic-dev.csv, or of the endings {', '.join(ENDINGS[1:])}"
        raise DataError(f"{folder} holds no task; allowed: {allowed}{not_read}")
    entries, questions = dict[str, dict[str, Any]](), list[str]()
    for name, files in files_by_task.items():
        entries[name], question = _describe(folder, name, files, encoding)
        if question:
            questions.append(f"{name}.{question.key}: {files['train']}: {question.text}")
    if questions:
        raise AskedError(folder, entries, questions)
    return entries


def _files_by_task(folder: Path) -> dict[str, dict[Split, str]]:
    """Return the file of each split of each task."""
    files_by_task: dict[str, dict[Split, str]] = {}
    spellings: dict[str, str] = {}
    for path in data_files(folder):
        words, split = _words_and_split(folder / path, folder)
        name = _task_name(words)
        of_task = files_by_task.setdefault(name, {})
        spelling = _spelling(words)
        if spellings.setdefault(name, spelling) != spelling:
            both = f"{first_of([*of_task.values()], 1)} and {path} would both be of the task {name}"
            raise DataError(f"{folder}: {both}; a task's name holds a to z and 0 to 9 alone: rename them")
        if other := of_task.get(split):
            parts = STEM.fullmatch(_stem(folder / path))
            remedy = "join them into one file" if parts and parts["part"] else "remove one, or rename it"
            raise DataError(f"{folder}: two files are {split} of {name}: {other} and {path}; {remedy}")
        of_task[split] = path
    _check_copies(folder, files_by_task)
    return files_by_task


def _check_copies(folder: Path, files_by_task: Mapping[str, Mapping[Split, str]]) -> None:
    """Raise DataError where two tasks would have one train, such as `Copy of topic-train.csv`."""
    trains = [files["train"] for files in files_by_task.values() if "train" in files]
    sizes = Counter((folder / name).stat().st_size for name in trains)
    first: dict[str, str] = {}  # by digest
    for name in trains:
        if sizes[(folder / name).stat().st_size] > 1:
            other = first.setdefault(sha256(folder / name), name)
            if other != name:
                raise DataError(f"{folder}: {other} and {name} hold the same; remove the copy")


def data_files(folder: Path) -> list[str]:
    """Return the files in a folder, and one below, that hold rows by their ending."""
    return [path for path, file in _files(folder) if readers.ending(file) in ENDINGS]


def unreadable_files(folder: Path) -> list[str]:
    """Return the files that are named like those of a split, and have another ending, such as topic-dev.json."""
    others = [(path, file) for path, file in _files(folder) if readers.ending(file) not in ENDINGS]
    return [path for path, file in others if _parts(file.stem) or _parts(PurePath(file.stem).stem)]


def deep_files(folder: Path) -> list[str]:
    """Return the files that would hold rows by their ending, and lie below more than one folder."""
    paths = [file.relative_to(folder) for file in sorted(folder.glob("*/*/**/*")) if file.is_file()]
    return [path.as_posix() for path in paths if readers.ending(path) in ENDINGS and "/." not in f"/{path.as_posix()}"]


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        path = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in path.parts):  # such as .ipynb_checkpoints
            yield path.as_posix(), file


def _stem(file: Path) -> str:
    """Return a file's name without the ending that names its format."""
    return PurePath(re.sub(r"\.gz$", "", file.name, flags=re.I)).stem


def _parts(stem: str) -> re.Match[str] | None:
    """Return the task and the split that a name without ending holds; None where it names no split."""
    return STEM.fullmatch(stem) or SPLIT_FIRST.fullmatch(stem)


def _words_and_split(file: Path, folder: Path) -> tuple[str, Split]:
    """Return the words for a file's task, and its split; one that names no split is train.

    A folder below `folder` is called like a split, or like the task of files whose names have none.
    """
    stem = _stem(file)
    parts = _parts(stem)
    parent = file.parent.name if file.parent != folder else ""
    of_folder = SPLIT_NAMES.get(parent.casefold())
    of_name = SPLIT_NAMES[parts["split"].casefold()] if parts else None
    if of_folder and of_name not in (None, of_folder):
        raise DataError(f"{file}: its folder says {of_folder}, its name {of_name}; rename one of them")
    if not of_folder and not of_name:
        _check_without_split(file, folder)
    words = parts["task"] if parts else stem
    return words or (folder.name if of_folder else file.parent.name), of_name or of_folder or "train"


def _check_without_split(file: Path, folder: Path) -> None:
    """Raise DataError where a name that is taken for train's holds a word for a split.

    The name of a folder below `folder` counts where the file's names no task.
    """
    stem = _stem(file)
    holder, words = "its name", WORD.findall(stem)
    of_folder = WORD.findall(file.parent.name) if file.parent != folder else []
    of_task = [*filter(_is_no_split, words)] or [*filter(_is_no_split, of_folder)]
    if not words:
        holder, words = "its folder's name", of_folder
    if of_split := [word for word in words if not _is_no_split(word)]:
        task = "-".join(of_task) or "topic"
        allowed = ", ".join(f"{task}-{split}{file.name[len(stem) :]}" for split in ("train", "dev", "test"))
        fault = f"{holder} holds {of_split[0]}, but which split it is cannot be told"
        raise DataError(f"{file}: {fault}; rename the file, such as {allowed}, or name it in {FILE}")


def _is_no_split(word: str) -> bool:
    return word.casefold() not in SPLIT_WORDS


def _task_name(words: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", words.casefold()).strip("_")
    return name if name[:1].isalpha() else f"task_{name}".rstrip("_")


def _spelling(words: str) -> str:
    """Return the words for a task as they are compared: capitals, and blanks or -_. between them, do not count."""
    return re.sub(r"[-_. ]+", "_", unicodedata.normalize("NFKC", words).casefold()).strip("_")


def _describe(
    folder: Path, name: str, files: dict[Split, str], encoding: str
) -> tuple[dict[str, Any], Question | None]:
    """Return a task as tasks.yaml has it, and what to ask of its labels."""
    if "train" not in files:
        fault = f"{name} has {first_of([*files.values()], 3)}, but no train"
        remedy = f"add {name}-train.csv, or rename it like the train of its task"
        raise DataError(f"{folder}: {fault}; {remedy}{_understood_name(folder, name, files)}")
    file = folder / files["train"]
    rows = [row.values for row in readers.rows_of(file, encoding, name) if not repeats_header(row.values)]
    if not rows:
        raise DataError(f"{file}: it holds no row")
    columns = [*dict.fromkeys(column for row in rows for column in row)]  # in JSON lines, each row has its own
    try:
        label = _label(name, rows, columns)
        sentences = _sentences(rows, columns, label)
        labels = _labels(file, rows, label)
        if readers.ending(file) in HEADED and _looks_like_a_row(name, sentences, label, labels):
            fault = f"line 1 looks like a row, not a header: the column of the label would be called {label}"
            remedy = f"if line 1 is the header, describe it in {FILE}; if not, write one above it, such as text,label"
            raise DataError(f"{file}: {fault}; {remedy}")
        question = labelling.question(label, labels)
        kind = _kind(file, label, labels, question) | _names(file, label, labels)
    except ValueError as error:
        fault = f"its columns are {', '.join(columns)}, and {error}"
        of_splits = ", ".join(f"{split}: {of_split}" for split, of_split in files.items())
        example = TEMPLATE.format(name=name, files=of_splits)
        raise DataError(f"{file}: {fault}; say it in {folder / FILE}:\n{example}") from None
    entry = {"files": dict(files), "sentences": sentences, "label": label, **kind}
    entry |= {"encoding": encoding} if encoding != "utf-8" else {}
    others = [folder / other for split, other in files.items() if split != "train"]
    if column := _id(name, columns, rows, others, encoding):
        entry["id"] = column
    return entry, question


def _understood_name(folder: Path, name: str, files: dict[Split, str]) -> str:
    """Return what the first of a task's files is taken for, and what to call it if it is another's train."""
    split, path = next(iter(files.items()))
    file = folder / path
    stem = _stem(file)
    parts = _parts(stem)
    if not parts or not parts["task"]:
        return ""
    other_name = f"{stem}-train{file.name[len(stem) :]}"
    return f"; {path} is taken for {split} of {name}; if it is train of {_task_name(stem)}, call it {other_name}"


def _label(name: str, rows: Records, columns: Sequence[str]) -> str:
    """Return the column of the label: by its name, or the only one with few values; ValueError where neither helps.

    A column that is called like the task may be its text, such as `review`.
    """
    columns = [column for column in columns if column.casefold() not in IDS]
    called_like_task = [column for column in _called(columns, [name]) if not _is_the_text(rows, columns, column)]
    surely = [*_called(columns, LABELS), *called_like_task]
    if surely:
        return surely[0]
    probably = _called(columns, OTHER_LABELS)
    if _pair(columns) and len(probably) == 1 and _called(probably, OF_PAIRS):
        return probably[0]
    candidates = [column for column in columns if not _is_text(rows, column) and not _counts_rows(rows, column)]
    if probably:
        others = [column for column in candidates if column not in (probably[0], *_pair(columns))]
        rivals = [column for column in others if _may_be_the_label(rows, column, probably[0])]
        candidates = [probably[0], *rivals]
    if len(candidates) != 1:
        hint = f" (it may be {first_of(candidates, 3)})" if candidates else ""
        raise ValueError(f"which of them is the label cannot be told{hint}; allowed: one that is called label")
    return candidates[0]


def _may_be_the_label(rows: Records, column: str, named: str) -> bool:
    """Return whether a column of few values may be the label, though another is called so."""
    values = {label_text(row.get(column)) for row in rows}
    has_many_numbers = len(values) > MOST_CLASSES and all(map(_is_number, values))
    return len(values) > 1 and not has_many_numbers and not _repeats(rows, column, named)


def _called(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns of such names, in the order of names."""
    return [column for name in names for column in columns if column.casefold() == name]


def _labels(file: Path, rows: Records, label: str) -> set[str]:
    """Return a file's labels; DataError where rows have several each."""
    values = [row.get(label) for row in rows]
    if several := sorted(label_text(value) for value in values if _holds_several(value)):
        beginning = f"{file}: its {label} holds {several[0]}"
        if several[0].startswith("{"):
            raise DataError(f"{beginning}, an object; write the label alone in its place, as a word or a number")
        raise DataError(f"{beginning}, several labels a row; {TASK_OF_EACH}")
    return {*map(label_text, values)} - {""}


def _holds_several(value: object) -> bool:
    """Return whether a value is a list or an object, or text that is written like one."""
    return isinstance(value, list | dict) or bool(isinstance(value, str) and SEVERAL.fullmatch(value.strip()))


def _looks_like_a_row(name: str, sentences: Sequence[str], label: str, labels: set[str]) -> bool:
    """Return whether a header seems to be a row: the label's column is a number, or a class beside several words.

    A column may be called like one of its classes, such as `spam`.
    """
    if _is_number(label):
        return True
    is_a_name = label.casefold() in (name, *LABELS, *OTHER_LABELS)
    return label_text(label) in labels and not is_a_name and any(len(column.split()) > 1 for column in sentences)


def _pair(columns: Sequence[str]) -> list[str]:
    """Return two columns that are called like a pair of sentences; none where there are no such two."""
    return next(([*pair] for pair in PAIRS if {*pair} <= {*columns}), [])


def _sentences(rows: Records, columns: Sequence[str], label: str) -> list[str]:
    """Return the column of text, or two that are called like a pair; ValueError where there is none, or more."""
    columns = [column for column in columns if column != label and column.casefold() not in IDS]
    if pair := _pair(columns):
        return pair
    texts = [column for column in columns if _is_text(rows, column) and not _repeats(rows, column, label)]
    if not texts:
        texts = columns  # a handful of rows has few values in each
    if len(texts) != 1:
        raise ValueError("which of them are the one or two sentences cannot be told")
    return texts


def _repeats(rows: Records, column: str, label: str) -> bool:
    """Return whether a column is the label in other words: each of its values goes with one label, and the reverse."""
    pairs = {(str(row.get(column)), label_text(row.get(label))) for row in rows}
    values, labels = ({*side} for side in zip(*pairs, strict=True))
    return len(pairs) == len(values) == len(labels) <= min(MOST_CLASSES, len(rows) / 2)


def _is_text(rows: Records, column: str, few: int = FEW) -> bool:
    """Return whether a column holds text: words, and more than a few of them."""
    values = [str(row.get(column)) for row in rows[:SAMPLED]]
    distinct = {*values}
    return len(distinct) > min(few, len(values) / 2) and not all(map(_is_number, distinct))


def _is_the_text(rows: Records, columns: Sequence[str], column: str) -> bool:
    """Return whether a column holds text: many words, or words of more kinds than each other column holds."""
    if _is_text(rows, column, MOST_CLASSES):
        return True
    distinct = {other: {str(row.get(other)) for row in rows} for other in columns}
    others = [len(values) for other, values in distinct.items() if other != column]
    has_most = max(others, default=len(rows)) < len(distinct[column])
    return has_most and not all(map(_is_number, distinct[column]))


def _counts_rows(rows: Records, column: str) -> bool:
    """Return whether a column holds another whole number in each row, as a count of rows or an id does."""
    values = [label_text(row.get(column)) for row in rows]
    return len({*values}) == len(values) and all(WHOLE.fullmatch(value) for value in values)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _kind(file: Path, label: str, labels: set[str], question: Question | None) -> dict[str, Any]:
    """Return the entries of tasks.yaml about a task's labels: a score's range, or the classes in order, and a metric.

    What is asked has ASKED.

    DataError where they are neither, ValueError where there are too many: another column may be the label.
    """
    beginning = f"{file}: its {label} holds"
    if len(labels) < 2:
        raise DataError(f"{beginning} {', '.join(labels) or 'nothing'}; allowed: two labels or more")
    if why := labelling.fault(label, labels):
        raise DataError(f"{beginning} {why}, or list its `classes` in {FILE}")
    if question and question.key == "classes":
        return {"classes": ASKED} | ({"metric": "f1"} if len(labels) > 2 else {})
    doubted = question.doubted if question else ()
    numbers = sorted((label for label in labels if _is_number_here(label)), key=float)
    words = sorted(labels.difference(numbers))
    scores = [float(number) for number in numbers if number not in doubted]
    if {*words} <= {*doubted} and _are_scores(label, scores):
        score = {"score": [math.floor(scores[0]), math.ceil(scores[-1])]}
        return score | ({"left_out": ASKED} if doubted else {})
    numbers = [number for number in numbers if NUMBER.fullmatch(number)]
    words = sorted(labels.difference(numbers))
    if words and len(numbers) > labelling.FEW:
        remedy = f"correct it, or say in {FILE} its `classes`, or its `score` and what is `left_out`"
        raise DataError(f"{beginning} numbers such as {min(numbers)}, and {words[0]!r}; {remedy}")
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"{label} holds {len(labels):,} words; allowed: at most {MOST_CLASSES} classes")
    entry: dict[str, Any] = {"classes": [*map(_in_yaml, sorted(labels))] if words else [*map(_whole, numbers)]}
    if len(labels) > 2:
        entry["metric"] = "f1"
    return entry


def _names(file: Path, label: str, labels: set[str]) -> dict[str, Any]:
    """Return the entries of classes that a Parquet file names: all of them, and -1 left out, as `datasets` does."""
    names = readers.class_names(file, label) if readers.ending(file) == ".parquet" else []
    numbers = [str(number) for number in range(len(names))]
    if len(names) < 2 or not labels <= {*numbers, "-1"}:
        return {}
    left_out = {"left_out": [-1]} if "-1" in labels else {}
    return {"classes": [*range(len(names))], "names": names} | left_out


def _is_number_here(label: str) -> bool:
    """Return whether a label may be a score: a number, with or without a sign."""
    return bool(NUMBER.fullmatch(label.removeprefix("+"))) and _is_number(label)


def _are_scores(label: str, numbers: list[float]) -> bool:
    """Return whether labels that are numbers, in their order, are scores, not classes."""
    if label.casefold() in SCORES or not all(number.is_integer() for number in numbers):
        return True
    has_gap = len(numbers) <= numbers[-1] - numbers[0]
    return len(numbers) > MOST_CLASSES or (len(numbers) > FEW and has_gap)


def doubt(task: Task, labels: set[float]) -> str:
    """Return what to check of a guessed task whose labels are many whole numbers; empty where nothing is in doubt."""
    if task.label.casefold() in SCORES or not FEW < len(labels) <= MOST_CLASSES:
        return ""
    beginning = f"its {task.label} holds {len(labels)} whole numbers, which are taken for"
    if task.kind == "score":
        is_whole = all(label.is_integer() for label in labels)
        return f"{beginning} a score; if they are classes, write `classes` in place of `score`" if is_whole else ""
    numbers = [*filter(NUMBER.fullmatch, task.class_labels)]
    if len(numbers) < task.classes:
        return ""
    score = f"`score: [{numbers[0]}, {numbers[-1]}]`"
    return f"{beginning} classes; if they are a score, write {score} in place of `classes` and `metric`"


def _whole(number: str) -> int | str:
    """Return a number that is a class as YAML has it, such as 1, but `1.00` as it is."""
    return int(number) if label_text(float(number)) == number else number


def _in_yaml(word: str) -> str | bool:
    """Return a label as YAML has it."""
    return word == "true" if word in ("true", "false") else word


def _id(name: str, columns: Sequence[str], rows: Records, others: Sequence[Path], encoding: str) -> str | None:
    """Return the column of ids: the first of such a name that all files have, with another value in each row of a file.

    Args:
        name: the task's.
        columns: those of train.
        rows: those of train.
        others: the files of dev and test.
        encoding: theirs.
    """
    called_so = [column for column in columns if column.casefold() in IDS[1:]]
    rows_by_file = [rows]
    for file in others if called_so else ():
        rows_by_file.append([row.values for row in readers.rows_of(file, encoding, name)])
    for column in called_so:
        if all(_are_ids([row.get(column) for row in of_file]) for of_file in rows_by_file):
            return column
    return None


def _are_ids(values: Sequence[Any]) -> bool:
    """Return whether values are text or whole numbers, and none comes twice."""
    texts = [str(value) if isinstance(value, int) else value for value in values]
    return len({*map(str, texts)}) == len(texts) and not any(readers.fault_of_text("id", text) for text in texts)
