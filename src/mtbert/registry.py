"""Map names in params.yaml to code.

A technique is one file. One line in its package's `__init__` registers it, under the name that params.yaml, the tables
and the file use.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from mtbert.errors import RefusedSettingsError, UnknownNameError, in_words

S = TypeVar("S", bound=BaseModel)  # settings of one technique
P = ParamSpec("P")  # arguments of a kind's techniques beside their settings
T = TypeVar("T")  # the base class of a kind


@dataclass(frozen=True)
class Technique(Generic[S, P, T]):
    """A registered technique: the type of its settings, and the class that is built from them and further arguments."""

    settings: type[S]
    build: Callable[Concatenate[S, P], T]

    @property
    def source(self) -> Path:
        """The file that holds the technique."""
        return Path(inspect.getfile(self.build))


@dataclass(frozen=True)
class Choice(Generic[S]):
    """A technique that a variant uses, by its name, and its settings."""

    name: str
    settings: S

    def dump(self) -> dict[str, Any]:
        """Return what a plan file holds: {"name": name, option: value, ...}."""
        return {"name": self.name, **self.settings.model_dump()}


class Registry(dict[str, Technique[Any, P, T]], Generic[P, T]):
    """The techniques of one kind, by name; an unknown name is a SettingsError.

    `Registry[[Shape, Sequence[str]], Adapter]` holds techniques that are built from (settings, shape, tasks); the type
    checker compares every constructor with that. `default` is the one that holds where settings name none. A field of
    type `Annotated[Choice[Any], ADAPTERS]` holds one of `ADAPTERS`.
    """

    def __init__(self, kind: str, techniques: dict[str, Technique[Any, P, T]], default: str | None = None) -> None:
        super().__init__(techniques)
        self.kind = kind
        self.default = default

    def __missing__(self, name: str) -> Technique[Any, P, T]:
        raise UnknownNameError(self.kind, name, self)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Have pydantic read and write a field that is annotated with this registry as plan files have it."""
        serialization = core_schema.plain_serializer_function_ser_schema(Choice.dump)
        return core_schema.no_info_plain_validator_function(self.choose, serialization=serialization)

    def choose(self, content: Mapping[str, Any] | Choice[Any]) -> Choice[Any]:
        """Return the technique that a plan file states, its settings checked; one that is chosen already stays.

        Raises:
            UnknownNameError: no technique has that name.
            RefusedSettingsError: it refuses these settings, or no technique is named.
        """
        if isinstance(content, Choice):
            return content
        if not isinstance(content, Mapping) or not isinstance(content.get("name"), str):
            raise RefusedSettingsError(f"{self.kind}: allowed: a mapping with a name, and the technique's options")
        name = content["name"]
        options = {key: value for key, value in content.items() if key != "name"}
        try:
            return Choice(name, self[name].settings.model_validate(options))
        except ValidationError as error:
            raise RefusedSettingsError(f"{self.kind} {name}: {in_words(error)}") from None

    def build(self, chosen: Choice[Any], *surroundings: P.args, **named: P.kwargs) -> T:
        """Build a chosen technique."""
        return self[chosen.name].build(chosen.settings, *surroundings, **named)

    def class_of(self, chosen: Choice[Any]) -> Any:
        """Return a chosen technique's class, which says what it is for, and checks what it can serve."""
        return self[chosen.name].build
