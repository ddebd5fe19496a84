"""Small shapes of every architecture, with random weights of Hugging Face's own classes."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES, MODEL_MAPPING_NAMES

from mtbert.models.encoder import architectures
from mtbert.models.encoder.base import Backbone

SMALL: dict[str, Any] = {
    "vocab_size": 80, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 40,
    "initializer_range": 0.2,
}  # fmt: skip
DEBERTA = {
    "max_position_embeddings": 64, "position_buckets": 8, "relative_attention": True, "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0,
}  # fmt: skip
ROBERTA = {"max_position_embeddings": 66, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}
OF_KIND: dict[str, dict[str, Any]] = {
    "bert": {"max_position_embeddings": 64},
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    # two layers that attend to all tokens, three to eight on either side
    "modernbert": {"num_hidden_layers": 5, "local_attention": 16, "max_position_embeddings": 128, "pad_token_id": 1},
    "deberta-v2": DEBERTA,
}
KINDS = tuple(OF_KIND)
ONE_EACH = ("bert", "roberta", "modernbert", "deberta-v2")  # of those with a file of their own
SENTENCES = ["a man plays a guitar .", "someone plays music , it is the same .", "the cat sleeps here"]


def theirs(kind: str, masked: bool = False, **changes: Any) -> PreTrainedModel:
    """Random weights of Hugging Face's class of a `model_type`, or of its masked language model, all drawn anew."""
    config = transformers.CONFIG_MAPPING[kind](**SMALL | OF_KIND[kind] | changes)
    names = MODEL_FOR_MASKED_LM_MAPPING_NAMES if masked else MODEL_MAPPING_NAMES
    torch.manual_seed(0)
    model = getattr(transformers, names[kind])(config).eval()
    for name, parameter in model.named_parameters():  # biases and LayerNorms start alike in every model
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, mean=1.0 if "norm" in name.lower() and "weight" in name else 0.0, std=0.2)
    return model


def ours(kind: str, folder: Path, **changes: Any) -> Backbone:
    """The same weights in this project's form, by way of a folder."""
    theirs(kind, **changes).save_pretrained(folder)
    return architectures.read(folder).eval()


def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """A tokenizer of the kind that the hub has with the architecture, learnt from SENTENCES."""
    made, names = _MADE[kind]()
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


BERTS = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
ROBERTAS = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}


def _byte_pairs(names: dict[str, str]) -> Tokenizer:
    """Byte-level BPE, as RoBERTa and ModernBERT have it."""
    special = [names[f"{name}_token"] for name in ("cls", "pad", "sep", "unk", "mask")]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = sorted({*"".join(SENTENCES), "Ġ"} - {" "})
    trainer = trainers.BpeTrainer(vocab_size=75, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(SENTENCES, trainer)
    return made


def _pieces(names: dict[str, str]) -> Tokenizer:
    """A unigram model with sentencepiece's space, as XLM-R, CamemBERT and DeBERTa have it."""
    special = [names[f"{name}_token"] for name in ("cls", "pad", "sep", "unk", "mask")]
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=special, unk_token=names["unk_token"], show_progress=False
    )
    made.train_from_iterator(SENTENCES, trainer)
    return made


def _roberta(pieces: Any) -> tuple[Tokenizer, dict[str, str]]:
    made = pieces(ROBERTAS)
    start, end = (made.token_to_id(name) for name in ("<s>", "</s>"))
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", start), ("</s>", end)]
    )
    return made, ROBERTAS


def _bert(pieces: Any, second: int) -> tuple[Tokenizer, dict[str, str]]:
    made = pieces(BERTS)
    start, end = (made.token_to_id(name) for name in ("[CLS]", "[SEP]"))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A [SEP] $B:{second} [SEP]:{second}",
        special_tokens=[("[CLS]", start), ("[SEP]", end)],
    )
    return made, BERTS


_MADE: dict[str, Any] = {
    "bert": lambda: _bert(_pieces, 1),
    "roberta": lambda: _roberta(_byte_pairs),
    "xlm-roberta": lambda: _roberta(_pieces),
    "camembert": lambda: _roberta(_pieces),
    "modernbert": lambda: _bert(_byte_pairs, 0),
    "deberta-v2": lambda: _bert(_pieces, 1),
}
OTHERS = tuple(kind for kind in _MADE if kind != "bert")


def folder(kind: str, out: Path, masked: bool = True, **changes: Any) -> Path:
    """A folder as on the hub: weights, config.json, tokenizer."""
    theirs(kind, masked, **changes).save_pretrained(out)
    tokenizer(kind).save_pretrained(out)
    return out
