"""Stale models: those that were made from other rows or classes than a build folder has now.

`dvc repro plan preprocess` changes rows and classes, and makes no model again. A model's predictions are joined to the
rows by id, and a row without an id is called by its line, so that an id alone does not prove that the row is the same.
Whoever puts predictions beside the rows of now asks here first.

A model's inputs.json has the digest of each file of examples, and what its tasks were. Only what a prediction means is
compared: a task's title, margin or metric may change.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files, layout
from mtbert.errors import DataError, first_of
from mtbert.provenance import inputs
from mtbert.provenance.inputs import Inputs
from mtbert.provenance.parameters import setting_text
from mtbert.tasks import dump_task, read_build

FIELDS = ("classes", "labels", "several", "lowest", "highest", "folds")  # of a task: what its numbers mean
SHOWN = 3  # causes in a message


class InputKind(StrEnum):
    """What an input is of a training."""

    SETTING = "setting"
    TEACHER = "teacher"
    DATA = "data"
    WEIGHTS = "starting weights"
    CODE = "code"
    MACHINE = "machine"


class Cause(NamedTuple):
    """An input that has changed.

    Attributes:
        before, now: its value, or a file's digest; None if there was none, or is none.
    """

    kind: InputKind
    name: str
    before: str | None
    now: str | None


def in_words(cause: Cause) -> str:
    """Return a cause such as `pals.dim 204 -> 276` or `code training/loop.py changed`."""
    if cause.kind in (InputKind.SETTING, InputKind.MACHINE):
        return f"{cause.name} {cause.before or 'not set'} -> {cause.now or 'not set'}"
    change = "changed"
    if cause.before is None:
        change = "added"
    elif cause.now is None:
        change = "removed"
    name = cause.name.removeprefix("data/") if cause.kind == InputKind.DATA else cause.name
    if cause.kind == InputKind.TEACHER:
        name = Path(name).stem
    return f"{cause.kind} {name} {change}"


class Present:
    """The examples and tasks that a build folder has now; each file is read once."""

    def __init__(self, build: Path) -> None:
        self._build, self._tasks = build, read_build(build)
        self._digests: dict[str, str | None] = {}

    def changes(self, model: Path, task: str | None = None) -> list[Cause]:
        """Return in what a model's examples and classes differ from those of now.

        Args:
            model: its folder, which may lie elsewhere.
            task: the task whose dev is asked for; None for all examples and tasks that the model was made from.

        Returns:
            Files first, then tasks; nothing where nobody knows what the model was made from.
        """
        made_from = inputs.of_model(model)
        if made_from is None:
            return []
        return [*self._changed_files(made_from, task), *self._changed_tasks(made_from.settings, task)]

    def _changed_files(self, made_from: Inputs, task: str | None) -> Iterator[Cause]:
        seal = f"data/{layout.DIGESTS}"  # in place of single files, in a merge or baseline of an earlier version
        asked = None if task is None else {seal, layout.examples(Path("data"), task, "dev").as_posix()}
        for name, before in made_from.files.items():
            if not inputs.is_of_data(name) or (asked is not None and name not in asked):
                continue
            now = self._digest(name)
            if now != before:
                yield Cause(InputKind.DATA, name, before, now)

    def _digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file by its path below the build folder; None where it is not there."""
        if name not in self._digests:
            file = self._build / name
            self._digests[name] = files.sha256(file) if file.is_file() else None
        return self._digests[name]

    def _changed_tasks(self, settings: Mapping[str, Any], asked: str | None) -> Iterator[Cause]:
        described: Mapping[str, Mapping[str, Any]] = settings.get("described") or {}
        for name, before in described.items():
            if asked not in (None, name):
                continue
            now = dump_task(self._tasks[name]) if name in self._tasks else {}
            for field in FIELDS if now else FIELDS[:1]:
                if before.get(field) != now.get(field):
                    yield Cause(InputKind.SETTING, f"{name}.{field}", _text(before, field), _text(now, field))


def _text(described: Mapping[str, Any], field: str) -> str | None:
    """Return a field of a task as text; None where it is at its default."""
    return setting_text(described[field]) if field in described else None


def changes_in_words(causes: Sequence[Cause]) -> str:
    """Return the first causes, each once, such as `data dup/dev.parquet changed, urgent.folds 0 -> 5`."""
    return first_of([*dict.fromkeys(map(in_words, causes))], SHOWN)


def check(present: Present, models: Sequence[Path], task: str | None = None) -> None:
    """Raise DataError where models are of other rows or classes than there are now; it names the first ones.

    `task` is the one whose dev is asked for; None for all examples and tasks that a model was made from.
    """
    causes = {model: changes for model in models if (changes := present.changes(model, task))}
    if causes:
        changed = [cause for changes in causes.values() for cause in changes]
        remedy = layout.remedy(*causes) if len(causes) == 1 else "dvc repro"
        raise DataError(
            f"{first_of([*map(str, causes)], SHOWN)}: made before these changed: {changes_in_words(changed)}; so "
            f"their predictions are of other rows or classes; `{remedy}` makes them again"
        )
