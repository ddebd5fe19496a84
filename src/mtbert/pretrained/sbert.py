"""SBERT pretraining: sentence embeddings from entailment pairs, with multiple negatives ranking (MNR).

What it does: embeds each premise and its entailed sentence separately (mean over tokens); every other second sentence
of the batch is a negative.

Formula: -1/K sum_i log softmax_j(s cos(u_i, v_j))_i over a batch of K pairs.

Source: "Pals for PALs", section 4.3 and equation 5; Reimers and Gurevych (2019); Henderson et al. (2017).

Symbols: K batch_size; u, v the embeddings [K, width] of the two sentences; s 20, the library's scale.

Raises: EncoderError where the base encoder is missing; DataError where a corpus is, or holds no pair.
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from sentence_transformers.sentence_transformer.training_args import BatchSamplers
from tqdm import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from mtbert import files, layout, seeding
from mtbert.errors import DataError
from mtbert.machine import hardware, starting
from mtbert.models.encoder.architectures import check_finite, read_config
from mtbert.pretrained import loading
from mtbert.pretrained.settings import SBERT, SbertSettings
from mtbert.tasks import COURSE

ENTAILMENT = COURSE["snli"].labels["entailment"]  # and MNLI's
COLUMNS = {"sentence1": "anchor", "sentence2": "positive"}
MOST_TOKENS = 128  # longer sentences are cut
LOSSES_SHOWN = 20  # number of losses that a training shows


def pretrain(settings: SbertSettings, build: Path) -> None:
    """Train `build/encoders/base` on the entailment pairs of `build/data`; write `build/encoders/sbert` or nothing.

    The result loads with SentenceTransformer(path), with AutoModel.from_pretrained(path) and with `loading.load`.
    """
    torch.set_num_threads(settings.threads)
    base = layout.encoder(build)
    base_card = loading.card(base)
    training_pairs = pairs(layout.data(build), settings)
    model = sentence_model(base, settings.device, MOST_TOKENS)
    corpora = f"entailment pairs of {' and '.join(settings.corpora)}"
    print(f"sbert: {len(training_pairs)} {corpora}, epochs: {settings.epochs}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        trainer = _Trainer(
            model=model,
            args=arguments(settings, len(training_pairs), scratch, hardware.measured(build)),
            train_dataset=Dataset.from_pandas(training_pairs),
            loss=MultipleNegativesRankingLoss(model),
            callbacks=[_ProgressBar()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    check_finite(model.state_dict(), "sbert: the pretraining diverged", "lower pretrain.sbert.learning_rate")
    with files.new_directory(layout.encoder(build, SBERT)) as partial:
        model.save(str(partial), create_model_card=False)
        loading.copy_tokenizer(base, partial)
        source = f"{base_card.name}, then SBERT pretraining on {corpora}"
        loading.write_card(partial, SBERT, source, base_card.note, settings.weights)


class _Trainer(SentenceTransformerTrainer):
    """The library's, without what it collects for a model card, since ours is another."""

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Add none."""


class _ProgressBar(TrainerCallback):
    """A bar as the stage `train` shows it, in place of the library's lines."""

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Show the bar."""
        self.bar = tqdm(total=state.max_steps, unit="step", mininterval=starting.SHOWN_EVERY)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Show a step more."""
        self.bar.update()

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Show the mean loss since the last time."""
        if "loss" in state.log_history[-1]:
            self.bar.set_postfix_str(f"loss {state.log_history[-1]['loss']:.3f}", refresh=False)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """End the bar's line."""
        self.bar.close()


def arguments(
    settings: SbertSettings, pairs: int, scratch: str, cpu_precision: hardware.Precision
) -> SentenceTransformerTrainingArguments:
    """Return the arguments of the library's trainer for so many pairs; for `cpu_precision`, see `hardware`."""
    device = hardware.training_device(settings.device)
    steps = settings.epochs * math.ceil(pairs / settings.batch_size)
    result = SentenceTransformerTrainingArguments(
        output_dir=scratch,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        batch_sampler=BatchSamplers.NO_DUPLICATES,  # the same sentence twice would be its own negative
        learning_rate=settings.learning_rate,
        warmup_steps=round(settings.warmup * steps),
        adam_epsilon=settings.eps,
        max_grad_norm=settings.clip or 0.0,  # the library clips by a norm above 0
        seed=seeding.derive(settings.seed, "sbert", "training") % 2**32,  # NumPy takes 32 bits
        bf16=hardware.precision(settings.precision, device, cpu_precision) == "bf16",
        use_cpu=device.type == "cpu",
        dataloader_pin_memory=device.type == "cuda",
        logging_steps=max(1, steps // LOSSES_SHOWN),
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,  # `_ProgressBar` shows ours
    )
    result._n_gpu = min(result.n_gpu, 1)  # each of several GPUs would see part of a batch, so fewer negatives
    return result


def pairs(data: Path, settings: SbertSettings) -> pd.DataFrame:
    """Return the corpora's entailment pairs, each once, in random order, at most `max_pairs`: anchor, positive."""
    columns = [*COLUMNS, "label"]
    tables = [files.read_parquet(layout.examples(data, name, "train"), columns) for name in settings.corpora]
    rows = pd.concat(tables)
    entailed = rows.loc[rows["label"] == ENTAILMENT, [*COLUMNS]].rename(columns=COLUMNS)
    distinct = entailed.drop_duplicates(ignore_index=True)
    order = seeding.stream(settings.seed, "sbert", "pairs").permutation(len(distinct))[: settings.max_pairs]
    if len(order) < 2:
        raise DataError(f"{data}: {len(order)} entailment pairs in {', '.join(settings.corpora)}, but 2 are needed")
    return distinct.iloc[order].reset_index(drop=True)


def sentence_model(directory: Path, device: str, max_tokens: int) -> SentenceTransformer:
    """Load the encoder of a directory as a model of sentences, which takes the mean over tokens.

    Texts of more than `max_tokens` are cut, as are those that are longer than the encoder takes.
    """
    loading.silence()
    card = loading.card(directory)
    architecture, _ = read_config(directory)
    options: dict[str, Any] = {"use_safetensors": True, "dtype": torch.float32}
    if architecture.has_pooler and not card.pooler:
        options["add_pooling_layer"] = False  # else one would be drawn at random, and saved with the model
    longest = min(max_tokens, card.positions)
    encoder = Transformer(str(directory), max_seq_length=longest, model_kwargs=options)
    pooling = Pooling(encoder.get_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(modules=[encoder, pooling], device=str(hardware.device(device)))
