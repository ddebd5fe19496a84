"""The schema of all that settings hold, wherever it stands: keys, names, kinds, sizes.

A section may stand in a profile, a preset, at the top of params.yaml, in a variant, and in a phase. Each of its values
is checked there by itself, by the type that the section's own settings have, also where no variant uses it. `resolve`
checks what fits together.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from mtbert import files
from mtbert.config.params import COMMON, OTHERS, Fault, Params, Place, at, faults_of
from mtbert.config.places import merge, places_of
from mtbert.config.rates import LearningRate, Trial
from mtbert.config.techniques import NAMES, REGISTRIES, USES
from mtbert.errors import UnknownNameError
from mtbert.learning.objectives import OBJECTIVES
from mtbert.merging import MERGES
from mtbert.models.heads import HEADS
from mtbert.pretrained.settings import SBERT, STARTS, EncoderSettings, SbertSettings
from mtbert.scores.described import BASELINES, BY_OTHERS, UNTRAINED
from mtbert.settings import ONCE, Name, Pooling, Published, Section, TaskName, known_task, one_of
from mtbert.tasks import COURSE, FILE
from mtbert.variants.settings import TECHNIQUE_KEYS, ModelSettings, PhaseSettings, RunSettings

# dvc.yaml puts data_dir into commands and paths: it may hold nothing that a shell, YAML or DVC interprets.
PLAIN = re.compile(r"(?!-)(?!.*\.\.)[\w/.,=+@:-]+( +[\w/.,=+@:-]+)*")
DATA_FOLDERS = "data/sample, data/official (`make official`), or a folder of your own"
OWN_FILES = ("catalog", "encoder", "preprocess", "pretrain")  # of the plan, beside the variants'
CODE_FILE = "code-"  # how the names of the plan's further files begin
MOST = 2**31 - 1  # that any key may hold whose field says nothing: larger numbers overflow


def _task_or_others(name: str, info: ValidationInfo) -> str:
    return name if name == OTHERS else known_task(name, info)


def _all_or_list(value: Any) -> Any:
    if value != "all" and not isinstance(value, list):
        raise ValueError("allowed: all, or a list of tasks")
    return None if value == "all" else value


_ByTask = Annotated[str, AfterValidator(_task_or_others)]  # the key of a value for that task
_Names = Annotated[list[TaskName], Field(min_length=1), ONCE]
_Members = Annotated[list[Annotated[str, one_of("variant")]], Field(min_length=1), ONCE]

# Keys whose type and default are not those of a resolved variant. Settings name a technique, and a variant holds its
# options, too. Settings may say `all` or `others`, and a variant lists its tasks.
UNRESOLVED: dict[str, dict[str, Any]] = {
    section: {key: (Annotated[str, one_of(kind.kind, kind)], kind.default) for key, kind in kinds.items()}
    for section, kinds in TECHNIQUE_KEYS.items()
}
UNRESOLVED["model"] |= {
    "encoder": (Annotated[str, one_of("starting weights", STARTS)], "base"),
    "heads": (
        dict[_ByTask, Annotated[str, one_of(HEADS.kind, HEADS)] | None],
        dict.fromkeys((*COURSE, OTHERS), HEADS.default),
    ),
    "pooling": (dict[_ByTask, Pooling | None], dict.fromkeys((*COURSE, OTHERS), "pooler")),
}
UNRESOLVED["training"] |= {
    "tasks": (Annotated[_Names | None, BeforeValidator(_all_or_list)], "all"),
    "objectives": (Annotated[list[Annotated[str, one_of(OBJECTIVES.kind, OBJECTIVES)]], ONCE], []),
    "learning_rate": (LearningRate, 2e-5),
}

SETTINGS: dict[Place, type[Section]] = {  # the types of all sections, by their place
    ("run",): RunSettings,
    ("model",): create_model("Model", __base__=ModelSettings, **UNRESOLVED["model"]),
    ("training",): create_model("Training", __base__=PhaseSettings, **UNRESOLVED["training"]),
    ("encoder",): EncoderSettings,
    ("pretrain", SBERT): SbertSettings,
}
SETTINGS |= {(name,): registry[name].settings for registry in REGISTRIES for name in registry}


class Partial(Section):
    """What one place sets: any keys, each checked by itself. Null leaves a key out, unless it has no default."""

    @model_validator(mode="wrap")
    @classmethod
    def _knows_its_keys(cls, values: Any, check: ModelWrapValidatorHandler["Partial"]) -> "Partial":
        """Refuse all unknown keys at once, together with the faulty values of the others."""
        if not isinstance(values, dict):
            raise ValueError("a section holds keys and values")
        keys = cls.model_fields
        unknown = [UnknownNameError("key", key, keys) for key in values if key not in keys]
        known = {key: values[key] for key in keys if key in values}
        known = {key: value for key, value in known.items() if value is not None or keys[key].is_required()}
        errors: list[Any] = [{"type": "value_error", "input": values, "ctx": {"error": error}} for error in unknown]
        try:
            partial = check(known)
        except ValidationError as error:
            errors += error.errors()
        else:
            if not errors:
                return partial
        raise ValidationError.from_exception_data(cls.__name__, errors)

    @field_validator("*")
    @classmethod
    def _refuse_huge(cls, value: Any) -> Any:
        numbers = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if any(isinstance(number, int | float) and number > MOST for number in numbers):
            raise ValueError(f"allowed: at most {MOST}")
        return value


def _plain(text: str) -> str:
    if not PLAIN.fullmatch(text):
        allowed = "letters, digits, spaces within and / . , = _ - + @ :, no .., no - at the start"
        raise ValueError(f"it cannot be part of a command; allowed: {allowed}")
    return text


def _free(name: str) -> str:
    if name in OWN_FILES or name.startswith(CODE_FILE):
        raise ValueError(f"a file of the plan has such a name; taken: {', '.join(OWN_FILES)}, and {CODE_FILE}...")
    return name


def _of_no_model(name: str, info: ValidationInfo) -> str:
    """Return the name of a vote or a merged model, which names files and rows beside those of variants."""
    if name in (info.context or {})["variant"]:
        raise ValueError("a variant has this name; allowed: another one")
    return _of_no_baseline(name)


def _of_no_baseline(name: str) -> str:
    if name in (*BASELINES, UNTRAINED) or name.startswith(BY_OTHERS):
        raise ValueError("a baseline has this name, or predictions of others may have it; allowed: another one")
    return name


def _with(keys: Mapping[str, Any]) -> Callable[[type["Partial"]], Any]:
    """Return a decorator that adds keys to such a type, each with its type and default."""
    return lambda partial: create_model(partial.__name__, __base__=partial, **dict(keys))


def _keys(*place: str) -> dict[str, Any]:
    """Return the keys of a section; the section's checks of several values wait until all places are merged."""
    return {key: (field.annotation, field) for key, field in SETTINGS[place].model_fields.items()}


