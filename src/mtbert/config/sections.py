"""The check of all values that settings hold, wherever they stand: keys, names, kinds, sizes.

A section may stand in a profile, a preset, at the top of params.yaml, in a variant, and in a phase. Each of its values
is checked there by itself, by the type that the section's own settings have, also where no variant uses it. `resolve`
checks what fits together.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationInfo

from mtbert import files
from mtbert.config.params import COMMON, OTHERS, Fault, Params, Place, at, merged, where_set
from mtbert.config.rates import LearningRate
from mtbert.config.techniques import NAMES, PLACES, REGISTRIES, SECTIONS, USABLE
from mtbert.encoders.settings import SBERT, STARTS, EncoderSettings, SbertSettings
from mtbert.errors import UnknownNameError, faults
from mtbert.learning.objectives import OBJECTIVES
from mtbert.merging import MERGES
from mtbert.models.heads import HEADS
from mtbert.settings import ONCE, Name, NoOptions, Pooling, Section, TaskName, known_task, one_of
from mtbert.tasks import COURSE
from mtbert.variants.settings import Answers, ModelSettings, PhaseSettings, RunSettings

# dvc.yaml puts data_dir into commands and paths: it may hold nothing that a shell, YAML or DVC interprets.
PLAIN = re.compile(r"(?!-)(?!.*\.\.)[\w/.,=+@:-]+( +[\w/.,=+@:-]+)*")
OWN_FILES = ("catalog", "encoder", "needs", "pretrain")  # of the plan, beside the variants'
CODE_FILE = "code-"  # how the names of the plan's further files begin
MOST = 2**31 - 1  # that any key may hold whose field says nothing: larger numbers overflow
CHECKED = ConfigDict(strict=True, allow_inf_nan=False)


class Key(NamedTuple):
    """A key of a section: the type of what settings may write there, and the default."""

    type: Any
    default: Any


def _task_or_others(name: str, info: ValidationInfo) -> str:
    return name if name == OTHERS else known_task(name, info)


def _all_or_list(value: Any) -> Any:
    if value != "all" and not isinstance(value, list):
        raise ValueError("allowed: all, or a list of tasks")
    return value


ByTask = Annotated[str, AfterValidator(_task_or_others)]  # the key of a value for that task
Names = Annotated[list[TaskName], Field(min_length=1), ONCE]
Tasks = Annotated[
    Annotated[Literal["all"], Tag("[all]")] | Annotated[Names, Tag("[names]")],
    Discriminator(lambda value: "[names]" if isinstance(value, list) else "[all]"),
    BeforeValidator(_all_or_list),
]
Technique = Annotated[str, one_of("technique", USABLE)]
Objectives = Annotated[list[Annotated[str, one_of(OBJECTIVES.kind, OBJECTIVES)]], ONCE]

# The settings that a section becomes, by its place.
SETTINGS: dict[Place, type[Section]] = {
    ("run",): RunSettings,
    ("model",): ModelSettings,
    ("training",): PhaseSettings,
    ("encoder",): EncoderSettings,
    ("pretrain", SBERT): SbertSettings,
}
SETTINGS |= {(name,): registry[name].settings for registry in REGISTRIES for name in registry}
# Keys that settings write otherwise than a resolved variant holds them. Settings name a technique, and a variant holds
# its options, too. Settings may say `all` or `others`, and a variant lists its tasks.
WRITTEN: dict[Place, Key] = {
    place: Key(Annotated[str, one_of(registry.kind, registry)], registry.default) for place, registry in PLACES.items()
}
WRITTEN |= {
    ("model", "encoder"): Key(Annotated[str, one_of("starting weights", STARTS)], "base"),
    ("model", "heads"): Key(
        dict[ByTask, Annotated[str, one_of(HEADS.kind, HEADS)] | None], dict.fromkeys((*COURSE, OTHERS), HEADS.default)
    ),
    ("model", "pooling"): Key(dict[ByTask, Pooling | None], dict.fromkeys((*COURSE, OTHERS), "pooler")),
    ("training", "tasks"): Key(Tasks, "all"),
    ("training", "objectives"): Key(Objectives, []),
    ("training", "learning_rate"): Key(LearningRate, 2e-5),
}


@cache
def keys(*place: str) -> dict[str, Key]:
    """Return the keys of the section at a place."""
    listed: dict[str, Key] = {}
    for name, field in SETTINGS[place].model_fields.items():
        field_type: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        listed[name] = WRITTEN.get((*place, name)) or Key(field_type, default)
    return listed


def _plain(text: str) -> str:
    if not PLAIN.fullmatch(text):
        allowed = "letters, digits, spaces within and / . , = _ - + @ :, no .., no - at the start"
        raise ValueError(f"it cannot be part of a command; allowed: {allowed}")
    return text


def _free(name: str) -> str:
    if name in OWN_FILES or name.startswith(CODE_FILE):
        raise ValueError(f"a file of the plan has such a name; taken: {', '.join(OWN_FILES)}, and {CODE_FILE}...")
    return name


def _refuse_huge(value: Any) -> Any:
    numbers = [value]
    if isinstance(value, dict):
        numbers = [*value.values()]
    elif isinstance(value, list):
        numbers = value
    if any(isinstance(number, int | float) and number > MOST for number in numbers):
        raise ValueError(f"allowed: at most {MOST}")
    return value


Members = list[Annotated[str, one_of("variant")]]
Layer = dict[str, Any]  # may hold sections, whose keys are checked one by one


class _Entry(Answers):  # docs/settings.md has a table of its keys
    paper: Annotated[str, one_of("paper")] | None = None
    preset: Annotated[str, one_of("preset")] | None = None
    uses: Annotated[list[Technique], ONCE] | None = None
    tasks: Names | None = None
    phases: list[Layer] = []


class _Ensemble(Section):
    paper: Annotated[str, one_of("paper")] | None = None
    row: str = ""
    members: Annotated[Members, Field(min_length=1), ONCE]
    merge: Annotated[str, one_of("merge", MERGES)] | None = None  # none: they vote


class _Trial(Section):
    factor: float
    score: float
    seconds: float


class _Tuned(Section):
    trials: list[_Trial] = []


class _Document(Section):
    profile: Annotated[str, one_of("profile")]
    data_dir: Annotated[str, AfterValidator(_plain)]
    held_out: Annotated[int, Field(ge=2)] | None = None
    most_refused: Annotated[float, Field(ge=0, le=1)] | None = None
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1), ONCE]
    variants: Annotated[Members, Field(min_length=1), ONCE]
    ensembles: dict[Name, _Ensemble]
    profiles: dict[Name, Layer | None]
    presets: dict[Name, Layer | None]
    tuned: dict[Name, Layer] = {}
    catalog: dict[Annotated[Name, AfterValidator(_free)], Layer]


def find_faults(params: Params) -> list[Fault]:
    """Return faults of single values; where there are none, of whole sections; where none either, of the data."""
    return [*_ValueCheck(params).faults()] or [*_section_faults(params)] or [*_data_faults(params)]


class _ValueCheck:
    """Checks each value by itself.

    Attributes:
        names: the allowed names by kind, such as `profile`; validators find them in pydantic's context.
    """

    def __init__(self, params: Params) -> None:
        self.values = params.values
        self.names: dict[str, Mapping[str, Any]] = {
            "profile": _mapping(params.get("profiles")),
            "preset": _mapping(params.get("presets")),
            "variant": _mapping(params.get("catalog")),
            "paper": params.papers,
            "task": {**COURSE, **params.tasks},
        }

    def faults(self) -> Iterator[Fault]:
        """Yield the faults of the top of params.yaml, and of every profile, preset and variant."""
        of_variant = (*COMMON, *NAMES)
        yield from self._layer((), self.values, SECTIONS, _Document)
        for key, sections, entry_type in (
            ("profiles", SECTIONS, NoOptions),
            ("presets", of_variant, NoOptions),
            ("tuned", ("training",), _Tuned),
            ("catalog", of_variant, _Entry),
        ):
            for name, layer in _mapping(self.values.get(key)).items():
                yield from self._layer((key, name), _mapping(layer), sections, entry_type)
                for number, phase in enumerate(_phases(layer)):
                    yield from self._section((key, name, "phases", number), ("training",), phase)

    def _layer(
        self, place: Place, layer: Mapping[str, Any], sections: Collection[str], entry_type: type[Section]
    ) -> Iterator[Fault]:
        """Yield the faults of a layer: of its sections, and of the values beside these, whose type is `entry_type`."""
        yield from _unknown(place, layer, [*entry_type.model_fields, *sections])
        values = {key: value for key, value in layer.items() if key in entry_type.model_fields}
        yield from self._faults(place, lambda: entry_type.model_validate(values, context=self.names))
        for section in layer.keys() & {*sections}:
            if section == "pretrain":
                yield from self._pretrain((*place, section), layer[section])
            else:
                yield from self._section((*place, section), (section,), layer[section])

    def _pretrain(self, place: Place, values: Any) -> Iterator[Fault]:
        """Yield the faults of section `pretrain`, which holds one for each pretraining."""
        yield from _no_mapping(place, values)
        yield from _unknown(place, _mapping(values), [SBERT])
        yield from self._section((*place, SBERT), ("pretrain", SBERT), _mapping(values).get(SBERT))

    def _section(self, place: Place, section: tuple[str, ...], values: Any) -> Iterator[Fault]:
        """Yield the faults of the section that stands at `place`. Null is no value."""
        yield from _no_mapping(place, values)
        yield from _unknown(place, _mapping(values), keys(*section))
        for key in keys(*section).keys() & _mapping(values).keys():
            check = partial(_adapter(*section, key).validate_python, values[key], context=self.names)
            yield from self._faults((*place, key), check)

    def _faults(self, place: Place, check: Callable[[], Any]) -> Iterator[Fault]:
        """Yield what a check of pydantic's finds in the values at a place."""
        try:
            check()
        except pydantic.ValidationError as error:
            for within, message in faults(error):
                yield Fault((*place, *within), message)


