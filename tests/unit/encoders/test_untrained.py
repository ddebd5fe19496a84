"""What an encoder knows before any training."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from mtbert import files
from mtbert.encoders import fetching, sbert, untrained
from mtbert.encoders.settings import EncoderSettings

STS = [("a good film", "a good film", 5), ("a good film", "the cat sleeps", 0), ("a cat", "the cat", 3)]
TRAINING = [("a good film", "a good film", 0), ("a good film", "the cat sleeps", 1)]
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
    tiny = EncoderSettings(name="tiny", width=12, heads=2, feed_forward=24, vocabulary=1000, positions=16)
    fetching.fetch(tiny, data_dir, tmp_path / "made")
    return tmp_path / "made"


def test_a_cosine_is_that_of_the_mean_over_the_tokens_of_each_sentence(encoder: Path) -> None:
    model, tokenizer = AutoModel.from_pretrained(encoder).eval(), AutoTokenizer.from_pretrained(encoder)
    first, second = (
        model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0) for text in ("a cat", "the film")
    )
    rows = pd.DataFrame({"sentence1": ["a cat", "film"], "sentence2": ["the film", "film"]})
    expected = [torch.cosine_similarity(first, second, dim=0).item(), 1.0]
    assert untrained.cosines(sbert.sentence_model(encoder, "cpu"), rows) == pytest.approx(expected, abs=1e-6)


def test_sts_by_r_and_qqp_by_a_threshold_of_the_training_rows(
    encoder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrained, "cosines", lambda _, rows: rows["sentence2"].str.len().to_numpy() / 100)
    found = untrained.write(encoder, data_dir)
    # sts: of 5, 0, 3 and 0.11, 0.14, 0.07. qqp: the threshold is 0.125; 0.07 and 0.05 are no duplicates, 0.14 is one,
    # 0.04 is none; the labels are 1, 0, 0, 0.
    assert found == {"qqp": 0.5, "sts": -0.52802}
    assert files.read_json(encoder / "untrained.json") == found


@pytest.mark.parametrize(
    ("absent", "known"), [("quora-dev.csv", "sts"), ("quora-train.csv", "sts"), ("sts-dev.csv", "qqp")]
)
def test_a_task_whose_files_are_not_there_is_left_out(encoder: Path, data_dir: Path, absent: str, known: str) -> None:
    (data_dir / "cs224n" / absent).unlink()
    assert [*untrained.write(encoder, data_dir)] == [known]


def test_a_class_of_pairs_is_on_the_side_of_the_threshold_on_which_its_training_rows_are() -> None:
    known, asked = np.array([0.9, 0.8, 0.2, 0.1]), np.array([0.95, 0.0])
    assert untrained.beyond_a_threshold(known, np.array([1, 1, 0, 0]), asked).tolist() == [1, 0]
    assert untrained.beyond_a_threshold(known, np.array([0, 0, 1, 1]), asked).tolist() == [0, 1]


def test_a_single_sentence_has_the_class_with_the_nearest_mean_of_unit_vectors() -> None:
    known = np.array([[9.0, 0.0], [0.0, 0.1], [-1.0, 0.0]])
    found = untrained.nearest(known, np.array([0, 0, 2]), np.array([[1.0, 3.0], [-1.0, 0.5]]), 4)
    assert found.tolist() == [0, 2]


def test_tasks_of_one_s_own_are_scored_by_their_own_metric(encoder: Path, tmp_path: Path) -> None:
    rows = "".join(
        f"{'a good film' if number % 2 else 'the cat sleeps'} {number},{number % 2}\n" for number in range(40)
    )
    files.write_text(tmp_path / "own/mood.csv", f"text,mood\n{rows}")
    described = "mood:\n  files: {train: mood.csv}\n  sentences: [text]\n  label: mood\n  classes: 2\n  metric: mcc\n"
    files.write_text(tmp_path / "own/tasks.yaml", described)
    assert untrained.write(encoder, tmp_path / "own") == {"mood": 1.0}
