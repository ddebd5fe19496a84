"""Small untrained encoders in folders, as the model hub has them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import ByteLevelBPETokenizer, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

LINES = (
    "A man inspects the uniform of a figure in some East Asian country.",
    "The man is sleeping, isn't he?",
    "An older and younger man smiling; two men are smiling and laughing at the cats playing on the floor.",
)
SMALL: dict[str, Any] = {
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
    "initializer_range": 0.2,
}  # fmt: skip
ROBERTA = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}


def byte_level(lines: Iterable[str] = LINES, pieces: int = 400, **about: Any) -> PreTrainedTokenizerFast:
    """RoBERTa's kind of tokenizer, trained on these lines."""
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(lines, pieces, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    trained.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, **ROBERTA, **about)


def cased() -> PreTrainedTokenizerFast:
    """BERT's kind of tokenizer with capital letters, its marks at unusual ids."""
    words = [
        "man", "Man", "A", "##ning", "smi", "##ling", ".", "[MASK]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "Ü", "##s",
    ]  # fmt: skip
    tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 9), ("[CLS]", 11))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, do_lower_case=False, **BERT)


def config(kind: str = "roberta", pieces: int = 400, positions: int = 128, **changes: Any) -> PreTrainedConfig:
    """A small configuration of that `model_type`."""
    own = {} if kind == "bert" else {"pad_token_id": 1, "type_vocab_size": 1}
    return transformers.AutoConfig.for_model(
        kind, **SMALL | own | {"vocab_size": pieces, "max_position_embeddings": positions} | changes
    )


def model(name: str, of: PreTrainedConfig) -> PreTrainedModel:
    """Random weights of that class of Hugging Face."""
    torch.manual_seed(0)
    return getattr(transformers, name)(of).eval()


def folder(
    out: Path, name: str = "RobertaForMaskedLM", kind: str = "roberta", lines: Iterable[str] = LINES, **changes: Any
) -> Path:
    """A folder with model.safetensors, config.json and the tokenizer of that kind."""
    tokenizer = cased() if kind == "bert" else byte_level(lines)
    model(name, config(kind, len(tokenizer), **changes)).save_pretrained(out)
    tokenizer.save_pretrained(out)
    return out
