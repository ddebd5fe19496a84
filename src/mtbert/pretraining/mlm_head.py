"""The prediction head of a masked language model, in a file beside the encoder whose checkpoint brings one.

It maps a token's hidden state to LN(GELU(W h + b)), and that by the word embeddings and a bias to the vocabulary. The
file holds dense.weight [width, width], dense.bias, norm.weight, norm.bias [width] and bias [vocabulary] in fp32.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from mtbert.models.encoder.config import BERT, MLM_HEAD
from mtbert.pretraining.loading import SAFELY

if TYPE_CHECKING:  # transformers is imported only where needed
    from transformers import PreTrainedModel

# The names of its parts in Hugging Face's classes.
OF_BERT = {
    "dense.weight": "cls.predictions.transform.dense.weight",
    "dense.bias": "cls.predictions.transform.dense.bias",
    "norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "bias": "cls.predictions.bias",
}
OF_ROBERTA = {
    "dense.weight": "lm_head.dense.weight",
    "dense.bias": "lm_head.dense.bias",
    "norm.weight": "lm_head.layer_norm.weight",
    "norm.bias": "lm_head.layer_norm.bias",
    "bias": "lm_head.bias",
}


def keep(checkpoint: Path, out: Path) -> None:
    """Write the head of a checkpoint's folder to another folder; nothing where it brings none, or part of one."""
    from transformers import AutoModelForMaskedLM

    loaded: Any = AutoModelForMaskedLM.from_pretrained(checkpoint, dtype=torch.float32, **SAFELY)
    model, report = loaded
    if not set(_names(model).values()) & set(report["missing_keys"]):
        save(model, out)


def save(model: "PreTrainedModel", out: Path) -> None:
    """Write the head of Hugging Face's masked language model."""
    weights = model.state_dict()
    save_file({part: weights[name].cpu().contiguous() for part, name in _names(model).items()}, out / MLM_HEAD)


def read(encoder: Path) -> dict[str, Tensor]:
    """Return the head's weights by the names of its parts; none where the encoder has no head."""
    return load_file(encoder / MLM_HEAD) if (encoder / MLM_HEAD).is_file() else {}


def put(head: Mapping[str, Tensor], model: "PreTrainedModel") -> None:
    """Give the head's weights to Hugging Face's masked language model."""
    names = _names(model)
    model.load_state_dict({names[part]: weights for part, weights in head.items()}, strict=False)


def _names(model: "PreTrainedModel") -> dict[str, str]:
    return OF_BERT if model.config.model_type == BERT else OF_ROBERTA
