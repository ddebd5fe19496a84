"""What all types of settings are made of: their base, which refuses unknown keys, and the names and numbers in them.

A technique's own section is typed in the technique's file or its kind's base.py, those of a variant in `variants`.
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from mtbert import tasks
from mtbert.errors import UnknownNameError


def one_of(kind: str, allowed: Iterable[str] | None = None) -> AfterValidator:
    """Return the check that a name is one of those allowed; where none are given, one of its kind in the context."""

    def check(name: str, info: ValidationInfo) -> str:
        names = (info.context or {})[kind] if allowed is None else allowed
        if name not in names:
            raise UnknownNameError(kind, name, names)
        return name

    return AfterValidator(check)


def known_task(name: str, info: ValidationInfo) -> str:
    """Return the name of a task, checked: the context's, where params.yaml is read; else a name that leads nowhere."""
    allowed = (info.context or {}).get("task")
    if allowed is not None and name not in allowed:
        raise UnknownNameError("task", name, allowed)
    if not re.fullmatch(tasks.NAME, name):
        raise ValueError("a task's name has small letters, digits and _")
    return name


def _word(word: str, value: Any) -> Any:
    """Return None for the word that stands for it in params.yaml, where null means that the value is not set."""
    if isinstance(value, str) and value != word:
        raise ValueError(f"allowed: a number, or {word}")
    return None if value == word else value


ALL, NONE, OWN, BATCH = (BeforeValidator(partial(_word, word)) for word in ("all", "none", "own", "batch"))


def _each_once(values: list[Any]) -> list[Any]:
    if repeated := [value for number, value in enumerate(values) if value in values[:number]]:
        raise ValueError(f"{repeated[0]!r} is listed twice; allowed: each once")
    return values


ONCE = AfterValidator(_each_once)
TaskName = Annotated[str, AfterValidator(known_task)]  # also one that serves another, where a phase trains it
# Names become folders and stage names, so they may hold nothing that leads elsewhere.
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Name = Annotated[str, Field(pattern=NAME, max_length=60)]
PARTS = (
    "encoder", "embeddings", "layers", "attention", "feed_forward", "output_norms", "pooler", "biases",
    "features", "adapters", "connector", "heads",
)  # fmt: skip


def _known_part(name: str) -> str:
    if name not in PARTS and not re.fullmatch(r"layer_[1-9]\d?", name):
        raise UnknownNameError("part", name, (*PARTS, "layer_1", "layer_2", "... of the encoder"))
    return name


PartName = Annotated[str, AfterValidator(_known_part)]
Pooling = Literal["pooler", "cls", "mean"]


class Section(BaseModel):
    """Base of all settings: refuses unknown keys and NaN, converts nothing silently, and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, values: Any) -> Any:
        allowed = [field.alias or name for name, field in cls.model_fields.items()]
        for key in values if isinstance(values, dict) else ():
            if key not in allowed and cls.model_config.get("extra") == "forbid":
                raise UnknownNameError("key", key, allowed)
        return values


def undivided(width: str, size: int, heads: int) -> str:
    """Return the message for attention heads that do not divide a width."""
    return f"{width} is {size} and heads {heads}, which does not divide it; allowed: a multiple of {heads}"


class Published(Section):
    """The published rows that a variant is compared with.

    Attributes:
        paper, row: the paper and the row of its table; a variant of your own may have none.
        also: further rows of that paper that the same model is compared with.
        rival: its row among PALs' rivals, where it is compared with a paper and listed there, too.
    """

    paper: Name | None = None
    row: str = ""
    also: list[str] = []
    rival: str = ""


class NoOptions(Section):
    """Settings of a technique that has none."""
