"""What baselines make of texts."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from mtbert.baselines.embeddings import Embedded
from mtbert.baselines.tfidf import Counts

TEXTS = ["a good film", "a bad film", "the cat sleeps", "good good cat"]
PAIRS = [["a good film", "the cat"], ["a bad film", "the cat"]]


def no_encoder(texts: list[str]) -> np.ndarray:
    raise AssertionError("TF-IDF reads no encoder")


def vectors(texts: list[str]) -> np.ndarray:
    """An embedding of two numbers."""
    return np.array([[len(text), text.count("o") + 1] for text in texts], np.float32)


def by_hand(texts: list[str]) -> list[np.ndarray]:
    """Words and letters of texts, by scikit-learn."""
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b", sublinear_tf=True)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    return [vectorizer.fit_transform(texts).toarray() for vectorizer in (words, letters)]


def test_single_texts_are_scikit_learns_words_and_letters_side_by_side():
    found = Counts.fit([TEXTS], no_encoder).matrix([TEXTS])
    assert found.toarray() == pytest.approx(np.hstack(by_hand(TEXTS)), abs=1e-6)


def test_pairs_are_differences_products_the_overlap_and_two_cosines():
    found = Counts.fit(PAIRS, no_encoder).matrix(PAIRS).toarray()
    words, letters = by_hand([*PAIRS[0], *PAIRS[1]])
    expected = []
    for block in (words, letters):
        first, second = block[:2], block[2:]
        expected += [abs(first - second), first * second]
    cosines = [(block[:2] * block[2:]).sum(axis=1) for block in (words, letters)]
    # of a, good, film, "a good", "good film" and a, bad, film, "a bad", "bad film" two of eight are shared
    expected.append(np.stack([[2 / 8, 1.0], *cosines], axis=1))
    assert found == pytest.approx(np.hstack(expected), abs=1e-6)


@pytest.mark.parametrize("texts", [["☃☃", "☃", "🎉"], ["1 2", "34", "5"], ["the same"] * 3, ["☃", "☃", "☃"]])
def test_texts_of_digits_or_symbols_or_all_the_same_are_no_errors(texts: list[str]):
    features = Counts.fit([texts], no_encoder)
    again = Counts.load(features.content(), features.arrays(), no_encoder)
    assert again.matrix([texts]).toarray().tolist() == features.matrix([texts]).toarray().tolist()
    assert features.matrix([["of other words"]]).shape == (1, features.matrix([texts]).shape[1])
    pairs = Counts.fit([texts, texts], no_encoder).matrix([texts, texts]).toarray()
    assert np.isfinite(pairs).all()


def test_texts_without_a_word_have_an_empty_vocabulary_of_words():
    assert Counts.fit([["☃☃", "🎉"]], no_encoder).content()["words"] == []


def test_embeddings_have_length_one_and_then_mean_0_and_rows_of_length_1_on_average():
    texts = ["a", "oo", "ooo o", "of"]
    found = Embedded.fit([texts], vectors).matrix([texts])
    units = vectors(texts) / np.linalg.norm(vectors(texts), axis=1, keepdims=True)
    assert found == pytest.approx((units - units.mean(axis=0)) / units.std(axis=0) / np.sqrt(2), abs=1e-5)
    assert (found**2).sum(axis=1).mean() == pytest.approx(1, abs=1e-5)


def test_pairs_of_embeddings_are_differences_products_and_the_cosine():
    columns = [["a", "oo", "of"], ["ooo", "oo", "x"]]
    features = Embedded.fit(columns, vectors)
    first, second = (vectors(texts) / np.linalg.norm(vectors(texts), axis=1, keepdims=True) for texts in columns)
    plain = np.hstack([abs(first - second), first * second, (first * second).sum(axis=1, keepdims=True)])
    assert features.matrix(columns) * features.scale + features.mean == pytest.approx(plain, abs=1e-5)


def test_embeddings_that_are_all_the_same_are_shifted_to_0():
    assert Embedded.fit([["a", "a"]], vectors).matrix([["a", "a"]]).tolist() == [[0, 0], [0, 0]]
