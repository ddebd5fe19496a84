"""Say why a variant trains again: in what the inputs.json of its last run and its manifest differ."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mtbert import files, layout
from mtbert.errors import DataError, UnknownNameError
from mtbert.provenance import inputs, manifests, seals, stale
from mtbert.provenance.inputs import Inputs
from mtbert.provenance.parameters import ROWS, parameters, setting_text
from mtbert.provenance.stale import SHOWN, Cause, InputKind, changes_in_words, in_words

FOLDERS = {"encoders": InputKind.WEIGHTS, "manifest": InputKind.TEACHER}  # of a build folder


def _of_last_run(build: Path, variant: str) -> Inputs | None:
    """Return what the variant's run was made from, or without one its last logged run; None if there is neither."""
    finished = [run for run in layout.runs_of(build, variant) if seals.is_sealed(run)]
    made_from = [file for run in finished if (file := inputs.file_of(run))]
    if not made_from:
        logged = [log / layout.INPUTS for log in layout.logs_of(build, variant)]
        made_from = sorted(filter(Path.is_file, logged), key=_start_time)
    return inputs.read(made_from[-1]) if made_from else None


def _start_time(logged: Path) -> str:
    """Return when the run of a logged inputs.json began."""
    return files.read_json(logged.with_name(layout.LOG))["started"]


def causes(before: Inputs, now: Inputs) -> list[Cause]:
    """Return all that differs: settings first, then teachers, data, starting weights, code and machine."""
    differing = [
        *_differing(InputKind.SETTING, _settings(before), _settings(now)),
        *_differing(InputKind.DATA, before.files, now.files),
        *_differing(InputKind.CODE, before.code, now.code),
        *_differing(InputKind.MACHINE, _machine(before), _machine(now)),
    ]
    kinds = [*InputKind]
    return sorted(differing, key=lambda cause: kinds.index(cause.kind))


def _settings(made_from: Inputs) -> dict[str, str]:
    """Return the settings by the names of params.yaml, and the published rows where there are any."""
    rows = {key: setting_text(made_from.settings[key]) for key in ROWS if made_from.settings.get(key)}
    return parameters(made_from.settings) | rows


def _machine(made_from: Inputs) -> dict[str, str]:
    return made_from.machine.model_dump() if made_from.machine else {}


def _differing(kind: InputKind, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Cause]:
    """Yield the inputs of a kind that differ; files of FOLDERS have kinds of their own, all others are data."""
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            folder = name.partition("/")[0]
            kind_of_file = FOLDERS.get(folder, kind) if kind == InputKind.DATA else kind
            yield Cause(kind_of_file, name, before.get(name), now.get(name))


def changes_since(model: Path) -> list[Cause]:
    """Return in what the inputs of a model differ from those of now; nothing where they are unknown, or it was moved.

    A merge, a vote, a baseline and a variant that is not selected have no manifest: only their rows and classes are
    compared.
    """
    build, variant = layout.build_of(model), model.parent.name
    if layout.manifest(build, variant).is_file():
        before = inputs.of_model(model)
        return causes(before, manifests.up_to_date(build, variant)) if before else []
    return stale.Present(build).changes(model) if layout.data_report(layout.data(build)).is_file() else []


def outdated(build: Path, runs: Iterable[Path]) -> dict[Path, list[Cause]]:
    """Return in what runs differ from a training of now, of those that do; rows are those of the manifests.

    A run that does not say what it was made from, and one of a variant without a manifest, count as of now.
    """
    now: dict[str, Inputs] = {}
    causes_by_run: dict[Path, list[Cause]] = {}
    for run in runs:
        variant, before = run.parent.name, inputs.of_model(run)
        if before is None or not layout.manifest(build, variant).is_file():
            continue
        if variant not in now:
            now[variant] = manifests.with_plan(build, variant)
        if differing := causes(before, now[variant]):
            causes_by_run[run] = differing
    return causes_by_run


def notes(models: Sequence[Path]) -> Iterator[str]:
    """Yield in what the inputs of a model, by the folders of its seeds, differ from those of now, and what remakes it.

    Whoever asks needs none of the files that are compared: where one is damaged, a line says that nobody knows.
    """
    causes_by_model: dict[Path, list[Cause]] = {}
    for model in models:
        try:
            causes_by_model[model] = changes_since(model)
        except DataError as error:
            yield f"whether {model.parent.name}, seed {model.name}, is of the present settings is unknown: {error}"
    changed = [model for model, causes_of_model in causes_by_model.items() if causes_of_model]
    if changed:
        first, *others = changed
        seeds = f"{'seeds' if others else 'seed'} {', '.join(model.name for model in changed)}"
        differing = [cause for model in changed for cause in causes_by_model[model]]
        stages = " ".join(dict.fromkeys(map(layout.stage, changed)))
        has_manifest = layout.manifest(layout.build_of(first), first.parent.name).is_file()
        yield (
            f"{first.parent.name}, {seeds}, was trained before these changed: {changes_in_words(differing)}; "
            f"`dvc repro {stages}` trains it again" + (f" (mtbert why {first.parent.name})" if has_manifest else "")
        )


def changed(build: Path) -> dict[str, list[Cause]]:
    """Return the causes of each selected variant that had a run and has other inputs now."""
    by_variant: dict[str, list[Cause]] = {}
    for variant in manifests.selected(build):
        before = _of_last_run(build, variant)
        differing = causes(before, manifests.read(build, variant)) if before else []
        if differing:
            by_variant[variant] = differing
    return by_variant


def line(variant: str, differing: list[Cause]) -> str:
    """Return a line with the first causes, such as `pals trains: pals.dim 204 -> 276`."""
    more = f": mtbert why {variant}" if len(differing) > SHOWN else ""
    return f"{variant} trains: {changes_in_words(differing)}{more}"


def explain(build: Path, variant: str) -> str:
    """Return all causes for which a variant trains again, a line each; SettingsError where it is not selected."""
    selected = manifests.selected(build)
    if variant not in selected:
        raise UnknownNameError("selected variant", variant, selected)
    before = _of_last_run(build, variant)
    if before is None:
        return f"{variant} has not been trained here"
    differing = causes(before, manifests.up_to_date(build, variant))
    if not differing:
        return f"{variant}: nothing has changed since its last run, as of the last `dvc repro manifest`"
    lines = [f"  {in_words(cause)}" for cause in differing]
    return "\n".join([f"{variant} trains, since these differ from its last run:", *lines])
