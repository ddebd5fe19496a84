"""Hugging Face's Trainer, fine-tuning the same encoder on the same sequences, tokenized beforehand."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from corpus import Corpus, Plan, vocabulary
from transformers import (
    AutoModelForSequenceClassification,
    BertTokenizer,
    DataCollatorWithPadding,
    PretrainedConfig,
    PrinterCallback,
    TrainingArguments,
)
from transformers import Trainer as HuggingFaceTrainer

# The Trainer's own defaults; with bf16, batches of like lengths and the fused optimiser; and compiled as well.
KINDS: dict[str, dict[str, Any]] = {
    "trainer": {},
    "trainer-best": {"optim": "adamw_torch_fused"},
    "trainer-compiled": {"optim": "adamw_torch_fused", "torch_compile": True},
}


class Planned(HuggingFaceTrainer):
    """The Trainer, told which examples come next; batches are made and padded when they are asked for, as always."""

    order: list[list[int]]

    def get_train_dataloader(self) -> torch.utils.data.DataLoader:
        """Its usual loader, with the plan's batches instead of its sampler's."""
        loader = torch.utils.data.DataLoader(
            self.train_dataset,  # type: ignore[arg-type]
            batch_sampler=self.order,
            collate_fn=self._get_collator_with_removed_columns(self.data_collator, description="training"),
            pin_memory=self.args.device.type == "cuda",
        )
        return self.accelerator.prepare(loader)


def training(
    kind: str,
    plan: Plan,
    corpora: Mapping[str, Corpus],
    config: PretrainedConfig,
    device: torch.device,
    scratch: Path,
    bf16: bool,
) -> Callable[[], None]:
    """A function that trains the whole plan once more; nothing is logged, saved or evaluated.

    `bf16` tells whether the hardware has it: where it has not, the best settings are without.
    """
    torch.manual_seed(1)
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate(vocabulary(config.vocab_size))})
    examples: list[dict[str, Any]] = []
    numbers: dict[tuple[str, int], int] = {}  # of the examples, by task and pick
    for task, corpus in corpora.items():
        for pick in range(len(corpus.first)):
            ids, types = corpus.joined(pick)
            example = {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": corpus.labels[pick]}
            if config.model_type == "bert":
                example["token_type_ids"] = types
            numbers[task, pick] = len(examples)
            examples.append(example)
    settings = {**KINDS[kind], "bf16": bf16 and kind != "trainer"}
    arguments = TrainingArguments(
        output_dir=str(scratch),
        max_steps=len(plan),
        use_cpu=device.type == "cpu",
        disable_tqdm=True,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        **settings,
    )
    config.num_labels = 5
    trainer = Planned(
        model=AutoModelForSequenceClassification.from_config(config),
        args=arguments,
        train_dataset=examples,  # type: ignore[arg-type]
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.order = []
    for step in plan:
        trainer.order.append([numbers[task, pick] for task, picks in step.items() for pick in picks])
    return trainer.train  # type: ignore[return-value]
