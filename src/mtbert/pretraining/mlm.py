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
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerBase,
    Trainer,
    TrainingArguments,
)

from mtbert import files, seeding
from mtbert.data import tokens
from mtbert.errors import EncoderError
from mtbert.pretraining import loading, mlm_head
from mtbert.pretraining.settings import MlmSettings
from mtbert.pretraining.trainer import arguments


def pretrain(settings: MlmSettings, build: Path) -> None:
    """Train `build/encoders/base` on the sentences of `build/data`; write `build/encoders/mlm` or nothing.

    metrics.json beside it: the loss on the dev sets' sentences before and after. The pooler stays as it was: the masked
    language model does not use it.
    """
    torch.set_num_threads(settings.threads)
    base, out = build / "encoders" / "base", build / "encoders" / "mlm"
    card, encoder = loading.card(base), loading.load(base)
    with loading.quiet():
        tokenizer = AutoTokenizer.from_pretrained(base)
    if tokenizer.mask_token_id is None:
        raise EncoderError(f"pretrain.mlm needs a mask token, which the tokenizer of {card['name']} lacks")
    torch.manual_seed(seeding.derive(settings.seed, "mlm", "head"))  # drawn at random where the encoder has none
    model = AutoModelForMaskedLM.from_config(encoder.config)
    model.base_model.embeddings, model.base_model.encoder = encoder.embeddings, encoder.encoder
    mlm_head.put(base, model)
    model.tie_weights()
    limit = min(settings.max_tokens, card["positions"])
    sets = {split: sentences(build / "data", split, base, settings, limit) for split in ("train", "dev")}
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Trainer(
            model=model,
            args=arguments(TrainingArguments, settings, "mlm", len(sets["train"]), scratch),
            train_dataset=sets["train"],
            eval_dataset=sets["dev"],
            data_collator=_collator(tokenizer, settings),
        )
        before = _loss(trainer, settings)
        trainer.train()
        after = _loss(trainer, settings)
    with files.new_directory(out) as partial, loading.quiet():
        encoder.cpu().save_pretrained(partial)
        mlm_head.save(model, partial)
        loading.copy_tokenizer(base, partial)
        origin = f"{card['name']}, then a masked language model on the sentences of {', '.join(settings.corpora)}"
        loading.write_card(partial, "mlm", origin, card["note"])
        files.write_json(partial / "metrics.json", {"mlm_dev_loss_before": before, "mlm_dev_loss_after": after})


def sentences(data: Path, split: str, base: Path, settings: MlmSettings, limit: int) -> Dataset:
    """Return first sentences of the corpora's split in random order, at most `max_sentences`: column input_ids.

    Each is at most `limit` long with the special tokens of the tokenizer in `base`.
    """
    paths = [data / corpus / f"{split}.parquet" for corpus in settings.corpora]
    pieces = pd.concat([files.read_parquet(path, ["tokens1"])["tokens1"] for path in paths], ignore_index=True)
    order = seeding.stream(settings.seed, "mlm", split).permutation(len(pieces))[: settings.max_sentences]
    special, rows = tokens.special_tokens(base), pieces.iloc[order].tolist()
    return Dataset.from_dict({"input_ids": [special.single(row, limit)[0] for row in rows]})


def _collator(tokenizer: PreTrainedTokenizerBase, settings: MlmSettings) -> DataCollatorForLanguageModeling:
    seed = seeding.derive(settings.seed, "mlm", "masks") % 2**32
    return DataCollatorForLanguageModeling(tokenizer, mlm_probability=settings.share, seed=seed)


def _loss(trainer: Trainer, settings: MlmSettings) -> float:
    """Return the mean loss over the dev sentences, under the same masks each time."""
    torch.manual_seed(seeding.derive(settings.seed, "mlm", "dev"))
    trainer.data_collator = _collator(trainer.data_collator.tokenizer, settings)  # type: ignore[attr-defined]
    return float(trainer.evaluate()["eval_loss"])
