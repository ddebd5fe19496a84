"""Starting weights rounded to fp16."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from mtbert import files
from mtbert.errors import EncoderError
from mtbert.pretraining import loading


def encoder(folder: Path, *weights: float) -> Path:
    save_file({"weight": torch.tensor(weights), "ids": torch.tensor([70000])}, folder / "model.safetensors")
    files.write_json(folder / "encoder.json", {"name": "tiny", "note": "Untrained.", "sha256": "of the fp32"})
    return folder


def test_weights_take_the_nearest_number_of_fp16_and_the_card_says_so(tmp_path: Path):
    loading.to_fp16(encoder(tmp_path, 1.0, 1.0004, 2049.0, 1e-8))
    found = load_file(tmp_path / "model.safetensors")
    assert found["weight"].dtype == torch.float16
    assert found["weight"].tolist() == [1.0, 1.0, 2048.0, 0.0]
    assert found["ids"].tolist() == [70000]
    assert files.read_json(tmp_path / "encoder.json") == {
        "name": "tiny",
        "note": "Untrained. Its weights are rounded to fp16.",
        "sha256": files.sha256(tmp_path / "model.safetensors"),
    }


def test_a_weight_that_is_too_large_is_refused_and_nothing_changed(tmp_path: Path):
    before = (encoder(tmp_path, 1.0, 70000.0) / "model.safetensors").read_bytes()
    with pytest.raises(
        EncoderError, match=r"encoder\.weights is fp16, which holds numbers up to 65,504, but .*: weight;"
    ):
        loading.to_fp16(tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == before
