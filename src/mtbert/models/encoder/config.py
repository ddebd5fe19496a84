"""What config.json states of an encoder, whichever its architecture; imports no torch or transformers."""

import functools
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from mtbert import files
from mtbert.errors import EncoderError, in_words

CONFIG = "config.json"
# What it holds, by BERT's names: the weights of LN(GELU(W h + b)), and the bias of the words' scores.
MLM_PARTS = (
    "cls.predictions.transform.dense.weight",
    "cls.predictions.transform.dense.bias",
    "cls.predictions.transform.LayerNorm.weight",
    "cls.predictions.transform.LayerNorm.bias",
    "cls.predictions.bias",
)
# Bounds that no known encoder comes near: a foreign config.json must not fill the memory.
Size = Annotated[int, Field(ge=1, le=2_000_000)]
MOST_LAYERS = 256
Count = Annotated[int, Field(ge=1, le=MOST_LAYERS)]
Share = Annotated[float, Field(ge=0, lt=1)]
# Settings of every architecture that change the outputs in transformers, and the only value of each that is supported.
COMMON: dict[str, Any] = {
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "quantization_config": None,
    "per_layer_config": None,
    "pruned_heads": None,
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """What config.json states of every architecture, by its names; architectures have more.

    Attributes:
        expected: more settings as in COMMON, of this architecture alone.
        absent: what such a setting is where it is not stated, if that is another value.
    """

    expected = {}
    absent = {}

    vocab_size: Size
    hidden_size: Size
    num_hidden_layers: Count
    num_attention_heads: Count
    intermediate_size: Size
    max_position_embeddings: Size
    initializer_range: float = 0.02

    @property
    def positions(self) -> int:
        """Tokens of the longest sequence."""
        return self.max_position_embeddings

    @property
    def token_types(self) -> int:
        """How many token types there are; below two nothing tells a pair's sentences apart."""
        return 0

    @property
    def epsilon(self) -> float:
        """What keeps LayerNorm's divisions finite."""
        raise NotImplementedError

    @classmethod
    def normalised(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Return what config.json states by the names of today, where older ones are known; here, all of it."""
        return stated


ConfigType = TypeVar("ConfigType", bound=Config)


def parsed(config_type: type[ConfigType], stated: dict[str, Any], file: Path) -> ConfigType:
    """Return what config.json states in that type; EncoderError for what is not supported of the architecture."""
    settings = config_type.absent | config_type.normalised(stated)
    for name, value in {**COMMON, **config_type.expected}.items():
        setting = settings.get(name, value)
        is_empty = value is None and setting in ({}, [], "")
        if setting != value and not is_empty:
            allowed = "no such key" if value is None else repr(value)
            raise EncoderError(f"{file}: {name} is {setting!r}; allowed: {allowed}")
    names = [field.name for field in fields(config_type)]
    needed = {name: settings[name] for name in names if settings.get(name) is not None}
    try:
        config = _adapter(config_type).validate_json(json.dumps(needed), strict=True)
    except ValidationError as error:
        raise EncoderError(f"{file}: {in_words(error)}") from None
    if config.hidden_size % config.num_attention_heads:
        raise EncoderError(
            f"{file}: num_attention_heads is {config.num_attention_heads}, which does not divide hidden_size, "
            f"{config.hidden_size}"
        )
    return config


@functools.cache
def _adapter(config_type: type[Config]) -> TypeAdapter[Any]:
    return TypeAdapter(config_type)


def content_of(directory: Path) -> dict[str, Any]:
    """Read config.json of an encoder's directory; EncoderError where it asks for code of its own."""
    file = directory / CONFIG
    content = files.read_as(dict[str, Any], file, "dvc repro encoder")
    if content.get("auto_map"):
        raise EncoderError(
            f"{file}: auto_map names code that comes with the weights, which is never run; allowed: none, for an "
            "architecture that this project knows"
        )
    return content
