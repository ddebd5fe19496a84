"""Checks: what counts as the same, and what is counted."""

import pandas as pd
import pytest

from mtbert.data.checks import clusters, conflicts, digests, duplicates, normalized, unpunctuated
from mtbert.data.readers import Example


def pairs(*rows: tuple[str, str | None, float | None]) -> pd.DataFrame:
    """Pairs with labels, on lines 2, 3, ..."""
    return digests(Example(f"id{line}", *row, line) for line, row in enumerate(rows, 2))


def singles(*sentences: str) -> pd.DataFrame:
    """Sentences of a one-sentence task, with class 0."""
    return pairs(*((sentence, None, 0.0) for sentence in sentences))


def test_folding_drops_case_and_spacing_and_bareness_also_punctuation() -> None:
    assert normalized("  A dog's\tday . ") == "a dog's day ."
    assert unpunctuated("A dog's day, $5 .") == "a dogs day $5"


def test_texts_that_look_alike_are_the_same_however_their_characters_are_coded() -> None:
    assert normalized("cafe\u0301 no\u200bw") == normalized("caf\u00e9 now")


@pytest.mark.parametrize(
    ("one", "other"),
    [("C++", "C#"), ("+1", "-1"), ("\U0001f600", "\U0001f621"), ("\u0915\u0940", "\u0915\u093e"), ("!", "?")],
)
def test_texts_that_differ_in_more_than_punctuation_stay_apart(one: str, other: str) -> None:
    assert unpunctuated(one) != unpunctuated(other)


def test_duplicates_are_rows_that_an_earlier_row_equals_in_either_order() -> None:
    rows = pairs(("A", "B", 1.0), ("B", "A", 1.0), ("a", "b ", 1.0), ("a!", "b", 1.0), ("A", "C", 1.0))
    assert duplicates(rows) == 2
    assert duplicates(singles("A", "a", "B")) == 1


def test_conflicts_are_the_same_sentences_with_different_labels() -> None:
    rows = pairs(("A", "B", 1.0), ("b", "A", 0.0), ("C", "D", 1.0), ("C", "D", 1.0), ("A", "B", 1.0))
    assert conflicts(rows) == 1


def test_rows_without_labels_have_no_conflicts() -> None:
    assert conflicts(pairs(("A", "B", None), ("A", "B", None))) == 0


def test_rows_that_share_a_sentence_directly_or_over_others_are_one_cluster() -> None:
    number = clusters(pairs(("A", "B", 1.0), ("C", "D", 1.0), ("b", "E", 1.0), ("E", "F", 1.0), ("G", "G", 1.0)))
    assert number[0] == number[2] == number[3]
    assert len(set(number.tolist())) == 3
    assert clusters(pairs()).tolist() == []
