"""In what inputs have changed: between the inputs.json of a model and what lies in a build folder now.

`dvc repro plan preprocess` changes rows and classes, and makes no model again. A model's predictions are joined to the
rows by id, and a row without an id is called by its line, so that an id alone does not prove that the row is the same.
Whoever puts predictions beside the rows of now calls `check_rows` first.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files, layout
from mtbert.errors import DataError, first_of
from mtbert.provenance import inputs, manifests
from mtbert.provenance.inputs import Inputs
from mtbert.provenance.parameters import ROWS, parameters, setting_text
from mtbert.tasks import dump_task, read_build

MEANING = ("classes", "labels", "several", "lowest", "highest", "folds")  # fields of a task: what its numbers mean
SHOWN = 3  # changes in a message


class InputKind(StrEnum):
    """What an input is of a training."""

    SETTING = "setting"
    TEACHER = "teacher"
    DATA = "data"
    WEIGHTS = "starting weights"
    CODE = "code"
    MACHINE = "machine"


FOLDERS = {"encoders": InputKind.WEIGHTS, "manifest": InputKind.TEACHER}  # of a build folder; all others hold data


class Change(NamedTuple):
    """An input that has changed.

    Attributes:
        before, now: its value, or a file's digest; None if there was none, or is none.
    """

    kind: InputKind
    name: str
    before: str | None
    now: str | None


def in_words(change: Change) -> str:
    """Return a change such as `pals.dim 204 -> 276` or `code training/loop.py changed`."""
    if change.kind in (InputKind.SETTING, InputKind.MACHINE):
        return f"{change.name.removeprefix('described.')} {change.before or 'not set'} -> {change.now or 'not set'}"
    verb = "changed"
    if change.before is None:
        verb = "added"
    elif change.now is None:
        verb = "removed"
    name = change.name.removeprefix("data/") if change.kind == InputKind.DATA else change.name
    if change.kind == InputKind.TEACHER:
        name = Path(name).stem
    return f"{change.kind} {name} {verb}"


def list_in_words(changes: Sequence[Change]) -> str:
    """Return the first changes, each once, such as `urgent.folds 0 -> 5, data dup/dev.parquet changed`."""
    return first_of([*dict.fromkeys(map(in_words, changes))], SHOWN)


def between(before: Inputs, now: Inputs) -> list[Change]:
    """Return all that differs: settings first, then teachers, data, starting weights, code and machine."""
    changes = [
        *_differing(InputKind.SETTING, _settings(before), _settings(now)),
        *_differing(InputKind.DATA, before.files, now.files),
        *_differing(InputKind.CODE, before.code, now.code),
        *_differing(InputKind.MACHINE, _machine(before), _machine(now)),
    ]
    kinds = [*InputKind]
    return sorted(changes, key=lambda change: kinds.index(change.kind))


def _settings(made_from: Inputs) -> dict[str, str]:
    """Return the settings by the names of params.yaml, and the published rows where there are any."""
    rows = {key: setting_text(made_from.settings[key]) for key in ROWS if made_from.settings.get(key)}
    return parameters(made_from.settings) | rows


def _machine(made_from: Inputs) -> dict[str, str]:
    return made_from.machine.model_dump() if made_from.machine else {}


def _differing(kind: InputKind, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Change]:
    """Yield the inputs of a kind that differ; files of FOLDERS have kinds of their own."""
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            folder = name.partition("/")[0]
            kind_of_file = FOLDERS.get(folder, kind) if kind == InputKind.DATA else kind
            yield Change(kind_of_file, name, before.get(name), now.get(name))


class Present:
    """What lies in a build folder now; each file is read once."""

    def __init__(self, build: Path) -> None:
        self.build = build
        self._tasks = {name: dump_task(task) for name, task in read_build(build).items()}
        self._manifests: dict[str, Inputs] = {}
        self._digests: dict[str, str | None] = {}

    def has_manifest(self, model: Path) -> bool:
        """Return whether a model is that of a variant with a manifest: the selected ones have one."""
        return layout.manifest(self.build, model.parent.name).is_file()

    def changes(self, model: Path) -> list[Change]:
        """Return in what a model's inputs differ from its variant's manifest, with plan and examples of now.

        Nothing where nobody knows what the model was made from.
        """
        made_from, variant = inputs.of_model(model), model.parent.name
        if made_from is None:
            return []
        if variant not in self._manifests:
            self._manifests[variant] = manifests.up_to_date(self.build, variant)
        return between(made_from, self._manifests[variant])

    def row_changes(self, model: Path, task: str | None = None) -> list[Change]:
        """Return in what a model's rows and classes differ from those of now, of any kind of model.

        Only what a prediction means is compared: a task's title, margin or metric may change.

        Args:
            model: its folder, which may lie elsewhere.
            task: the task whose dev is asked for; None for all examples and tasks that the model was made from.

        Returns:
            Nothing where nobody knows what the model was made from.
        """
        made_from = inputs.of_model(model)
        if made_from is None:
            return []
        seal = f"data/{layout.DIGESTS}"  # in place of single files, in a merge or baseline of an earlier version
        asked = {seal, layout.examples(Path("data"), task, "dev").as_posix()} if task else {*made_from.files}
        digests = {name: self._digest(name) for name in made_from.files if inputs.is_of_data(name) and name in asked}
        described = made_from.settings.get("described") or {}
        of_now = {name: self._described(name, described[name]) for name in described if task in (None, name)}
        now = made_from.model_copy(
            update={
                "files": {name: digest for name, digest in (made_from.files | digests).items() if digest},
                "settings": {**made_from.settings, "described": described | of_now},
            }
        )
        return between(made_from, now)

    def _digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file by its path below the build folder; None where it is not there."""
        if name not in self._digests:
            file = self.build / name
            self._digests[name] = files.sha256(file) if file.is_file() else None
        return self._digests[name]

    def _described(self, name: str, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a model knows of a task, with the meaning of its numbers now; without classes if it is gone."""
        fields = MEANING if name in self._tasks else MEANING[:1]
        unchanged = {key: value for key, value in before.items() if key not in fields}
        return unchanged | {key: value for key, value in self._tasks.get(name, {}).items() if key in fields}


def check_rows(present: Present, models: Sequence[Path], task: str | None = None) -> None:
    """Raise DataError where models are of other rows or classes than there are now; it names the first ones.

    `task` is the one whose dev is asked for; None for all examples and tasks that a model was made from.
    """
    by_model = {model: changes for model in models if (changes := present.row_changes(model, task))}
    if by_model:
        all_changes = [change for changes in by_model.values() for change in changes]
        remedy = layout.remedy(*by_model) if len(by_model) == 1 else "dvc repro"
        raise DataError(
            f"{first_of([*map(str, by_model)], SHOWN)}: made before these changed: {list_in_words(all_changes)}; so "
            f"their predictions are of other rows or classes; `{remedy}` makes them again"
        )
