"""Find faults of params.yaml outside of single variants: in knobs, ensembles, and sections whose values do not fit."""

import re
from collections.abc import Iterator
from pathlib import Path

import pydantic

from mtbert.errors import faults
from mtbert.plan.departures import blamed
from mtbert.plan.layers import merged
from mtbert.plan.params import Fault, Params, at
from mtbert.plan.techniques import REGISTRIES
from mtbert.pretraining.settings import PRETRAININGS, EncoderSettings, folder_digest
from mtbert.settings import RunSettings

# dvc.yaml puts both knobs into commands and paths: they may hold nothing that a shell, YAML or DVC interprets.
PATH = re.compile(r"[\w/.+@:-][\w/.+@: -]*")
OPERATORS = re.compile(r"[;&|<>`$\\'\"(){}\n\r#*?!~\[\]]")


def find_faults(params: Params) -> list[Fault]:
    """Return all faults but those of single values and single variants."""
    return [
        fault for part in (_sections, _encoder, _selection, _data_dir, _launch, _ensembles) for fault in part(params)
    ]


def _sections(params: Params) -> Iterator[Fault]:
    """Check every section by itself, also one that no variant uses."""
    typed: dict[tuple[str, ...], type] = {("encoder",): EncoderSettings, ("run",): RunSettings}
    typed |= {("pretrain", name): settings for name, settings in PRETRAININGS.items()}
    typed |= {(name,): registry[name].settings for registry in REGISTRIES for name in registry}
    for place, settings in typed.items():
        try:
            settings(**at(merged(params, place[0]), place[1:]) or {})
        except pydantic.ValidationError as error:
            for keys, message in faults(error):
                yield Fault(blamed(params, [(*place, *keys)]), message)


def _encoder(params: Params) -> Iterator[Fault]:
    """Compare a folder's files with `encoder.revision`; a folder that is missing may have been read before."""
    try:
        settings = EncoderSettings(**merged(params, "encoder"))
    except pydantic.ValidationError:  # reported as a fault of its section
        return
    if not settings.folder:
        return
    folder = params.file.parent / settings.folder
    if folder.is_dir() and (digest := folder_digest(folder)) != settings.revision:
        yield Fault(
            blamed(params, [("encoder", "revision"), ("encoder", "name")]),
            f"{settings.revision}, but the digest of the files in {settings.name} is {digest}: set encoder.revision to "
            "it if they are meant",
        )
    elif not folder.is_dir() and not settings.revision:
        yield Fault(blamed(params, [("encoder", "name")]), f"{settings.name} is not a folder")


def _selection(params: Params) -> Iterator[Fault]:
    """Check the knobs `variants` and `seeds`."""
    for key in ("variants", "seeds"):
        if not params.get(key):
            yield Fault((key,), "needs at least one entry")


def _data_dir(params: Params) -> Iterator[Fault]:
    """Check that it is a plain path to a directory."""
    path = str(params.get("data_dir"))
    if not PATH.fullmatch(path) or path.startswith("-") or path.endswith(" ") or ".." in Path(path).parts:
        yield Fault(
            ("data_dir",),
            f"{path!r} cannot be part of a command; allowed: letters, digits, spaces within and "
            "/ . _ - + @ :, without - at the start and without .. as a part",
        )
    elif not (params.file.parent / path).is_dir():
        yield Fault(
            ("data_dir",),
            f"{path} is not a directory; allowed: data/sample, data/official (which `make official` downloads) or a "
            "directory of your own",
        )


def _launch(params: Params) -> Iterator[Fault]:
    """Check that it is one command with its arguments, since a shell runs it."""
    if operator := OPERATORS.search(launch := params.get("launch")):
        yield Fault(
            ("launch",),
            f"{launch!r} holds {operator.group()!r}, which the shell interprets; allowed: one command and its "
            "arguments, such as: torchrun --nproc-per-node 4",
        )


def _ensembles(params: Params) -> Iterator[Fault]:
    for name in params.get("ensembles") or {}:
        if name in params.get("catalog"):
            yield Fault(("ensembles", name), "a variant has the same name")
