"""MLM pretraining on a handful of sentences."""

from pathlib import Path

import pandas as pd
import pytest
import safetensors.torch
import torch

from mtbert import files
from mtbert.data import tokens
from mtbert.pretraining import fetching, loading, mlm
from mtbert.pretraining.settings import EncoderSettings, MlmSettings

SETTINGS = MlmSettings(
    corpora=["sst"], batch_size=4, learning_rate=5e-3, epochs=20, share=0.4, device="cpu", precision="fp32"
)
SENTENCES = [f"the {word} film is {word}" for word in ("good", "bad", "long", "short", "old", "new")]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    lines = [f"{n}\tid{n}\t{sentence}\t0\n" for n, sentence in enumerate(SENTENCES)]
    files.write_text(tmp_path / "data/cs224n/ids-sst-train.csv", "\tid\tsentence\tsentiment\n" + "".join(lines))
    small = EncoderSettings(name="tiny", width=24, layers=1, heads=2, feed_forward=48, vocabulary=1000, positions=32)
    base = tmp_path / "build/encoders/base"
    fetching.fetch(small, tmp_path / "data", base)
    for split in ("train", "dev"):
        path = tmp_path / f"build/data/sst/{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"tokens1": tokens.wordpieces(base)(SENTENCES)}).to_parquet(path)
    return tmp_path / "build"


def test_the_encoder_learns_the_sentences_and_keeps_its_pooler(build: Path):
    mlm.pretrain(SETTINGS, build)
    base, trained = loading.load(build / "encoders/base"), loading.load(build / "encoders/mlm")
    assert torch.equal(base.pooler.dense.weight, trained.pooler.dense.weight)
    assert not torch.equal(base.embeddings.word_embeddings.weight, trained.embeddings.word_embeddings.weight)
    metrics = files.read_json(build / "encoders/mlm/metrics.json")
    assert metrics["mlm_dev_loss_after"] < 0.7 * metrics["mlm_dev_loss_before"]


def test_it_goes_on_with_the_encoders_head_and_keeps_it_trained(build: Path):
    word = torch.full((len(tokens.vocabulary(build / "encoders/base")),), -30.0)
    word[-1] = 30.0  # the same piece, wherever
    head = {"dense.weight": torch.zeros(24, 24), "dense.bias": torch.zeros(24), "norm.weight": torch.ones(24),
            "norm.bias": torch.zeros(24), "bias": word}  # fmt: skip
    safetensors.torch.save_file(head, build / "encoders/base/mlm_head.safetensors")
    mlm.pretrain(SETTINGS.model_copy(update={"epochs": 1}), build)
    assert files.read_json(build / "encoders/mlm/metrics.json")["mlm_dev_loss_before"] > 30  # a new one has about 7
    kept = safetensors.torch.load_file(build / "encoders/mlm/mlm_head.safetensors")
    assert {name: value.shape for name, value in kept.items()} == {name: value.shape for name, value in head.items()}
    assert 0 < (kept["bias"] - word).abs().max() < 1


@pytest.mark.parametrize("clip", [1e-12, "none"])
def test_clipping(build: Path, clip: float | str):
    settings = MlmSettings(**SETTINGS.model_dump() | {"epochs": 1, "weight_decay": 0.0, "clip": clip})
    mlm.pretrain(settings, build)
    one, other = (
        loading.load(build / f"encoders/{name}").encoder.layer[0].output.dense.weight for name in ("base", "mlm")
    )
    moved = (one - other).abs().max().item()
    assert (moved > 1e-3) is (clip == "none")  # Adam's eps is larger than what is left of a gradient


def test_the_same_seed_gives_the_same_weights(build: Path):
    for number in range(2):
        torch.manual_seed(number)  # a new process starts from any state
        mlm.pretrain(SETTINGS, build)
        (build / "encoders/mlm").rename(build / f"encoders/mlm{number}")
    one, two = (files.sha256(build / f"encoders/mlm{number}/model.safetensors") for number in range(2))
    assert one == two


def test_sentences_are_drawn_and_framed(build: Path):
    two = SETTINGS.model_copy(update={"max_sentences": 2})
    found = mlm.sentences(build / "data", "train", build / "encoders/base", two, 4)
    assert [len(row) for row in found["input_ids"]] == [4, 4]
    assert {(row[0], row[-1]) for row in found["input_ids"]} == {(2, 3)}  # [CLS] and [SEP]
