"""What an encoder knows before any training."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from mtbert import files
from mtbert.models.encoder import hardware
from mtbert.pretraining import fetching, untrained
from mtbert.pretraining.settings import EncoderSettings
from mtbert.schemas import Untrained

STS = [("a good film", "a good film", 5), ("a good film", "the cat sleeps", 0), ("a cat", "the cat", 3)]
TRAINING = [("a good film", "a good film", 1), ("a good film", "the cat sleeps", 0)]
DEV = [("the cat", "the cat", 1), ("a cat", "a cat", 0), ("a good film", "the cat sleeps", 0), ("a cat", "film", 0)]


def corpus(file: Path, label: str, rows: list[tuple[str, str, int]]) -> None:
    lines = [f"{at}\t{at}\t{first}\t{second}\t{value}\n" for at, (first, second, value) in enumerate(rows)]
    files.write_text(file, f"\tid\tsentence1\tsentence2\t{label}\n{''.join(lines)}")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    corpus(tmp_path / "data/cs224n/sts-train.csv", "similarity", STS)
    corpus(tmp_path / "data/cs224n/sts-dev.csv", "similarity", STS)
    corpus(tmp_path / "data/cs224n/quora-train.csv", "is_duplicate", TRAINING)
    corpus(tmp_path / "data/cs224n/quora-dev.csv", "is_duplicate", DEV)
    return tmp_path / "data"


@pytest.fixture
def encoder(data_dir: Path, tmp_path: Path) -> Path:
    tiny = EncoderSettings(name="tiny", width=12, layers=1, heads=2, feed_forward=24, vocabulary=1000, positions=16)
    fetching.fetch(tiny, data_dir, tmp_path / "made")
    return tmp_path / "made"


def sentence_transformer(encoder: Path) -> SentenceTransformer:
    words = Transformer(str(encoder), max_seq_length=16)
    return SentenceTransformer(modules=[words, Pooling(12, pooling_mode="mean")], device="cpu")


def test_embeddings_are_those_of_sentence_transformers(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "precision", lambda *_: "fp32")
    sentences = ["a good film", "the", "a cat " * 20, "a good cat sleeps"]  # the third is cut
    expected = sentence_transformer(encoder).encode(sentences, normalize_embeddings=True)
    assert untrained.embeddings(encoder)(sentences) == pytest.approx(np.asarray(expected), abs=1e-6)


def test_a_cosine_is_that_of_the_two_sentences_of_a_row(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "precision", lambda *_: "fp32")
    rows = pd.DataFrame({"sentence1": ["a cat", "film"], "sentence2": ["the cat sleeps", "film"]})
    first, second = untrained.embeddings(encoder)(["a cat", "the cat sleeps"])
    assert untrained.cosines(encoder)(rows) == pytest.approx([float(first @ second), 1.0], abs=1e-6)


def test_sts_by_r_and_qqp_by_a_threshold_of_the_training_rows(
    encoder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_length = lambda _: lambda rows: rows["sentence2"].str.len().to_numpy() / 100  # noqa: E731
    monkeypatch.setattr(untrained, "cosines", by_length)
    found = untrained.write(encoder, data_dir)
    assert found == Untrained(
        sts=-0.52802,  # of 5, 0, 3 and 0.11, 0.14, 0.07
        qqp=0.5,  # 0.07 and 0.05 are no duplicates, 0.14 is one, 0.04 is none; the labels are 1, 0, 0, 0
        threshold=0.11,
        rows={"sts/dev": 3, "qqp/train": 2, "qqp/dev": 4},
    )
    assert files.read_json(encoder / "untrained.json") == found.model_dump()


@pytest.mark.parametrize(
    ("labels", "cosines", "threshold"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], 0.3),
        ([1, 0, 0, 1], [0.4, 0.2, 0.1, 0.3], 0.3),  # in any order
        ([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5], 0.2),  # the lowest of 0.2 and 0.4, which are as good
        ([0, 1, 1, 0], [0.1, 0.2, 0.2, 0.2], 0.2),  # equal cosines stay together
        ([1, 1], [0.3, 0.6], 0.3),
    ],
)
def test_the_threshold_from_which_on_duplicate_is_most_often_right(
    labels: list[int], cosines: list[float], threshold: float
) -> None:
    assert untrained.best_threshold(np.array(labels), np.array(cosines)) == threshold


def test_at_most_so_many_training_rows_are_drawn(
    encoder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrained, "TRAINING_ROWS", 1)
    assert untrained.measure(encoder, data_dir).rows["qqp/train"] == 1


@pytest.mark.parametrize(
    ("absent", "known"),
    [
        (["quora-dev.csv"], {"sts/dev"}),
        (["quora-train.csv"], {"sts/dev"}),
        (["sts-dev.csv"], {"qqp/train", "qqp/dev"}),
        (["sts-dev.csv", "quora-dev.csv"], set()),
    ],
)
def test_a_task_whose_files_are_not_there_is_left_out(
    encoder: Path, data_dir: Path, absent: list[str], known: set[str]
) -> None:
    for name in absent:
        (data_dir / "cs224n" / name).unlink()
    found = untrained.measure(encoder, data_dir)
    assert found.rows.keys() == known
    assert (found.sts is None) == ("sts/dev" not in known)
    assert (found.qqp is None) == (found.threshold is None) == ("qqp/dev" not in known)
