"""Draft tasks.yaml: a folder's tasks as its files tell them, with `?` where only the user knows.

A task that tasks.yaml has stays as it is. Files that it does not name are drafted beside it.
"""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from mtbert import files, tasks
from mtbert.config.techniques import NAMES
from mtbert.data.readers import ENDINGS
from mtbert.errors import DataError, first_of
from mtbert.study import naming, task_drafts
from mtbert.study.classes import Entry
from mtbert.study.task_drafts import TaskDraft
from mtbert.tasks.reading import ASKED, COLUMNS, IGNORE, TAKEN, checked_ignored
from mtbert.tasks.task import LONGEST_NAME, Split

ENCODING = "utf-8"  # if none is given
ABOUT = """# What `mtbert study` understood of these files. More keys, such as `matters` and `show_text`: docs/own.md
"""
OPEN = "# mtbert asks: "  # begins a question in tasks.yaml
RESERVED = (*NAMES, *TAKEN, *COLUMNS)  # names of something else in settings or tables
OF_LABELS = ("classes", "score")  # a task has one of them


class Draft(NamedTuple):
    """What tasks.yaml lacks.

    Attributes:
        changes: values by dotted key, such as a whole task by its name, or `topic.files`.
        replaced: entries of tasks.yaml that name several labels, in whose place is a task for each.
        tasks: names of the tasks that the files tell, whole or in part; all tasks, where tasks.yaml was written with a
            question, since no study has gone on to them yet.
        questions: a line each, about a value that is ASKED.
    """

    changes: dict[str, Any]
    replaced: list[str]
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
    result = Draft({}, [], [], [])
    for name, by_split in new_files.items():
        for owner in _owners(folder, name, entries):
            more = _joined(folder, owner, _files(entries[owner]), by_split)
            entries[owner] = entries[owner] | {"files": more}
            result.changes[f"{owner}.files"] = more
    drafts_by_name = _drafts(folder, entries, new_files, encoding)
    lists = [name for name, entry in entries.items() if name in drafts_by_name and isinstance(entry["label"], list)]
    for name, draft in _named(folder, drafts_by_name, lists, {*entries} - {*lists}).items():
        result.changes[name] = draft.entry
        result.tasks.append(name)
        if draft.question:
            train = draft.entry["files"]["train"]
            result.questions.append(f"{name}.{draft.question.key}: {train}: {draft.question.text}")
    result.replaced.extend(name for name in lists if name not in result.changes)
    if _questions_in(folder / tasks.FILE):
        result.tasks.extend(name for name in entries if name not in {*result.tasks, *result.replaced})
    return result


def _drafts(
    folder: Path, entries: Mapping[str, Entry], new_files: Mapping[str, Mapping[Split, str]], encoding: str
) -> dict[str, list[TaskDraft]]:
    """Return what files tell that are of no task yet, and of tasks whose entries leave labels to the files, by name."""
    drafts_by_name: dict[str, list[TaskDraft]] = {}
    remedy = f"; if it is the file of no task, list it in `{IGNORE}` of {tasks.FILE}" if entries else ""
    for name, by_split in new_files.items():
        if not _owners(folder, name, entries):
            with task_drafts.with_remedy(remedy):
                drafts_by_name[name] = task_drafts.describe(folder, name, {"files": dict(by_split)}, encoding)
    for name, entry in entries.items():
        if _lacks_labels(entry):
            drafts_by_name[name] = task_drafts.describe(folder, name, entry, entry.get("encoding", ENCODING))
    return drafts_by_name


def _owners(folder: Path, name: str, entries: Mapping[str, Entry]) -> list[str]:
    """Return the tasks of tasks.yaml that a file of this name is of: the one that is called so, or all of its train."""
    if name in entries:
        return [name]
    trains = {task: _files(entry).get("train", "") for task, entry in entries.items()}
    return [task for task, train in trains.items() if train and naming.name_of_files(folder, train) == name]


def _named(
    folder: Path, drafts_by_name: Mapping[str, Sequence[TaskDraft]], lists: Collection[str], taken: Collection[str]
) -> dict[str, TaskDraft]:
    """Return drafts of tasks by the names of these.

    Where a file holds one task, it is called like the file; each of several is called like the column of its label,
    with the file's name before it where something else is called so.

    Args:
        folder: that of the files.
        drafts_by_name: the drafts of the tasks that the files of each name hold.
        lists: the names of entries that list their labels.
        taken: names of tasks that tasks.yaml has, and keeps.

    Raises:
        DataError: two tasks would have one name, or one that has another meaning.
    """
    wanted: list[tuple[str, str, TaskDraft]] = []  # names of the files and of the task
    for name, drafts in drafts_by_name.items():
        for draft in drafts:
            label = draft.entry["label"]
            is_of_column = (len(drafts) > 1 or name in lists) and isinstance(label, str) and label != ASKED
            wanted.append((name, naming.task_name(label) if is_of_column else name, draft))
    counts = Counter(task for _, task, _ in wanted)
    named: dict[str, TaskDraft] = {}
    for name, task, draft in wanted:
        if task != name and (counts[task] > 1 or task in (*taken, *RESERVED)):
            task = f"{name}_{task}"
        file = draft.entry["files"]["train"]
        if task in named:
            fault = f"columns {named[task].entry['label']} and {draft.entry['label']} would both be the task {task}"
            raise DataError(
                f"{folder / file}: {fault}; a task's name holds a to z and 0 to 9 alone: rename one of them"
            )
        if task not in taken:
            source = file if task == name else f"column {draft.entry['label']} of {file}"
            _check_name(folder, task, source)
        named[task] = draft
    return named


