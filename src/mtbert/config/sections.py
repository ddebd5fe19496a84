"""The type of every section, as settings write it, and the check of all values: keys, names, kinds, sizes.

Each value is checked by itself, in every layer, also where no variant uses it. `resolve` checks what fits together.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import pydantic
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from mtbert import files
from mtbert.config.params import COMMON, OTHERS, Fault, Params, Place, at, merged, origin
from mtbert.config.techniques import NAMES, PLACES, REGISTRIES, SECTIONS, USABLE
from mtbert.encoders.settings import SBERT, STARTS, EncoderSettings, SbertSettings
from mtbert.errors import faults
from mtbert.learning.objectives import OBJECTIVES
from mtbert.merging import MERGES
from mtbert.models.heads import HEADS
from mtbert.settings import (
    ONCE,
    Answers,
    LearningRate,
    ModelSettings,
    Name,
    PhaseSettings,
    Pooling,
    RunSettings,
    Section,
    TaskName,
    known_task,
    one_of,
)
from mtbert.tasks import COURSE

# dvc.yaml puts data_dir into commands and paths: it may hold nothing that a shell, YAML or DVC interprets.
PLAIN = re.compile(r"(?!-)(?!.*\.\.)[\w/.,=+@:-]+( +[\w/.,=+@:-]+)*")
OWN_FILES = ("catalog", "encoder", "needs", "pretrain")  # of the plan, beside the variants'
OF_CODE = "code-"  # how the others begin
MOST = 2**31 - 1  # that any key may hold whose field says nothing: larger numbers overflow


class _Bounded(Section):
    """A section as settings write it; what the programs write is not bounded."""

    @field_validator("*")
    @classmethod
    def _can_be_held(cls, value: Any) -> Any:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if any(isinstance(one, int | float) and one > MOST for one in inside):
            raise ValueError(f"allowed: at most {MOST}")
        return value


def _plain(text: str) -> str:
    if not PLAIN.fullmatch(text):
        allowed = "letters, digits, spaces within and / . , = _ - + @ :, no .., no - at the start"
        raise ValueError(f"it cannot be part of a command; allowed: {allowed}")
    return text


def _free(name: str) -> str:
    if name in OWN_FILES or name.startswith(OF_CODE):
        raise ValueError(f"a file of the plan has such a name; taken: {', '.join(OWN_FILES)}, and {OF_CODE}...")
    return name


def _written(kind: type[Section], **other: tuple[Any, Any]) -> type[Section]:
    """Return a section's type as settings write it: every key may be null, and has its default beside it.

    `other` gives type and default of further keys, and of those that are written in another way than they are resolved.
    """
    fields: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        own: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        fields[name] = (own, default)
    return _optional(kind.__name__, fields | other)


def _optional(name: str, fields: dict[str, tuple[Any, Any]], *bases: type[Section]) -> type[Section]:
    made: dict[str, Any] = {
        key: (kind | None, Field(default=None, json_schema_extra={"default": default}))
        for key, (kind, default) in fields.items()
    }
    return pydantic.create_model(name, __base__=bases or (_Bounded,), **made)


def _techniques(section: str) -> dict[str, tuple[Any, Any]]:
    """Return type and default of a section's keys that name one technique each."""
    return {
        place[1]: (Annotated[str, one_of(registry.kind, registry)], registry.default)
        for place, registry in PLACES.items()
        if place[0] == section
    }


def _task_or_others(name: str, info: ValidationInfo) -> str:
    return name if name == OTHERS else known_task(name, info)


def _by_task(kind: Any, default: str | None) -> tuple[Any, Any]:
    return dict[Annotated[str, AfterValidator(_task_or_others)], kind | None], dict.fromkeys((*COURSE, OTHERS), default)


