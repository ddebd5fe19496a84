"""Map names in params.yaml to code.

A technique is one file. One line in its package's `__init__` registers it, under the name that params.yaml, the tables
and the file use.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import pydantic

from mtbert.errors import SettingsError, UnknownNameError, in_words

S = TypeVar("S")  # settings of one technique
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


class Registry(dict[str, Technique[Any, P, T]], Generic[P, T]):
    """The techniques of one kind, by name; an unknown name is a SettingsError.

    `Registry[[Shape, Sequence[str]], Adapter]` holds techniques that are built from (settings, shape, tasks); the type
    checker compares every constructor with that. `default` is the one that holds where settings name none.
    """

    def __init__(self, kind: str, techniques: dict[str, Technique[Any, P, T]], default: str | None = None) -> None:
        super().__init__(techniques)
        self.kind = kind
        self.default = default

    def __missing__(self, name: str) -> Technique[Any, P, T]:
        raise UnknownNameError(self.kind, name, self)

    def build(self, choice: dict[str, Any], *surroundings: P.args, **named: P.kwargs) -> T:
        """Build the technique that `choice` ({"name": ..., option: value, ...}) describes."""
        return self[choice.get("name", "")].build(self.settings(choice), *surroundings, **named)

    def settings(self, choice: dict[str, Any]) -> Any:
        """Return the settings in `choice`; SettingsError where they do not fit the technique."""
        options = {key: value for key, value in choice.items() if key != "name"}
        try:
            return self[choice.get("name", "")].settings(**options)
        except pydantic.ValidationError as error:
            raise SettingsError(f"{self.kind} {choice['name']}: {in_words(error)}") from None