def _section(*place: str) -> Any:
    """Return the key that holds a section."""
    return _with(_keys(*place))(Partial), None


OF_VARIANT = {name: _section(name) for name in (*COMMON, *NAMES)}
EVERY_SECTION = OF_VARIANT | {
    "encoder": _section("encoder"),
    "pretrain": (_with({SBERT: _section("pretrain", SBERT)})(Partial), None),
}


@_with(EVERY_SECTION)
class _Profile(Partial):
    pass


@_with(OF_VARIANT)
class _Preset(Partial):
    pass


@_with({"training": OF_VARIANT["training"]})
class _Tuned(Partial):
    trials: list[Trial] = []


@_with(_keys("training"))
class _Phase(Partial):
    pass


class _Part(Section):
    of: Annotated[str, one_of("variant")]
    share: Annotated[float, Field(gt=0, lt=1)]


@_with(OF_VARIANT)
class _Entry(Partial, Published):  # docs/settings.md has a table of its keys; `mtbert study --curve` writes `part`
    paper: Annotated[str, one_of("paper")] | None = None
    preset: Annotated[str, one_of("preset")] | None = None
    uses: Annotated[list[Annotated[str, one_of("technique", USES)]], ONCE] | None = None
    tasks: _Names | None = None
    teachers: _Members | None = None
    part: _Part | None = None
    phases: list[_Phase] = []


