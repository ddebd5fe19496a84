"""What `mtbert study` does: understand a folder of one's own, print what it is and takes, and set params.yaml to it."""

from collections.abc import Sequence
from pathlib import Path

from mtbert import tasks
from mtbert.baselines import others
from mtbert.config.techniques import NAMES
from mtbert.data import drawing
from mtbert.errors import DataError
from mtbert.study import drafting, folder_notes, folds, naming, table, task_drafts, understanding
from mtbert.study.selecting import StudyOptions, most_refused, select
from mtbert.study.understanding import FolderTask
from mtbert.tasks import Task


def run(folder: Path, options: StudyOptions, encoding: str, file: Path) -> None:
    """Print what the folder's tasks are, and how long they take; write its tasks.yaml and set params.yaml.

    Raises:
        DataError: what is in the folder cannot be understood, or something is asked in tasks.yaml.
        SettingsError: its tasks.yaml, or the settings, are faulty. Unless something is asked, both files are as they
            were.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; allowed: one that holds files such as topic-train.csv")
    share = most_refused(file)
    task_file = folder / tasks.FILE
    is_new = not task_file.is_file()
    draft = drafting.draft(folder, encoding)
    with drafting.with_draft(folder, draft):
        tasks_by_name = _read(task_file, encoding)
        lines_on_folds = folds.add(task_file, tasks_by_name, draft.tasks, share)
        tasks_by_name = _read(task_file, encoding)
        own = [task for task in tasks_by_name.values() if not task.serves]
        splits = drawing.Splits(folder, tasks_by_name)
        folder_tasks = [_understood(splits, task, task.name in draft.tasks, share) for task in own]
        print(table.in_lines(folder_tasks))
        predictions = others.read(folder, tasks_by_name, understanding.rows_of_predictions(folder_tasks))
        lines = [
            *folder_notes.of_files(folder, tasks_by_name),
            *lines_on_folds,
            *(note for of_task in folder_tasks for note in of_task.notes),
            *folder_notes.between_tasks(splits, folder_tasks),
            *others.in_lines(predictions, tasks_by_name),
        ]
        print("\n".join(["", *lines]))
        models = select(file, folder, options, folder_tasks)
    print(
        f"\n{task_file} {_state(is_new, [*draft.changes])}.\n{file} is set to {models} for these tasks; "
        "`make reproduce` trains them."
    )


def _read(file: Path, encoding: str) -> dict[str, Task]:
    """Return the tasks of tasks.yaml; DataError where one has another encoding, or a technique's name."""
    tasks_by_name = tasks.read(file)
    if names := [name for name in tasks_by_name if name in NAMES]:
        raise DataError(f"{file}: {names[0]} is a technique's name; allowed: any other name")
    for name, task in tasks_by_name.items():
        if encoding not in (drafting.ENCODING, task.encoding):
            fault = f"--encoding is {encoding}, and {file} says that {name} is {task.encoding}"
            raise DataError(f"{fault}; set `encoding` there, and leave --encoding out")
    return tasks_by_name


def _understood(splits: drawing.Splits, task: Task, is_new: bool, most_refused: float) -> FolderTask:
    """Read a task's rows; a DataError says how to leave out a column that was taken for one of several labels."""
    of_file = splits.tasks_of_file(task) if is_new else []
    others = [other.label for other in of_file if other is not task]
    name = naming.name_of_files(splits.data_dir, task.files["train"])
    with task_drafts.with_remedy(task_drafts.how_to_leave_out(task.label, name, task.files, task.sentences, others)):
        return understanding.understand(splits, task, is_new, most_refused)


def _state(is_new: bool, changes: Sequence[str]) -> str:
    """Return what became of tasks.yaml."""
    if is_new:
        return "is written: correct it where it is wrong, and give this command again"
    if changes:
        return f"has new entries ({', '.join(changes)}): correct it where it is wrong, and give this command again"
    return "is read"
