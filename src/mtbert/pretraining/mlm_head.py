"""The prediction head of a masked language model, in a file beside the encoder whose checkpoint brings one.

It maps a token's hidden state to LN(GELU(W h + b)), and that by the word embeddings and a bias to the vocabulary. The
file holds dense.weight [width, width], dense.bias, norm.weight, norm.bias [width] and bias [vocabulary] in fp32.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file

from mtbert.models.encoder.config import BERT, MLM_HEAD
from mtbert.pretraining.loading import SAFELY

if TYPE_CHECKING:  # transformers is imported only where needed
    from transformers import PreTrainedModel

# Where Hugging Face's classes have dense, norm and bias.
OF_BERT = ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias")
OF_ROBERTA = ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias")


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


def put(encoder: Path, model: "PreTrainedModel") -> None:
    """Give the head of an encoder's folder, if it has one, to Hugging Face's masked language model."""
    if (encoder / MLM_HEAD).is_file():
        names = _names(model)
        head = {names[part]: weights for part, weights in load_file(encoder / MLM_HEAD).items()}
        model.load_state_dict(head, strict=False)


def _names(model: "PreTrainedModel") -> dict[str, str]:
    dense, norm, bias = OF_BERT if model.config.model_type == BERT else OF_ROBERTA
    parts = {f"{part}.{kind}": f"{name}.{kind}" for part, name in (("dense", dense), ("norm", norm))
             for kind in ("weight", "bias")}  # fmt: skip
    return parts | {"bias": bias}
