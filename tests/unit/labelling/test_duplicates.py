"""Near-duplicates that do harm, in few rows."""

import numpy as np
import pandas as pd
import pytest

from mtbert.labelling import duplicates
from mtbert.labelling.duplicates import Harm, Pair
from mtbert.tasks import Task

TOPIC = Task("topic", 2, ("text",), "topic", "accuracy", labels={"bug": 0, "praise": 1})
SAME = Task("same", 1, ("a", "b"), "same", "pearson", highest=5.0)
ANGLES = {"it crashed": 0.0, "it has crashed": 10.0, "great": 90.0, "It crashed!": 45.0}  # degrees; cos 10 is 0.985


def embed(texts: list[str]) -> np.ndarray:
    radians = np.radians([ANGLES.get(text, 180.0) for text in texts])
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def table(*rows: tuple) -> pd.DataFrame:
    """Of split, label and one or two texts."""
    columns = ["split", "label", "sentence1", "sentence2"][: len(rows[0])]
    made = pd.DataFrame(rows, columns=columns).astype({"label": float})
    return made.assign(file="topic.csv", line=range(2, len(rows) + 2), id="x")


def rounded(pairs: list[Pair]) -> list[tuple]:
    return [(pair.harm, pair.first, pair.second, round(pair.cosine, 3)) for pair in pairs]


def test_the_same_text_with_another_label_is_found_without_an_encoder():
    rows = table(("train", 0, "it crashed"), ("train", 1, "great"), ("train", 1, "It crashed!"))
    assert duplicates.find(TOPIC, rows, None) == [(Harm.OTHER_LABEL, 0, 2, 1.0)]


def test_a_near_text_is_found_by_its_embedding():
    rows = table(("train", 0, "it crashed"), ("train", 1, "it has crashed"), ("train", 1, "great"))
    assert rounded(duplicates.find(TOPIC, rows, embed)) == [(Harm.OTHER_LABEL, 0, 1, 0.985)]


@pytest.mark.parametrize(("share", "tells"), [(0.05, True), (0.2, False)])
def test_an_encoder_whose_cosines_are_near_1_for_many_texts_does_not_tell_them_apart(share: float, tells: bool):
    """Each text has a direction of its own, but for a share of them, which have one together."""
    count = 500
    rows = table(*(("train", 0, f"text {number}") for number in range(count)))
    vectors = np.eye(count)
    vectors[: round(share * count)] = vectors[0]
    assert duplicates.tells_apart(TOPIC, rows, lambda texts: vectors[: len(texts)]) is tells


def test_rows_of_one_text_do_not_speak_against_an_encoder():
    rows = table(*(("train", 0, f"text {number % 2}") for number in range(500)))
    assert duplicates.tells_apart(TOPIC, rows, lambda texts: np.eye(2)[[int(text[-1]) for text in texts]])


def test_rows_on_both_sides_of_a_split_are_found_whatever_their_label():
    rows = table(("train", 0, "it crashed"), ("dev", 0, "it has crashed"), ("test", np.nan, "It crashed!"))
    assert rounded(duplicates.find(TOPIC, rows, embed)) == [
        (Harm.BOTH_SPLITS, 0, 2, 1.0), (Harm.BOTH_SPLITS, 0, 1, 0.985),
    ]  # fmt: skip


def test_rows_of_one_label_and_split_do_no_harm():
    assert duplicates.find(TOPIC, table(("train", 0, "it crashed"), ("train", 0, "it crashed")), embed) == []


def test_both_texts_of_a_pair_have_to_be_near_in_either_order():
    rows = table(
        ("train", 5, "it crashed", "great"), ("train", 1, "great", "it has crashed"), ("train", 1, "it crashed", "x")
    )
    assert rounded(duplicates.find(SAME, rows, embed)) == [(Harm.OTHER_LABEL, 0, 1, 0.985)]


@pytest.mark.parametrize(("score", "is_other"), [(4.5, False), (4.0, True)])
def test_scores_that_differ_by_less_than_a_fifth_are_not_other_labels(score: float, is_other: bool):
    rows = table(("train", 5, "it crashed", "great"), ("train", score, "it crashed", "great"))
    assert bool(duplicates.find(SAME, rows, embed)) is is_other


def test_a_line_has_both_rows():
    rows = table(("train", 0, "it crashed"), ("train", 1, "It crashed!"))
    assert duplicates.listed(TOPIC, rows, duplicates.find(TOPIC, rows, None)) == [{
        "what": "other label", "cosine": "1.000", "text": "it crashed", "label": "bug", "split": "train",
        "file": "topic.csv", "line": 2, "other_text": "It crashed!", "other_label": "praise", "other_split": "train",
        "other_file": "topic.csv", "other_line": 3,
    }]  # fmt: skip
