"""What can be wrong in params.yaml outside of a single variant: knobs, ensembles, sections whose values do not fit."""

import re
from collections.abc import Iterator
from pathlib import Path

import pydantic

from mtbert.encoder.sources import PRETRAININGS, EncoderSettings, folder_digest
from mtbert.errors import faults
from mtbert.plan.departures import blamed
from mtbert.plan.layers import merged
from mtbert.plan.params import Fault, Params, at
from mtbert.plan.techniques import REGISTRIES
from mtbert.settings import RunSettings

# dvc.yaml puts both knobs into commands and paths: nothing in them may mean something to a shell, to YAML or to DVC.
PATH = re.compile(r"[\w/.+@:-][\w/.+@: -]*")
OPERATORS = re.compile(r"[;&|<>`$\\'\"(){}\n\r#*?!~\[\]]")


def everything(params: Params) -> list[Fault]:
    """All faults but those of single values and single variants."""
    return [
        fault for part in (_sections, _encoder, _selection, _data_dir, _launch, _ensembles) for fault in part(params)
    ]


def _sections(params: Params) -> Iterator[Fault]:
    """Every section by itself, also where no variant uses it."""
    typed: dict[tuple[str, ...], type] = {("encoder",): EncoderSettings, ("run",): RunSettings}
    typed |= {("pretrain", name): settings for name, settings in PRETRAININGS.items()}
    typed |= {(name,): registry[name].settings for registry in REGISTRIES for name in registry}
    for place, settings in typed.items():
        try:
            settings(**at(merged(params, place[0]), place[1:]) or {})
        except pydantic.ValidationError as error:
            for keys, said in faults(error):
                yield Fault(blamed(params, [(*place, *keys)]), said)


def _encoder(params: Params) -> Iterator[Fault]:
    """A folder's files are those that `encoder.revision` names; one that is away may have been read before."""
    try:
        settings = EncoderSettings(**merged(params, "encoder"))
    except pydantic.ValidationError:  # told as a fault of its section
        return
    if not settings.folder:
        return
    folder = params.file.parent / settings.folder
    if folder.is_dir() and (found := folder_digest(folder)) != settings.revision:
        yield Fault(
            blamed(params, [("encoder", "revision"), ("encoder", "name")]),
            f"{settings.revision}, but the digest of the files in {settings.name} is {found}: set encoder.revision to "
            "it if they are meant",
        )
    elif not folder.is_dir() and not settings.revision:
        yield Fault(blamed(params, [("encoder", "name")]), f"{settings.name} is no folder")


def _selection(params: Params) -> Iterator[Fault]:
    """The knobs `variants` and `seeds`."""
    for key in ("variants", "seeds"):
        if not params.get(key):
            yield Fault((key,), "needs one entry at least")


def _data_dir(params: Params) -> Iterator[Fault]:
    """A plain path to a directory that is there, or will be downloaded."""
    path = str(params.get("data_dir"))
    if not PATH.fullmatch(path) or path.startswith("-") or path.endswith(" ") or ".." in Path(path).parts:
        yield Fault(
            ("data_dir",),
            f"{path!r} is no plain path, and commands hold it; allowed: letters, digits, spaces within and "
            "/ . _ - + @ :, without - at the start and without .. as a part",
        )
    elif not (params.file.parent / path).is_dir():
        yield Fault(
            ("data_dir",),
            f"{path} is no directory; allowed: data/sample, data/official (which `make official` downloads) or a "
            "directory of your own",
        )


def _launch(params: Params) -> Iterator[Fault]:
    """One command with its arguments; the shell reads it, and would read more."""
    if found := OPERATORS.search(launch := params.get("launch")):
        yield Fault(
            ("launch",),
            f"{launch!r} holds {found.group()!r}, which means something to the shell; allowed: one command and its "
            "arguments, such as: torchrun --nproc-per-node 4",
        )


def _ensembles(params: Params) -> Iterator[Fault]:
    for name in params.get("ensembles") or {}:
        if name in params.get("catalog"):
            yield Fault(("ensembles", name), "a variant has the same name")
