"""What Hugging Face's trainer is told in every pretraining."""

import sys
from typing import Any, TypeVar

from transformers import TrainingArguments

from mtbert import seeding
from mtbert.models.encoder import hardware
from mtbert.pretraining.settings import Pretraining

Arguments = TypeVar("Arguments", bound=TrainingArguments)
LOSSES_SHOWN = 20  # number of losses that a training prints


def arguments(
    kind: type[Arguments], settings: Pretraining, name: str, examples: int, scratch: str, **more: Any
) -> Arguments:
    """Return the arguments of a training on so many examples; `name` is that of the pretraining, and draws its seed."""
    device = hardware.device(settings.device)
    steps = settings.epochs * -(-examples // settings.batch_size)
    made = kind(
        output_dir=scratch,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        warmup_steps=round(settings.warmup * steps),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip or 0.0,  # the library clips by a norm above 0
        seed=seeding.derive(settings.seed, name, "training") % 2**32,  # NumPy takes 32 bits
        bf16=hardware.precision(settings.precision, device) == "bf16",
        use_cpu=device.type == "cpu",
        dataloader_pin_memory=device.type == "cuda",
        logging_steps=max(1, steps // LOSSES_SHOWN),
        save_strategy="no",
        report_to="none",
        disable_tqdm=not sys.stderr.isatty(),  # a log gets lines instead
        **more,
    )
    made._n_gpu = min(made.n_gpu, 1)  # each of several GPUs would see part of a batch, so fewer negatives in SBERT
    return made