@contextlib.contextmanager
def with_draft(folder: Path, draft: Draft) -> Iterator[None]:
    """Write the draft into tasks.yaml, without earlier questions; if the block raises, the file is as it was.

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
        if before is None:
            file.unlink(missing_ok=True)
        elif file.read_bytes() != before:
            file.write_bytes(before)
        raise
    _remove_questions(file)


def _questions_in(file: Path) -> list[str]:
    """Return the lines of tasks.yaml that ask something; none where there is no such file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return [line for line in lines if line.startswith(OPEN)]


def _remove_questions(file: Path) -> None:
    """Remove the lines that asked something, once it is answered."""
    if _questions_in(file):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        files.write_text(file, "".join(line for line in lines if not line.startswith(OPEN)))


def _entries(folder: Path) -> tuple[dict[str, Entry], set[str]]:
    """Return the tasks of tasks.yaml as it has them, and the files that it ignores; `tasks.read` checks both later."""
    file = folder / tasks.FILE
    if not file.is_file():
        _check_spelling(folder)
        return {}, set()
    content = files.read_yaml(file, "correct it")
    if not isinstance(content, dict) or not content:
        tasks.read(file)  # which says what is wrong
    entries = {str(name): entry for name, entry in content.items() if name != IGNORE and isinstance(entry, dict)}
    return entries, checked_ignored(file, content.get(IGNORE, []))


def _check_spelling(folder: Path) -> None:
    """Raise DataError where tasks.yaml has another name that nobody reads, such as tasks.yml."""
    for file in folder.iterdir():
        if file.name.casefold() in (tasks.FILE, tasks.FILE.replace("yaml", "yml")):
            raise DataError(f"{file} is not read; call it {tasks.FILE}")


def _files(entry: Entry) -> dict[Any, str]:
    """Return the files that an entry of tasks.yaml names, by split."""
    by_split = entry.get("files")
    if not isinstance(by_split, dict):
        return {}
    return {split: PurePath(str(name)).as_posix() for split, name in by_split.items()}


def _lacks_labels(entry: Entry) -> bool:
    """Return whether an entry names labels and texts, and leaves its classes or score to the files."""
    if isinstance(entry.get("label"), list) and entry.get("several"):
        return False  # columns of 0 and 1, which name the labels
    has_question = ASKED in [entry.get(key) for key in ("label", "sentences", "separator", "several")]
    has_columns = isinstance(entry.get("label"), str | list) and isinstance(entry.get("sentences"), list)
    return has_columns and not has_question and "train" in _files(entry) and not any(key in entry for key in OF_LABELS)


def _joined(folder: Path, name: str, of_entry: Mapping[Any, str], more: Mapping[Any, str]) -> dict[Any, str]:
    """Return the files of a task in tasks.yaml, and more of them; DataError for two of one split."""
    for split, file in more.items():
        if split in of_entry:
            remedy = f"list it in `{IGNORE}` of {tasks.FILE}, or rename it"
            raise DataError(f"{folder}: {file} would be {split} of {name}, as {of_entry[split]} is; {remedy}")
    return {**of_entry, **more}


def _check_name(folder: Path, name: str, source: str) -> None:
    """Raise DataError where a task of this name would be called like something else, or its name is too long.

    `source` says in messages what the name comes from, such as `column mood of a.csv`.
    """
    if name in RESERVED:
        fault = f"a task would be called {name}, as something else in settings or tables is"
        raise DataError(f"{folder}: {fault}; rename {source}")
    if len(name) > LONGEST_NAME:
        fault = f"a task would be called {name}, which is {len(name)} characters; allowed: at most {LONGEST_NAME}"
        raise DataError(f"{folder}: {fault}; rename {source}")


def _no_task(folder: Path) -> DataError:
    others = [*naming.unreadable_files(folder), *naming.deep_files(folder)]
    not_read = f"; not read: {first_of(others, 3)}" if others else ""
    allowed = f"files such as topic-train.csv and topic-dev.csv, or of the endings {', '.join(ENDINGS[1:])}"
    return DataError(f"{folder} holds no task; allowed: {allowed}{not_read}")


def _write(file: Path, draft: Draft) -> None:
    """Write a draft into tasks.yaml, with a comment for each question; DataError where it cannot be written."""
    comments = "".join(f"{OPEN}{question}\n" for question in draft.questions)
    try:
        if file.is_file():
            files.edit_yaml(file, draft.changes, draft.replaced)
        else:
            files.write_yaml(file, draft.changes, in_order=True)
            comments = ABOUT + comments
        files.write_text(file, comments + file.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = f"copy the folder to where you may write, such as `cp -r {file.parent} .`, and study the copy"
        raise DataError(f"{file} cannot be written: {error.strerror}; {remedy}") from None
