"""In what inputs have changed: between the inputs.json of a model and what lies in a build folder now.

`dvc repro plan preprocess` changes rows and classes, and makes no model again. A model's predictions are joined to the
rows by id, and a row without an id is called by its line, so that an id alone does not prove that the row is the same.
Whoever puts predictions beside the rows of now calls `check_rows` first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, partial
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


def of_variants(build: Path, models: Iterable[Path]) -> dict[Path, list[Change]]:
    """Return in what models differ from their variants' manifests, with plan and examples of now; of each that does.

    A model that does not say what it was made from, and one of a variant without a manifest, count as of now.
    """
    manifest_by_variant: dict[str, Inputs] = {}
    by_model: dict[Path, list[Change]] = {}
    for model in models:
        variant, made_from = model.parent.name, inputs.of_model(model)
        if made_from is None or not layout.manifest(build, variant).is_file():
            continue
        if variant not in manifest_by_variant:
            manifest_by_variant[variant] = manifests.up_to_date(build, variant)
        if changes := between(made_from, manifest_by_variant[variant]):
            by_model[model] = changes
    return by_model


def of_rows(build: Path, models: Iterable[Path], task: str | None = None) -> dict[Path, list[Change]]:
    """Return in what rows and classes models of any kind differ from those of now; of each that does.

    Only what a prediction means is compared: a task's title, margin or metric may change. A model that does not say
    what it was made from counts as of now.

    Args:
        build: the build folder.
        models: their folders, which may lie elsewhere.
        task: the task whose dev is asked for; None for all examples and tasks that a model was made from.
    """
    tasks = {name: dump_task(described) for name, described in read_build(build).items()}
    digest_of = cache(partial(_digest, build))  # each file is read once
    by_model: dict[Path, list[Change]] = {}
    for model in models:
        made_from = inputs.of_model(model)
        if made_from and (changes := between(made_from, _with_rows(made_from, tasks, digest_of, task))):
            by_model[model] = changes
    return by_model


def _digest(build: Path, name: str) -> str | None:
    """Return the SHA-256 of a file by its path below the build folder; None where it is not there."""
    file = build / name
    return files.sha256(file) if file.is_file() else None


def _with_rows(
    made_from: Inputs, tasks: Mapping[str, Any], digest_of: Callable[[str], str | None], task: str | None
) -> Inputs:
    """Return what a model was made from, with the rows and classes of now in place of its own."""
    seal = f"data/{layout.DIGESTS}"  # in place of single files, in a merge or baseline of an earlier version
    asked = {seal, layout.examples(Path("data"), task, "dev").as_posix()} if task else {*made_from.files}
    digests = {name: digest_of(name) for name in made_from.files if inputs.is_of_data(name) and name in asked}
    before = made_from.settings.get("described") or {}
    described = {name: _with_meaning(before[name], tasks.get(name)) for name in before if task in (None, name)}
    return made_from.model_copy(
        update={
            "files": {name: digest for name, digest in (made_from.files | digests).items() if digest},
            "settings": {**made_from.settings, "described": before | described},
        }
    )


def _with_meaning(before: Mapping[str, Any], now: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a model knows of a task, with the meaning of its numbers now; without classes if it is gone."""
    fields = MEANING[:1] if now is None else MEANING
    unchanged = {key: value for key, value in before.items() if key not in fields}
    return unchanged | {key: value for key, value in (now or {}).items() if key in fields}


def check_rows(build: Path, models: Iterable[Path], task: str | None = None) -> None:
    """Raise DataError where models are of other rows or classes than there are now; arguments as for `of_rows`."""
    if by_model := of_rows(build, models, task):
        all_changes = [change for changes in by_model.values() for change in changes]
        remedy = layout.remedy(*by_model) if len(by_model) == 1 else "dvc repro"
        raise DataError(
            f"{first_of([*map(str, by_model)], SHOWN)}: made before these changed: {list_in_words(all_changes)}; so "
            f"their predictions are of other rows or classes; `{remedy}` makes them again"
        )
