"""Draft tasks.yaml: a folder's tasks as its files tell them, with `?` where only the user knows.

A task that tasks.yaml has stays as it is. Files that it does not name are drafted beside it.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from mtbert import files, tasks
from mtbert.config.techniques import NAMES
from mtbert.data.readers import ENDINGS
from mtbert.errors import DataError, first_of
from mtbert.study import guessing, naming
from mtbert.study.guessing import Entry
from mtbert.tasks.reading import ASKED, COLUMNS, IGNORE, TAKEN

ENCODING = "utf-8"  # if none is given
ABOUT = """# What `mtbert study` understood of these files. More keys, such as `matters` and `show_text`: docs/own.md
"""
OF_LABELS = ("classes", "score")  # a task has one of them


class Draft(NamedTuple):
    """What tasks.yaml lacks.

    Attributes:
        changes: values by dotted key, such as a whole task by its name, or `topic.files`.
        tasks: names of the tasks that the files tell, whole or in part.
        questions: a line each, about a value that is ASKED.
    """

    changes: dict[str, Any]
    tasks: list[str]
    questions: list[str]


def draft(folder: Path, encoding: str = ENCODING) -> Draft:
    """Return what a folder's files tell that its tasks.yaml does not say.

    Args:
        folder: with files such as topic-train.csv, topic.csv or topic/train.csv.
        encoding: of the text files that tasks.yaml does not name.

    Raises:
        DataError: there is no task, two files are of one split, or what a file holds cannot be read.
    """
    entries, files_to_ignore = _entries(folder)
    files_of_entries = {name for entry in entries.values() for name in _files(entry).values()}
    new_files = naming.files_by_task(folder, files_of_entries | files_to_ignore)
    if not new_files and not entries:
        raise _no_task(folder)
    result = Draft({}, [], [])
    for name, by_split in new_files.items():
        if name in entries:
            by_split = _joined(folder, name, _files(entries[name]), by_split)
            entries[name] = entries[name] | {"files": by_split}
            result.changes[f"{name}.files"] = by_split
        else:
            _check_name(folder, name, by_split)
            with _remedy_where(bool(entries)):
                _add(result, folder, name, {"files": dict(by_split)}, encoding)
    for name, entry in entries.items():
        if _lacks_labels(entry):
            _add(result, folder, name, entry, entry.get("encoding", ENCODING))
    return result


@contextlib.contextmanager
def with_draft(folder: Path, draft: Draft) -> Iterator[None]:
    """Write the draft into tasks.yaml; if the block raises, the file is as it was.

    Raises:
        DataError: the file cannot be written; or something is asked, and then the file stays as it is written.
    """
    file = folder / tasks.FILE
    before = file.read_bytes() if file.is_file() else None
    if draft.changes:
        _write(file, draft)
    if draft.questions:
        raise DataError(
            f"{file} is written with a question: {first_of(draft.questions, 3)}. Answer it there, in place of "
            f"'{ASKED}', and give this command again"
        )
    try:
        yield
    except BaseException:
        if draft.changes and before is None:
            file.unlink(missing_ok=True)
        elif draft.changes and before is not None:
            file.write_bytes(before)
        raise


def _entries(folder: Path) -> tuple[dict[str, Entry], set[str]]:
    """Return the tasks of tasks.yaml as it has them, and the files that it ignores; `tasks.read` checks both later."""
    file = folder / tasks.FILE
    if not file.is_file():
        return {}, set()
    content = files.read_yaml(file, "correct it")
    if not isinstance(content, dict) or not content:
        tasks.read(file)  # which says what is wrong
    entries = {str(name): entry for name, entry in content.items() if name != IGNORE and isinstance(entry, dict)}
    files_to_ignore = content.get(IGNORE)
    if not isinstance(files_to_ignore, list):
        return entries, set()
    return entries, {PurePath(name).as_posix() for name in files_to_ignore if isinstance(name, str)}


@contextlib.contextmanager
def _remedy_where(has_tasks: bool) -> Iterator[None]:
    """Add to a DataError what to do about a file beside those of tasks.yaml that is no task's."""
    try:
        yield
    except DataError as error:
        remedy = f"; if it is the file of no task, list it in `{IGNORE}` of {tasks.FILE}" if has_tasks else ""
        raise DataError(f"{error}{remedy}") from None


def _files(entry: Entry) -> dict[Any, str]:
    """Return the files that an entry of tasks.yaml names, by split."""
    by_split = entry.get("files")
    if not isinstance(by_split, dict):
        return {}
    return {split: PurePath(str(name)).as_posix() for split, name in by_split.items()}


def _lacks_labels(entry: Entry) -> bool:
    """Return whether an entry names a label and texts, and leaves its classes or score to the files."""
    has_question = ASKED in (entry.get("label"), entry.get("sentences"))
    has_columns = isinstance(entry.get("label"), str) and isinstance(entry.get("sentences"), list)
    return has_columns and not has_question and "train" in _files(entry) and not any(key in entry for key in OF_LABELS)


def _add(result: Draft, folder: Path, name: str, entry: Entry, encoding: str) -> None:
    """Add what a task's train tells to a draft."""
    task, question = guessing.describe(folder, name, entry, encoding)
    result.changes[name] = task
    result.tasks.append(name)
    if question:
        result.questions.append(f"{name}.{question.key}: {task['files']['train']}: {question.text}")


def _joined(folder: Path, name: str, of_entry: Mapping[Any, str], more: Mapping[Any, str]) -> dict[Any, str]:
    """Return the files of a task in tasks.yaml, and more of them; DataError for two of one split."""
    for split, file in more.items():
        if split in of_entry:
            remedy = f"list it in `{IGNORE}` of {tasks.FILE}, or rename it"
            raise DataError(f"{folder}: {file} would be {split} of {name}, as {of_entry[split]} is; {remedy}")
    return {**of_entry, **more}


def _check_name(folder: Path, name: str, by_split: Mapping[Any, str]) -> None:
    """Raise DataError where a task of this name would be called like something else."""
    if name in (*NAMES, *TAKEN, *COLUMNS):
        fault = f"a task would be called {name}, as something else in settings or tables is"
        raise DataError(f"{folder}: {fault}; rename {next(iter(by_split.values()))}")


def _no_task(folder: Path) -> DataError:
    others = [*naming.unreadable_files(folder), *naming.deep_files(folder)]
    not_read = f"; not read: {first_of(others, 3)}" if others else ""
    allowed = f"files such as topic-train.csv and topic-dev.csv, or of the endings {', '.join(ENDINGS[1:])}"
    return DataError(f"{folder} holds no task; allowed: {allowed}{not_read}")


def _write(file: Path, draft: Draft) -> None:
    """Write a draft into tasks.yaml, with a comment for each question; DataError where it cannot be written."""
    comments = "".join(f"# {question}\n" for question in draft.questions)
    try:
        if file.is_file():
            files.edit_yaml(file, draft.changes)
        else:
            files.write_yaml(file, draft.changes, in_order=True)
            comments = ABOUT + comments
        files.write_text(file, comments + file.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = f"copy the folder to where you may write, such as `cp -r {file.parent} .`, and study the copy"
        raise DataError(f"{file} cannot be written: {error.strerror}; {remedy}") from None
