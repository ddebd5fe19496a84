"""Starting weights rounded to fp16."""

from pathlib import Path

import encoders
import pytest
import torch
from safetensors.torch import load_file, save_file

from mtbert import files
from mtbert.errors import EncoderError
from mtbert.pretrained import loading


def encoder(folder: Path, *weights: float) -> Path:
    encoders.config().save_pretrained(folder)
    save_file({"weight": torch.tensor(weights)}, folder / "model.safetensors")
    return folder


def test_weights_take_the_nearest_number_of_fp16(tmp_path: Path):
    loading.write_card(encoder(tmp_path, 1.0, 1.0004, 2049.0, 1e-8), "tiny", "here", "", "fp16")
    found = load_file(tmp_path / "model.safetensors")["weight"]
    assert (found.dtype, found.tolist()) == (torch.float16, [1.0, 1.0, 2048.0, 0.0])
    assert loading.card(tmp_path).sha256 == files.sha256(tmp_path / "model.safetensors")


def test_a_weight_that_is_too_large_is_refused(tmp_path: Path):
    with pytest.raises(
        EncoderError, match=r"fp16, which holds numbers up to 65,504, but some are larger: weight of model"
    ):
        loading.write_card(encoder(tmp_path, 1.0, 70000.0), "tiny", "here", "", "fp16")
