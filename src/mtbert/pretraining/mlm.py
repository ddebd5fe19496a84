"""MLM pretraining: train the encoder on the language of the tasks' training sentences, before any fine-tuning.

What it does: trains Hugging Face's masked language model with its collator on the first sentence of every training
example of the tasks. It goes on with the head that the encoder brings, or with a new one.

Formula: mean over the chosen tokens of -log p(token | sentence with 15 % of its tokens hidden).

Source: "MinBERT and PALs", section 4.4; Devlin et al. (2019), section 3.1, task 1.

Raises: EncoderError where the base encoder is missing; DataError where a corpus is.
"""

import tempfile
from pathlib import Path

import pandas as pd
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, BertForMaskedLM, DataCollatorForLanguageModeling, Trainer, TrainingArguments

from mtbert import files, seeding
from mtbert.data import tokens
from mtbert.models.encoder.config import MLM_HEAD, MLM_PARTS
from mtbert.pretraining import loading
from mtbert.pretraining.settings import MlmSettings
from mtbert.pretraining.trainer import arguments


def pretrain(settings: MlmSettings, build: Path) -> None:
    """Train `build/encoders/base` on the sentences of `build/data`; write `build/encoders/mlm` or nothing.

    The pooler stays as it was: the masked language model does not use it.
    """
    torch.set_num_threads(settings.threads)
    base, out = build / "encoders" / "base", build / "encoders" / "mlm"
    card, encoder, tokenizer = loading.card(base), loading.load(base), AutoTokenizer.from_pretrained(base)
    torch.manual_seed(seeding.derive(settings.seed, "mlm", "head"))  # drawn at random where the encoder has none
    model = BertForMaskedLM(encoder.config)
    model.bert.embeddings, model.bert.encoder = encoder.embeddings, encoder.encoder
    if (base / MLM_HEAD).is_file():
        model.load_state_dict(load_file(base / MLM_HEAD), strict=False)
    model.tie_weights()
    rows = sentences(build / "data", base, settings, min(settings.max_tokens, card["positions"]))
    masks = seeding.derive(settings.seed, "mlm", "masks") % 2**32
    with tempfile.TemporaryDirectory() as scratch:
        Trainer(
            model=model,
            args=arguments(TrainingArguments, settings, "mlm", len(rows), scratch),
            train_dataset=rows,
            data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=settings.share, seed=masks),
        ).train()
    head = {name: value for name, value in model.cpu().state_dict().items() if name in MLM_PARTS}
    with files.new_directory(out) as partial:
        encoder.save_pretrained(partial)
        save_file(head, partial / MLM_HEAD)
        loading.copy_tokenizer(base, partial)
        origin = f"{card['name']}, then a masked language model on the sentences of {', '.join(settings.corpora)}"
        loading.write_card(partial, "mlm", origin, card["note"], settings.weights)


def sentences(data: Path, base: Path, settings: MlmSettings, limit: int) -> Dataset:
    """Return first sentences of the corpora's training rows in random order, at most `max_sentences`: column input_ids.

    Each is at most `limit` long with the special tokens of the tokenizer in `base`.
    """
    paths = [data / corpus / "train.parquet" for corpus in settings.corpora]
    pieces = pd.concat([files.read_parquet(path, ["tokens1"])["tokens1"] for path in paths], ignore_index=True)
    order = seeding.stream(settings.seed, "mlm", "train").permutation(len(pieces))[: settings.max_sentences]
    special, rows = tokens.special_tokens(base), pieces.iloc[order].tolist()
    return Dataset.from_dict({"input_ids": [special.single(row, limit)[0] for row in rows]})
