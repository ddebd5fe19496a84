"""Small untrained encoders in folders, as the model hub has them."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, PreTrainedModel, PreTrainedTokenizerFast

SMALL: dict[str, Any] = {
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
    "initializer_range": 0.2,
}  # fmt: skip
MARKS = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
WORDS = ["man", "Man", "A", "##ning", "smi", "##ling", ".", "[MASK]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "Ü", "##s"]


def cased() -> PreTrainedTokenizerFast:
    """BERT's kind of tokenizer with capital letters, its marks at unusual ids."""
    tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 9), ("[CLS]", 11))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, do_lower_case=False, **MARKS)


def config(pieces: int = len(WORDS), positions: int = 128, **changes: Any) -> BertConfig:
    """A small configuration."""
    return BertConfig(**SMALL | {"vocab_size": pieces, "max_position_embeddings": positions} | changes)


def model(name: str, of: BertConfig) -> PreTrainedModel:
    """Random weights of that class of Hugging Face."""
    torch.manual_seed(0)
    return getattr(transformers, name)(of).eval()


def folder(out: Path, name: str = "BertModel", **changes: Any) -> Path:
    """A folder with model.safetensors, config.json and the tokenizer."""
    model(name, config(**changes)).save_pretrained(out)
    cased().save_pretrained(out)
    return out
