"""What config.json states of an encoder, whichever its architecture; imports no torch or transformers."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from mtbert import files
from mtbert.errors import EncoderError, in_words

CONFIG = "config.json"
MLM_HEAD = "mlm_head.safetensors"  # in an encoder's directory, where its checkpoint brings one
# What it holds, by BERT's names: of LN(GELU(W h + b)), and the bias of the words' scores.
MLM_PARTS = tuple(
    f"cls.predictions.{part}"
    for part in ("transform.dense.weight", "transform.dense.bias", "transform.LayerNorm.weight",
                 "transform.LayerNorm.bias", "bias")
)  # fmt: skip
# Bounds that no known encoder comes near: a foreign config.json must not fill the memory.
Size = Annotated[int, Field(ge=1, le=2_000_000)]
Count = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0, lt=1)]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What config.json states of every architecture, by its names; architectures have more.

    Attributes:
        expected: settings that change the outputs, and the only value of each that is supported.
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


Kind = TypeVar("Kind", bound=Config)


def parsed(kind: type[Kind], stated: dict[str, Any], file: Path) -> Kind:
    """Return what config.json states as a `kind`; EncoderError for what is not supported of the architecture."""
    now = kind.absent | kind.normalised(stated)
    for name, value in kind.expected.items():
        if now.get(name, value) != value:
            raise EncoderError(f"{file}: {name} is {now[name]!r}; allowed: {value!r}")
    known = {field.name: now[field.name] for field in fields(kind) if now.get(field.name) is not None}
    try:
        config = TypeAdapter(kind).validate_json(json.dumps(known), strict=True)
    except ValidationError as error:
        raise EncoderError(f"{file}: {in_words(error)}") from None
    if config.hidden_size % config.num_attention_heads:
        raise EncoderError(
            f"{file}: num_attention_heads is {config.num_attention_heads}, which does not divide hidden_size, "
            f"{config.hidden_size}"
        )
    return config


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
