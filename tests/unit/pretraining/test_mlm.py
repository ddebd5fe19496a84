"""MLM pretraining on a handful of sentences."""

from pathlib import Path

import pandas as pd
import pytest
import safetensors.torch
import torch

from mtbert import files
from mtbert.data import tokens
from mtbert.models.encoder.config import MLM_HEAD, MLM_PARTS
from mtbert.pretraining import fetching, loading, mlm
from mtbert.pretraining.settings import EncoderSettings, MlmSettings

SETTINGS = MlmSettings(
    corpora=["sst"], batch_size=4, learning_rate=5e-3, share=0.4, device="cpu", precision="fp32", threads=1
)
SENTENCES = [f"the {word} film is {word}" for word in ("good", "bad", "long", "short", "old", "new")]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    lines = [f"{n}\tid{n}\t{sentence}\t0\n" for n, sentence in enumerate(SENTENCES)]
    files.write_text(tmp_path / "data/cs224n/ids-sst-train.csv", "\tid\tsentence\tsentiment\n" + "".join(lines))
    small = EncoderSettings(name="tiny", width=24, heads=2, feed_forward=48, vocabulary=1000, positions=32)
    base = tmp_path / "build/encoders/base"
    fetching.fetch(small, tmp_path / "data", base)
    path = tmp_path / "build/data/sst/train.parquet"
    path.parent.mkdir(parents=True)
    pd.DataFrame({"tokens1": tokens.wordpieces(base)(SENTENCES)}).to_parquet(path)
    return tmp_path / "build"


def test_encoder_and_head_go_on_from_the_base_and_the_pooler_stays(build: Path):
    base, out = build / "encoders/base", build / "encoders/mlm"
    shapes = ((24, 24), (24,), (24,), (24,), (len(tokens.vocabulary(base)),))
    head = {name: torch.full(shape, 9.0) for name, shape in zip(MLM_PARTS, shapes, strict=True)}
    safetensors.torch.save_file(head, base / MLM_HEAD)
    mlm.pretrain(SETTINGS, build)
    before, after = loading.load(base), loading.load(out)
    assert torch.equal(before.pooler.dense.weight, after.pooler.dense.weight)
    moved = before.encoder.layer[0].output.dense.weight - after.encoder.layer[0].output.dense.weight
    assert 0 < moved.abs().max() < 0.1
    kept = safetensors.torch.load_file(out / MLM_HEAD)
    assert kept.keys() == head.keys()
    assert 0 < (kept[MLM_PARTS[-1]] - 9).abs().max() < 0.1
    assert loading.card(out)["source"] == "tiny, then a masked language model on the sentences of sst"


def test_the_same_seed_gives_the_same_weights(build: Path):
    digests = set()
    for state in range(2):
        torch.manual_seed(state)  # a new process starts from any state
        mlm.pretrain(SETTINGS, build)
        digests.add(files.sha256(build / "encoders/mlm/model.safetensors"))
    assert len(digests) == 1


def test_sentences_are_drawn_and_framed(build: Path):
    two = SETTINGS.model_copy(update={"max_sentences": 2})
    found = mlm.sentences(build / "data", build / "encoders/base", two, 4)
    assert [len(row) for row in found["input_ids"]] == [4, 4]
    assert {(row[0], row[-1]) for row in found["input_ids"]} == {(2, 3)}  # [CLS] and [SEP]