@cache
def _adapter(*place: str) -> TypeAdapter[Any]:
    """Return what checks the value at a place: the keys of its section, then its own."""
    *section, key = place
    bounded: Any = Annotated[keys(*section)[key].type | None, AfterValidator(_refuse_huge)]
    return TypeAdapter(bounded, config=CHECKED)


def _unknown(place: Place, values: Iterable[str], allowed: Collection[str]) -> Iterator[Fault]:
    for key in values:
        if key not in allowed:
            yield Fault((*place, key), str(UnknownNameError("key", key, allowed)))


def _no_mapping(place: Place, values: Any) -> Iterator[Fault]:
    if values is not None and not isinstance(values, dict):
        yield Fault(place, f"a section holds keys and values, got {values!r:.80}")


def _mapping(values: Any) -> dict[str, Any]:
    """Return a mapping; of null, and of what ought to be one and is refused elsewhere, an empty one."""
    return values if isinstance(values, dict) else {}


def _phases(layer: Any) -> list[Any]:
    phases = _mapping(layer).get("phases")
    return phases if isinstance(phases, list) else []


def _section_faults(params: Params) -> Iterator[Fault]:
    """Yield the faults of values that do not go together in a section, also in one that no variant uses."""
    for place, settings_type in SETTINGS.items():
        if place in (("model",), ("training",)):  # `resolve` checks these, with the techniques that they name
            continue
        try:
            settings_type(**at(merged(params, str(place[0])), place[1:]) or {})
        except pydantic.ValidationError as error:
            for within, message in faults(error):
                yield Fault(where_set(params, (*place, *within)), message)


def _data_faults(params: Params) -> Iterator[Fault]:
    """Yield a fault where the data folder holds no corpus: DVC reads all of the folder later."""
    data = params.file.parent / params.get("data_dir")
    names = [file for task in params.tasks.values() for file in task.files.values()]
    if not any((data / file).is_file() for file in names):
        allowed = "data/sample, data/official (`make official`), or a folder of your own"
        example = "such as cs224n/ids-sst-train.csv"
        lacking = f"holds no file of a task, {example}{files.compressed(data, names)}; allowed: {allowed}"
        yield Fault(("data_dir",), f"{params.get('data_dir')} {lacking}")
