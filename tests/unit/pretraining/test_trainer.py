"""What Hugging Face's trainer is told."""

from pathlib import Path

import pytest
from transformers import TrainingArguments

from mtbert.pretraining.settings import MlmSettings
from mtbert.pretraining.trainer import arguments


@pytest.mark.parametrize(("clip", "most"), [(0.5, 0.5), ("none", 0.0)])
def test_settings_come_to_the_librarys_words(tmp_path: Path, clip: float | str, most: float):
    settings = MlmSettings(batch_size=4, epochs=3, warmup=0.2, clip=clip, learning_rate=0.5, device="cpu")
    made = arguments(TrainingArguments, settings, "mlm", 10, str(tmp_path))
    assert (made.per_device_train_batch_size, made.num_train_epochs, made.learning_rate) == (4, 3, 0.5)
    assert made.warmup_steps == 2  # of nine
    assert (made.max_grad_norm, made.weight_decay, made.use_cpu) == (most, 0.01, True)
