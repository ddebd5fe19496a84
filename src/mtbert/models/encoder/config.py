"""What config.json states of an encoder, and which architectures are supported; imports no torch or transformers."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from mtbert import files
from mtbert.errors import EncoderError, in_words

CONFIG = "config.json"
MLM_HEAD = "mlm_head.safetensors"  # in an encoder's directory, where its checkpoint brings one
# What it holds, by Hugging Face's names: of LN(GELU(W h + b)), and the bias of the words' scores.
MLM_PARTS = tuple(
    f"cls.predictions.{part}"
    for part in ("transform.dense.weight", "transform.dense.bias", "transform.LayerNorm.weight",
                 "transform.LayerNorm.bias", "bias")
)  # fmt: skip
# The only values that are supported of settings that change the outputs.
EXPECTED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
# Bounds that no known encoder comes near: a foreign config.json must not fill the memory.
Size = Annotated[int, Field(ge=1, le=2_000_000)]
Count = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0, lt=1)]


@dataclass(frozen=True)
class Config:
    """What config.json states of a BERT, by its names."""

    vocab_size: Size
    hidden_size: Size
    num_hidden_layers: Count
    num_attention_heads: Count
    intermediate_size: Size
    max_position_embeddings: Size
    type_vocab_size: Count = 2
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: Share = 0.1
    attention_probs_dropout_prob: Share = 0.1
    initializer_range: float = 0.02


def read_config(directory: Path) -> Config:
    """Read config.json of an encoder's directory; EncoderError for an architecture that is not supported."""
    file = directory / CONFIG
    settings = files.read_as(dict[str, Any], file, "dvc repro encoder")
    for name, value in EXPECTED.items():
        if settings.get(name, value) != value:
            raise EncoderError(f"{file}: {name} is {settings[name]!r}; allowed: {value!r}")
    stated = {field.name: settings[field.name] for field in fields(Config) if settings.get(field.name) is not None}
    try:
        config = TypeAdapter(Config).validate_json(json.dumps(stated), strict=True)
    except ValidationError as error:
        raise EncoderError(f"{file}: {in_words(error)}") from None
    if config.hidden_size % config.num_attention_heads:
        raise EncoderError(
            f"{file}: num_attention_heads is {config.num_attention_heads}, which does not divide hidden_size, "
            f"{config.hidden_size}"
        )
    return config
