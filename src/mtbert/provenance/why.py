"""Say why a variant trains again: in what the inputs.json of its last run and its manifest differ."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mtbert import files, layout
from mtbert.errors import DataError, UnknownNameError
from mtbert.provenance import changes, inputs, manifests, seals
from mtbert.provenance.changes import SHOWN, Change, between, in_words, list_in_words
from mtbert.provenance.inputs import Inputs


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


def changes_since(model: Path) -> list[Change]:
    """Return in what the inputs of a model differ from those of now; nothing where they are unknown, or it was moved.

    A merge, a vote, a baseline and a variant that is not selected have no manifest: only their rows and classes are
    compared.
    """
    build = layout.build_of(model)
    if layout.manifest(build, model.parent.name).is_file():
        return changes.of_variants(build, [model]).get(model, [])
    if layout.data_report(layout.data(build)).is_file():
        return changes.of_rows(build, [model]).get(model, [])
    return []


def notes(models: Sequence[Path]) -> Iterator[str]:
    """Yield in what the inputs of a model, by the folders of its seeds, differ from those of now, and what remakes it.

    Whoever asks needs none of the files that are compared: where one is damaged, a line says that nobody knows.
    """
    by_model: dict[Path, list[Change]] = {}
    for model in models:
        try:
            by_model[model] = changes_since(model)
        except DataError as error:
            yield f"whether {model.parent.name}, seed {model.name}, is of the present settings is unknown: {error}"
    changed = [model for model, differing in by_model.items() if differing]
    if changed:
        first, *others = changed
        seeds = f"{'seeds' if others else 'seed'} {', '.join(model.name for model in changed)}"
        all_changes = [change for model in changed for change in by_model[model]]
        stages = " ".join(dict.fromkeys(map(layout.stage, changed)))
        has_manifest = layout.manifest(layout.build_of(first), first.parent.name).is_file()
        yield (
            f"{first.parent.name}, {seeds}, was trained before these changed: {list_in_words(all_changes)}; "
            f"`dvc repro {stages}` trains it again" + (f" (mtbert why {first.parent.name})" if has_manifest else "")
        )


def changed(build: Path) -> dict[str, list[Change]]:
    """Return the changes of each selected variant that had a run and has other inputs now."""
    by_variant: dict[str, list[Change]] = {}
    for variant in manifests.selected(build):
        before = _of_last_run(build, variant)
        differing = between(before, manifests.read(build, variant)) if before else []
        if differing:
            by_variant[variant] = differing
    return by_variant


def line(variant: str, differing: list[Change]) -> str:
    """Return a line with the first changes, such as `pals trains: pals.dim 204 -> 276`."""
    more = f": mtbert why {variant}" if len(differing) > SHOWN else ""
    return f"{variant} trains: {list_in_words(differing)}{more}"


def explain(build: Path, variant: str) -> str:
    """Return all changes for which a variant trains again, a line each; SettingsError where it is not selected."""
    selected = manifests.selected(build)
    if variant not in selected:
        raise UnknownNameError("selected variant", variant, selected)
    before = _of_last_run(build, variant)
    if before is None:
        return f"{variant} has not been trained here"
    differing = between(before, manifests.up_to_date(build, variant))
    if not differing:
        return f"{variant}: nothing has changed since its last run, as of the last `dvc repro manifest`"
    lines = [f"  {in_words(change)}" for change in differing]
    return "\n".join([f"{variant} trains, since these differ from its last run:", *lines])
