"""The rows of two sides against each other: what fits, and what is said where it does not."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from mtbert.compare.pairing import pair
from mtbert.compare.reading import Side
from mtbert.errors import DataError

COLUMNS = ["id", "label", "prediction", "seed", "cluster"]
TWO = ("a", "1", "0.5"), ("b", "2", "3")


def side(name: str, *rows: Sequence[str], of_scores: bool = False) -> Side:
    """Rows of id, label, prediction, seed, cluster."""
    table = pd.DataFrame([(*row, *[""] * (len(COLUMNS) - len(row))) for row in rows], columns=COLUMNS)
    places = [f"line {at}" for at in range(2, len(rows) + 2)]
    return Side(name, table.assign(place=places, scored=True, texts=[()] * len(rows)), of_scores)


def test_rows_are_paired_by_id_in_the_order_of_ours() -> None:
    found = pair(side("x.csv", *TWO), side("y.csv", ("b", "2", "4"), ("a", "1", "7")), "pearson")
    assert found.labels.tolist() == [1, 2]
    assert found.ours.tolist() == [[0.5], [3]]
    assert found.theirs.tolist() == [[7], [4]]
    assert found.clusters.tolist() == [0, 1]
    assert "Every row is drawn alone: no file has clusters or texts." in found.notes


def test_sides_may_have_other_seeds_which_stand_in_their_order() -> None:
    ours = side("x.csv", *[("a", "1", seed, seed) for seed in ("10", "9", "3")])
    found = pair(ours, side("y.csv", *[("a", "1", f"-{seed}", seed) for seed in ("9", "10")]), "pearson")
    assert (found.ours.tolist(), found.theirs.tolist()) == ([[3, 9, 10]], [[-9, -10]])


def test_rows_that_one_file_does_not_score_are_left_out_of_both() -> None:
    ours = side("x.csv", ("a", "1", "1"), ("b", "", ""))
    ours.rows["scored"] = [True, False]
    found = pair(ours, side("y.csv", *TWO), "pearson")
    assert (found.labels.tolist(), len(found.notes)) == ([1], 2)


def test_words_are_classes_where_all_labels_are() -> None:
    ours = side("x.csv", ("a", "yes", "no"), ("b", "no", "no"))
    found = pair(ours, side("y.csv", ("a", "yes", "well"), ("b", "no", "no")), "f1")
    assert (found.labels.tolist(), found.ours.tolist(), found.theirs.tolist()) == ([4, 2], [[2], [2]], [[3], [2]])


def test_scores_of_rows_beside_predictions_of_classes() -> None:
    ours = side("x.csv", ("a", "1", "1"), ("b", "0", "1"))
    theirs = side("samples.jsonl", ("a", "yes", "1"), ("b", "no", "0"), of_scores=True)
    found = pair(ours, theirs, "accuracy")
    assert (found.ours.tolist(), found.theirs.tolist()) == ([[1], [0]], [[1], [0]])
    wrong = side("samples.jsonl", ("a", "yes", "1"), ("b", "yes", "0"), of_scores=True)
    with pytest.raises(DataError, match=r"labels that differ: a \(1, line 2; yes, line 2\), b"):
        pair(ours, wrong, "accuracy")


def test_clusters_of_either_file() -> None:
    clustered = side("y.csv", ("a", "1", "1", "", "x"), ("b", "2", "1", "", "y"), ("c", "2", "1", "", "x"))
    alone = side("x.csv", *TWO, ("c", "2", "1"))
    for ours, theirs in (alone, clustered), (clustered, alone):
        found = pair(ours, theirs, "pearson")
        assert found.clusters.tolist() == [0, 1, 0]
        assert "y.csv" in found.notes[0]


def test_rows_that_share_a_sentence_in_either_place_are_one_cluster() -> None:
    texts = [("A man.", "A dog."), ("a  MAN.", "A cat."), ("A bird.", "A fish."), ("A cow.", "A bird.")]
    ours, theirs = (side(name, *[(str(at), "1", "1") for at in range(4)]) for name in ("x.csv", "y.csv"))
    ours.rows["texts"] = texts
    found = pair(ours, theirs, "pearson")
    assert np.unique(found.clusters, return_inverse=True)[1].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("ours", "theirs", "metric", "message"),
    [
        ([*TWO, ("c", "1", "1")], TWO, "pearson", r"^y.csv: lacks rows that x.csv has: c \(line 4\);"),
        (TWO, [*TWO, ("c", "1", "1")], "pearson", r"y.csv: rows without a partner in x.csv: c \(line 4\); both need"),
        ([*TWO, ("a", "1", "2")], TWO, "pearson", r"x.csv: ids that occur twice: a \(line 2\), a \(line 4\);"),
        (TWO, [("a", "1", "1"), ("b", "3", "1")], "pearson", r"labels that differ: b \(2, line 3; 3, line 3\)"),
        ([("a", "1", "1", "1"), ("a", "2", "1", "2")], [("a", "1", "1")], "pearson", r"x.csv: labels that differ: a"),
        (TWO, [("a", "1", "x"), ("b", "2", "1")], "pearson", r"y.csv: prediction is not a number: a \(line 2: 'x'\)"),
        ([("a", "yes", "1")], [("a", "yes", "1")], "pearson", r"x.csv: label is not a number: a \(line 2: 'yes'\)"),
        ([("a", "1", "")], [("a", "1", "1")], "pearson", r"x.csv: no prediction: a \(line 2\);"),
        ([("", "1", "1")], [("a", "1", "1")], "pearson", r"x.csv: no id:  \(line 2\)"),
        ([("a", "1", "1")], [("a", "", "1")], "pearson", r"y.csv: no label: a \(line 2\)"),
        ([("a", "1", "1", "1"), ("a", "1", "1", "2"), ("b", "1", "1", "2")], [("a", "1", "1"), ("b", "1", "1")],
         "pearson", r"x.csv: lacks rows that x.csv has: b \(line 4\)"),
        ([("a", "1", "1", "", "x"), ("b", "1", "1")], [("a", "1", "1"), ("b", "1", "1")], "pearson", "no cluster: b"),
        ([("a", "1", "1", "", "x"), ("b", "1", "1", "", "x")], [("a", "1", "1", "", "x"), ("b", "1", "1", "", "y")],
         "pearson", r"clusters that differ: a \(line 2\), b"),
        ([("a", "1", "0.83")], [("a", "1", "1")], "accuracy", r"x.csv: prediction is no class, .*: a \(line 2: '0.83'"),
        ([("a", "yes", "1")], [("a", "yes", "yes")], "f1", "x.csv: prediction is a number, and labels are words: a"),
        ([("a", "1", "yes")], [("a", "1", "1")], "accuracy", "x.csv: prediction is not a number: a"),
        ([("a", "yes", "Yes")], [("a", "yes", "yes")], "accuracy", "none of the labels, as all are: a .*Yes"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_the_first_rows(
    ours: list[Sequence[str]], theirs: list[Sequence[str]], metric: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        pair(side("x.csv", *ours), side("y.csv", *theirs), metric)
