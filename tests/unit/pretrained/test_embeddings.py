"""Embeddings that are computed once."""

from pathlib import Path

import numpy as np
import pytest

from mtbert import files
from mtbert.pretrained import embeddings
from mtbert.pretrained.embeddings import Embeddings


class Encoder:
    """Embeds a text as its length, and knows what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: list[str], show_progress_bar: bool) -> np.ndarray:
        self.asked += texts
        return np.array([[len(text), 1] for text in texts], np.float32)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    fake = Encoder()
    monkeypatch.setattr(embeddings, "embedding_model", lambda _: fake)
    return fake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        files.write_text(tmp_path / "encoder" / name, name)
    return tmp_path / "encoder"


def test_a_text_is_embedded_once_also_by_another_process(encoder: Encoder, folder: Path, tmp_path: Path):
    embed = Embeddings(folder, tmp_path / "cache")
    assert embed(["a", "bbb", "a"]).tolist() == [[1, 1], [3, 1], [1, 1]]
    assert embed(["a"]).tolist() == [[1, 1]]
    assert Embeddings(folder, tmp_path / "cache")(["bbb", "cc", "a"]).tolist() == [[3, 1], [2, 1], [1, 1]]
    assert encoder.asked == ["bbb", "a", "cc"]


def test_what_a_text_took_is_known_later(encoder: Encoder, folder: Path, tmp_path: Path):
    embed = Embeddings(folder, tmp_path / "cache")
    embed(["a", "b"])
    assert embed.seconds(["a", "a", "b"]) == pytest.approx(embed.seconds(["a"]) + embed.seconds(["b"]))
    assert Embeddings(folder, tmp_path / "cache").seconds(["a", "b"]) == embed.seconds(["a", "b"]) > 0


def test_another_encoder_or_tokenizer_has_a_cache_of_its_own(encoder: Encoder, folder: Path, tmp_path: Path):
    Embeddings(folder, tmp_path / "cache")(["a"])
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        files.write_text(folder / name, "another")
        Embeddings(folder, tmp_path / "cache")(["a"])
    assert encoder.asked == ["a"] * 4


def test_parts_are_written_as_they_are_full_and_a_damaged_one_is_made_again(
    encoder: Encoder, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embeddings, "PART", 2)
    Embeddings(folder, tmp_path / "cache")(["a", "bb", "ccc"])
    parts = sorted((tmp_path / "cache").glob("*/*.safetensors"))
    assert [part.name for part in parts] == ["0.safetensors", "1.safetensors"]
    parts[1].write_bytes(b"damaged")
    encoder.asked.clear()
    assert Embeddings(folder, tmp_path / "cache")(["a", "bb", "ccc"]).tolist() == [[1, 1], [2, 1], [3, 1]]
    assert encoder.asked == ["a"]  # the shortest is in the last part
