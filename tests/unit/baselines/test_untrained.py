"""What an encoder knows before any training."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from mtbert.baselines import untrained
from mtbert.baselines.rows import Rows
from mtbert.pretrained import embeddings, fetching
from mtbert.pretrained.settings import EncoderSettings
from mtbert.tasks import COURSE, Task

SAMPLE = Path(__file__).parents[3] / "data/sample"


def rows(*pairs: tuple[str, str, float]) -> Rows:
    first, second, labels = zip(*pairs, strict=True)
    return Rows([str(number) for number in range(len(pairs))], [[*first], [*second]], np.array(labels, float))


def by_length(texts: list[str]) -> np.ndarray:
    """Vectors whose cosine with that of "" is a hundredth of the text's length."""
    cosine = np.array([len(text) / 100 if text else 1 for text in texts])
    return np.stack([cosine, np.sqrt(1 - cosine**2)], axis=1)


def test_a_cosine_is_that_of_the_mean_over_the_tokens_of_each_sentence(tmp_path: Path) -> None:
    tiny = EncoderSettings(name="tiny", width=12, heads=2, feed_forward=24, vocabulary=1000, positions=16)
    fetching.fetch(tiny, SAMPLE, tmp_path)
    model, tokenizer = AutoModel.from_pretrained(tmp_path).eval(), AutoTokenizer.from_pretrained(tmp_path)
    first, second = (
        model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0) for text in ("a cat", "the film")
    )
    expected = [torch.cosine_similarity(first, second, dim=0).item(), 1.0]
    embed = embeddings.embedding_model(tmp_path).encode
    assert untrained.cosines([["a cat", "film"], ["the film", "film"]], embed) == pytest.approx(expected, abs=1e-6)


def test_a_score_of_pairs_is_the_cosine_without_training_rows() -> None:
    found = untrained.predictions(COURSE["sts"], None, [["", ""], ["ab", "abcd"]], by_length)
    assert found is not None
    assert found.tolist() == pytest.approx([0.02, 0.04])


def test_a_class_of_pairs_is_told_by_the_threshold_of_the_training_rows() -> None:
    known = rows(("", "a" * 10, 0), ("", "a" * 30, 1))
    found = untrained.predictions(COURSE["qqp"], known, [["", ""], ["a" * 19, "a" * 21]], by_length)
    assert found is not None
    assert found.tolist() == [0, 1]


@pytest.mark.parametrize(
    "task",
    [
        Task("rating", 1, ("text",), "rating", "pearson", highest=5.0),
        Task("nli", 3, ("premise", "hypothesis"), "label", "accuracy"),
    ],
)
def test_scores_of_single_sentences_and_several_classes_of_pairs_are_not_predicted(task: Task) -> None:
    assert untrained.predictions(task, rows(("a", "b", 0)), [["a"], ["b"]], by_length) is None


def test_a_class_of_pairs_is_on_the_side_of_the_threshold_on_which_its_training_rows_are() -> None:
    known, asked = np.array([0.9, 0.8, 0.2, 0.1]), np.array([0.95, 0.0])
    assert untrained.beyond_a_threshold(known, np.array([1, 1, 0, 0]), asked).tolist() == [1, 0]
    assert untrained.beyond_a_threshold(known, np.array([0, 0, 1, 1]), asked).tolist() == [0, 1]


def test_a_single_sentence_has_the_class_with_the_nearest_mean_of_unit_vectors() -> None:
    known = np.array([[9.0, 0.0], [0.0, 0.1], [-1.0, 0.0]])
    found = untrained.nearest(known, np.array([0, 0, 2]), np.array([[1.0, 3.0], [-1.0, 0.5]]), 4)
    assert found.tolist() == [0, 2]