Objectives = Annotated[list[Annotated[str, one_of(OBJECTIVES.kind, OBJECTIVES)]], ONCE]
PhaseTasks = Literal["all"] | Annotated[list[TaskName], Field(min_length=1), ONCE]
Start = Annotated[str, one_of("starting weights", STARTS)]
# By place, the settings in full, and as they are written.
FULL: dict[Place, type[Section]] = {
    ("run",): RunSettings,
    ("encoder",): EncoderSettings,
    ("pretrain", SBERT): SbertSettings,
}
FULL |= {(name,): registry[name].settings for registry in REGISTRIES for name in registry}
TRAINING = _written(
    PhaseSettings,
    tasks=(PhaseTasks, "all"),
    objectives=(Objectives, []),
    learning_rate=(LearningRate, 2e-5),
    **_techniques("training"),
)
WRITTEN = {place: _written(kind) for place, kind in FULL.items()} | {
    ("training",): TRAINING,
    ("model",): _written(
        ModelSettings,
        encoder=(Start, "base"),
        token_types=(Literal["zeros", "by_sentence"], "zeros"),
        heads=_by_task(Annotated[str, one_of(HEADS.kind, HEADS)], HEADS.default),
        pooling=_by_task(Pooling, "pooler"),
        **_techniques("model"),
    ),
}
OF_PRETRAINING = _optional("pretrain", {SBERT: (WRITTEN["pretrain", SBERT], None)})


def _layer(name: str, sections: Iterable[str], *bases: type[Section]) -> Any:
    kinds = {key: OF_PRETRAINING if key == "pretrain" else WRITTEN[key,] for key in sections}
    return _optional(name, {key: (kind, None) for key, kind in kinds.items()}, *bases)


class _Entry(Answers):  # docs/settings.md has a table of its keys
    paper: Annotated[str, one_of("paper")] | None = None
    preset: Annotated[str, one_of("preset")] | None = None
    uses: Annotated[list[Annotated[str, one_of("technique", USABLE)]], ONCE] | None = None
    tasks: Annotated[list[TaskName], Field(min_length=1), ONCE] | None = None
    phases: list[TRAINING] = []  # type: ignore[valid-type]


Members = list[Annotated[str, one_of("variant")]]


class _Ensemble(Section):
    paper: Annotated[str, one_of("paper")] | None = None
    row: str = ""
    members: Annotated[Members, Field(min_length=1), ONCE]
    merge: Annotated[str, one_of(MERGES.kind, MERGES)] | None = None  # none: they vote


class _Knobs(Section):
    profile: Annotated[str, one_of("profile")]
    data_dir: Annotated[str, AfterValidator(_plain)]
    held_out: Annotated[int, Field(ge=2)] | None = None
    most_refused: Annotated[float, Field(ge=0, le=1)] | None = None
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1), ONCE]
    variants: Annotated[Members, Field(min_length=1), ONCE]
    ensembles: dict[Name, _Ensemble]


LAYERS: dict[str, Any] = {
    "profiles": (dict[Name, _layer("profile", SECTIONS) | None], ...),
    "presets": (dict[Name, _layer("preset", (*COMMON, *NAMES)) | None], ...),
    "catalog": (dict[Annotated[Name, AfterValidator(_free)], _layer("variant", (*COMMON, *NAMES), _Entry)], ...),
}
DOCUMENT = pydantic.create_model("settings", __base__=_layer("settings", SECTIONS, _Knobs), **LAYERS)


def find_faults(params: Params) -> list[Fault]:
    """Return every fault of a single value; where there is none, those of sections as a whole."""
    names = {"profile": "profiles", "preset": "presets", "variant": "catalog"}
    context: dict[str, Any] = {kind: params.get(key) or () for kind, key in names.items()}
    try:
        DOCUMENT.model_validate(
            params.values, context=context | {"paper": params.papers, "task": {**COURSE, **params.tasks}}
        )
    except pydantic.ValidationError as error:
        return [Fault(place, message) for place, message in faults(error)]
    return [*_sections(params)] or [*_there(params)]


def _sections(params: Params) -> Iterator[Fault]:
    """Check every section as a whole, also one that no variant uses."""
    for place, kind in FULL.items():
        try:
            kind(**at(merged(params, str(place[0])), place[1:]) or {})
        except pydantic.ValidationError as error:
            for keys, message in faults(error):
                yield Fault(origin(params, (*place, *keys)), message)


def _there(params: Params) -> Iterator[Fault]:
    """Check that the data's folder holds a corpus, before DVC reads all of it."""
    data = params.file.parent / params.get("data_dir")
    names = [file for task in params.tasks.values() for file in task.files.values()]
    if not any((data / file).is_file() for file in names):
        allowed = "data/sample, data/official (`make official`), or a folder of your own"
        example = "such as cs224n/ids-sst-train.csv"
        told = f"holds no file of a task, {example}{files.compressed(data, names)}; allowed: {allowed}"
        yield Fault(("data_dir",), f"{params.get('data_dir')} {told}")
