"""Say why a variant trains again: in what its inputs differ from those of the run that is there, or of the last one."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from mtbert import files, layout
from mtbert.errors import UnknownNameError
from mtbert.inputs import manifests
from mtbert.results.schemas import Inputs
from mtbert.tracking.record import parameters

SHOWN = 3  # causes in a line


class Kind(StrEnum):
    """What may have changed."""

    SETTING = "setting"
    DATA = "data"
    WEIGHTS = "starting weights"
    CODE = "code"
    MACHINE = "machine"


class Cause(NamedTuple):
    """An input that has changed; a value is None where there was or is none, and of a file its digest."""

    kind: Kind
    name: str
    before: str | None
    now: str | None


def of_now(build: Path, variant: str) -> Inputs:
    """Return what a training of a selected variant would be made from, as it lies in the build folder."""
    plan = layout.read_plan(layout.plan(build, variant), "sources")
    manifest = manifests.read(layout.manifest(build, variant))
    encoder = layout.read_plan(layout.plan(build, manifests.ENCODER), "revision")
    return Inputs(
        settings=parameters(plan),
        code=layout.read_plan(layout.plan(build, manifests.CODE)) | plan["sources"],
        files=manifest.files,
        machine=manifest.machine,
        revision=encoder["revision"],
    )


def of_last_run(build: Path, variant: str) -> Inputs | None:
    """Return what the variant's run that is there was made from, else its last one; None where there was none."""
    logs = [inputs_of(run) for run in layout.runs_of(build, variant) if layout.is_sealed(run)]
    logs = [log for log in logs if log.is_file()]
    if not logs:
        every = [log / layout.INPUTS for log in layout.logs_of(build, variant)]
        logs = sorted(filter(Path.is_file, every), key=_started)
    return files.read_as(Inputs, logs[-1], f"rm {logs[-1]}") if logs else None


def _started(inputs: Path) -> str:
    """Return when the run of a file of inputs began."""
    return files.read_json(inputs.with_name(layout.LOG))["started"]


def inputs_of(run: Path) -> Path:
    """Return the file that says what a run was made from."""
    return layout.log(run) / layout.INPUTS


def causes(before: Inputs, now: Inputs) -> list[Cause]:
    """Return all that differs: settings first, then data, starting weights, code and machine."""
    found = [
        *_differing(Kind.SETTING, before.settings, now.settings),
        *_differing(Kind.DATA, before.files, now.files),
        *_differing(Kind.CODE, before.code, now.code),
        *_differing(Kind.MACHINE, before.machine.model_dump(), now.machine.model_dump()),
    ]
    order = [*Kind]
    return sorted(found, key=lambda cause: order.index(cause.kind))


def _differing(kind: Kind, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Cause]:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            is_weights = kind == Kind.DATA and name.startswith("encoders/")
            yield Cause(Kind.WEIGHTS if is_weights else kind, name, before.get(name), now.get(name))


def changed(build: Path) -> dict[str, list[Cause]]:
    """Return the causes of each selected variant that had a run and has other inputs now."""
    found: dict[str, list[Cause]] = {}
    for variant in (manifest.stem for manifest in layout.manifests(build)):
        before = of_last_run(build, variant)
        if before and (differing := causes(before, of_now(build, variant))):
            found[variant] = differing
    return found


def line(variant: str, found: list[Cause]) -> str:
    """Return a line such as `pals trains: pals.dim 204 -> 276`, of the first causes."""
    told = ", ".join(in_words(cause) for cause in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more: mtbert why {variant}" if len(found) > SHOWN else ""
    return f"{variant} trains: {told}{more}"


def in_words(cause: Cause) -> str:
    """Return a cause such as `pals.dim 204 -> 276` or `code training/loop.py changed`."""
    if cause.kind in (Kind.SETTING, Kind.MACHINE):
        return f"{cause.name} {cause.before or 'not set'} -> {cause.now or 'not set'}"
    done = "added" if cause.before is None else "removed" if cause.now is None else "changed"
    name = cause.name.removeprefix("data/") if cause.kind == Kind.DATA else cause.name
    return f"{cause.kind} {name} {done}"


def explain(build: Path, variant: str) -> str:
    """Return all causes for which a variant trains again, a line each; SettingsError where it is not selected."""
    selected = [manifest.stem for manifest in layout.manifests(build)]
    if variant not in selected:
        raise UnknownNameError("selected variant", variant, selected)
    before = of_last_run(build, variant)
    if before is None:
        return f"{variant} has not been trained here"
    found = causes(before, of_now(build, variant))
    if not found:
        return f"{variant}: nothing has changed since its last run"
    return "\n".join([f"{variant} trains, since these differ from its last run:", *(f"  {in_words(c)}" for c in found)])
