"""Tell from a folder's files which tasks it holds, and which file is which split of a task."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath

from mtbert.data import readers
from mtbert.data.readers import ENDINGS
from mtbert.errors import DataError, first_of
from mtbert.files import sha256
from mtbert.tasks import FILE, OTHERS_FOLDER, Split

SPLIT_NAMES: dict[str, Split] = {
    "train": "train", "training": "train", "dev": "dev", "development": "dev", "val": "dev", "valid": "dev",
    "validation": "dev", "eval": "dev", "evaluation": "dev", "test": "test", "testing": "test",
}  # fmt: skip
SPLIT_WORDS = (*SPLIT_NAMES, "holdout")  # which a file's name may hold nowhere else
WORD = re.compile(r"[A-Z]*[^\W\d_A-Z]+|[A-Z]+")  # topicTrain has two
# A file's name without ending: its task, if it names one, its split, and which of several files it is.
STEM = re.compile(rf"(?:(?P<task>.+?)[-_. ])?(?P<split>{'|'.join(SPLIT_NAMES)})(?P<part>-\d+-of-\d+)?", re.I)
SPLIT_FIRST = re.compile(rf"(?P<split>{'|'.join(SPLIT_NAMES)})[-_. ](?P<task>[^\W\d_].*)", re.I)


def files_by_task(folder: Path, without: Collection[str]) -> dict[str, dict[Split, str]]:
    """Return the file below the folder of each split of each task, by the task's name.

    Args:
        folder: with files such as topic-train.csv, topic.csv or topic/train.csv.
        without: files below the folder that do not count.

    Raises:
        DataError: two files are of one split, or which split a file is cannot be told.
    """
    files_by_task: dict[str, dict[Split, str]] = {}
    spellings: dict[str, str] = {}
    for shown in _data_files(folder):
        if shown in without:
            continue
        words, split = _words_and_split(folder / shown, folder)
        name = task_name(words)
        of_task = files_by_task.setdefault(name, {})
        spelling = _spelling(words)
        if spellings.setdefault(name, spelling) != spelling:
            both = f"{first_of([*of_task.values()], 1)} and {shown} would both be of the task {name}"
            raise DataError(f"{folder}: {both}; a task's name holds a to z and 0 to 9 alone: rename them")
        if other := of_task.get(split):
            parts = STEM.fullmatch(_stem(folder / shown))
            remedy = "join them into one file" if parts and parts["part"] else "remove one, or rename it"
            raise DataError(f"{folder}: two files are {split} of {name}: {other} and {shown}; {remedy}")
        of_task[split] = shown
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


def _data_files(folder: Path) -> list[str]:
    """Return the files in a folder, and one below, that hold rows by their ending."""
    return [shown for shown, file in _files(folder) if readers.ending(file) in ENDINGS]


def unreadable_files(folder: Path) -> list[str]:
    """Return the files that are named like those of a split, and have another ending, such as topic-dev.json."""
    others = [(shown, file) for shown, file in _files(folder) if readers.ending(file) not in ENDINGS]
    return [shown for shown, file in others if _parts(file.stem) or _parts(PurePath(file.stem).stem)]


def deep_files(folder: Path) -> list[str]:
    """Return the files that would hold rows by their ending, and lie below more than one folder."""
    paths = [file.relative_to(folder) for file in sorted(folder.glob("*/*/**/*")) if file.is_file()]
    paths = [path for path in paths if path.parts[0] != OTHERS_FOLDER]
    return [path.as_posix() for path in paths if readers.ending(path) in ENDINGS and "/." not in f"/{path.as_posix()}"]


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        path = file.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in path.parts)  # such as .ipynb_checkpoints
        if path.parent.name == OTHERS_FOLDER or is_hidden:
            continue
        if file.is_symlink() and not file.exists() and readers.ending(file) in ENDINGS:
            fault = f"{file} is a link to {file.readlink()}, which is not there"
            raise DataError(f"{fault}; fetch the file, or remove the link")
        if file.is_file():
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
    return _words(file, folder), of_name or of_folder or "train"


def _words(file: Path, folder: Path) -> str:
    """Return the words for a file's task: of its name, else of its folder."""
    stem = _stem(file)
    parts = _parts(stem)
    words = parts["task"] if parts else stem
    is_in_split = file.parent != folder and file.parent.name.casefold() in SPLIT_NAMES
    return words or (folder.name if is_in_split else file.parent.name)


def name_of_files(folder: Path, shown: str) -> str:
    """Return the name of a task that has a file below the folder."""
    return task_name(_words(folder / shown, folder))


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


def task_name(words: str) -> str:
    """Return the name of a task that is called by these words: a to z and 0 to 9, parted by _."""
    name = re.sub(r"[^a-z0-9]+", "_", words.casefold()).strip("_")
    return name if name[:1].isalpha() else f"task_{name}".rstrip("_")


def _spelling(words: str) -> str:
    """Return the words for a task as they are compared: capitals, and blanks or -_. between them, do not count."""
    return re.sub(r"[-_. ]+", "_", unicodedata.normalize("NFKC", words).casefold()).strip("_")


def other_name(folder: Path, name: str, files: Mapping[Split, str]) -> str:
    """Return what the first of a task's files is taken for, and what to call it if it is another's train."""
    split, shown = next(iter(files.items()))
    file = folder / shown
    stem = _stem(file)
    parts = _parts(stem)
    if not parts or not parts["task"]:
        return ""
    other_name = f"{stem}-train{file.name[len(stem) :]}"
    return f"; {shown} is taken for {split} of {name}; if it is train of {task_name(stem)}, call it {other_name}"