class _Limit(Section):
    milliseconds: Annotated[float, Field(gt=0)] | None = None
    megabytes: Annotated[float, Field(gt=0)] | None = None


class _Ensemble(Section):
    paper: Annotated[str, one_of("paper")] | None = None
    row: str = ""
    members: _Members
    merge: Annotated[str, one_of("merge", MERGES)] | None = None  # none: they vote


@_with(EVERY_SECTION)
class _Document(Partial):
    profile: Annotated[str, one_of("profile")]
    data_dir: Annotated[str, AfterValidator(_plain)]
    held_out: Annotated[int, Field(ge=2)] | None = None
    most_refused: Annotated[float, Field(ge=0, le=1)] | None = None
    limit: _Limit | None = None
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1), ONCE]
    variants: _Members
    ensembles: dict[Annotated[Name, AfterValidator(_of_no_model)], _Ensemble]
    profiles: dict[Name, _Profile | None]
    presets: dict[Name, _Preset | None]
    tuned: dict[Name, _Tuned] = {}
    catalog: dict[Annotated[Name, AfterValidator(_free), AfterValidator(_of_no_baseline)], _Entry]


def find_faults(params: Params) -> list[Fault]:
    """Return the first faults of these: no data folder, single values, whole sections, a data folder without files.

    Of a folder that is not there, nobody knows the tasks, and so the names of variants.
    """
    return (
        [*_folder_faults(params)] or [*_value_faults(params)] or [*_section_faults(params)] or [*_data_faults(params)]
    )


def _folder_faults(params: Params) -> Iterator[Fault]:
    """Yield a fault where the data folder is not there."""
    data_dir = params.get("data_dir")
    is_path = isinstance(data_dir, str) and PLAIN.fullmatch(data_dir)
    if is_path and not (params.file.parent / data_dir).is_dir():
        yield Fault(("data_dir",), f"{data_dir} is no folder; allowed: {DATA_FOLDERS}")


def _value_faults(params: Params) -> Iterator[Fault]:
    """Yield the faults of every value, each at its own place: also those that no selected variant sees."""
    entries = {"profile": "profiles", "preset": "presets", "variant": "catalog"}
    names: dict[str, Any] = {kind: params.get(key) for kind, key in entries.items()}
    names = {kind: by_name if isinstance(by_name, dict) else {} for kind, by_name in names.items()}
    names |= {"paper": params.papers, "task": {**COURSE, **params.tasks}}
    try:
        _Document.model_validate(params.values, context=names)
    except ValidationError as error:
        yield from faults_of(error)


def _section_faults(params: Params) -> Iterator[Fault]:
    """Yield the faults of values that do not go together in a section, also in one that no variant uses."""
    merged = merge(params, places_of(params))
    for place, settings_type in SETTINGS.items():
        if place in (("model",), ("training",)):  # `resolve` checks these, with the techniques that they name
            continue
        try:
            settings_type(**at(merged.values, place) or {})
        except ValidationError as error:
            yield from merged.where_set(faults_of(error, *map(str, place)))
    corpora = at(merged.values, ("encoder", "corpora"))
    if corpora not in (None, EncoderSettings.model_fields["corpora"].default) and params.tasks is not COURSE:
        message = f"{corpora} has no effect: the word pieces are those of all tasks in {params.get('data_dir')}/{FILE}"
        yield from merged.where_set([Fault(("encoder", "corpora"), f"{message}; allowed: null")])


def _data_faults(params: Params) -> Iterator[Fault]:
    """Yield a fault where the data folder holds no corpus: DVC reads all of the folder later."""
    data = params.file.parent / params.get("data_dir")
    names = [file for task in params.tasks.values() for file in task.files.values()]
    if not any((data / file).is_file() for file in names):
        example = "such as cs224n/ids-sst-train.csv"
        lacking = f"holds no file of a task, {example}{files.compressed(data, names)}; allowed: {DATA_FOLDERS}"
        yield Fault(("data_dir",), f"{params.get('data_dir')} {lacking}")
