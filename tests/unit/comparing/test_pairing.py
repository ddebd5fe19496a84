"""The rows of two sides against each other: what fits, and what is said where it does not."""

from collections.abc import Sequence

import numpy as np
import pytest

from mtbert.comparing.pairing import Pairs, pair
from mtbert.comparing.rows import Row, Rows
from mtbert.errors import DataError


def side(name: str, *rows: Sequence[str], of_scores: bool = False) -> Rows:
    """Rows of id, label, prediction, seed, cluster."""
    return Rows(name, [Row(f"line {at}", *row) for at, row in enumerate(rows, 2)], of_scores)  # type: ignore[arg-type]


def paired(ours: Rows, theirs: Rows, metric: str = "pearson") -> Pairs:
    return pair(ours, theirs, metric)


TWO = ("a", "1", "0.5"), ("b", "2", "3")


def test_rows_are_paired_by_id_in_the_order_of_ours() -> None:
    found = paired(side("x.csv", *TWO), side("y.csv", ("b", "2.0", "4"), ("a", "1", "7")))
    assert found.labels.tolist() == [1, 2]
    assert found.ours.tolist() == [[0.5], [3]]
    assert found.theirs.tolist() == [[7], [4]]
    assert found.seeds == [""]
    assert found.clusters.tolist() == [0, 1]
    assert found.apart == "every row is drawn alone: no file has clusters or texts"
    assert found.notes == []


def test_seeds_are_paired_too_and_those_of_one_side_left_out() -> None:
    ours = side("x.csv", *[("a", "1", seed, seed) for seed in ("10", "9", "3")])
    theirs = side("y.csv", *[("a", "1", f"-{seed}", seed) for seed in ("9", "10", "4")])
    found = paired(ours, theirs)
    assert (found.seeds, found.ours.tolist(), found.theirs.tolist()) == (["9", "10"], [[9, 10]], [[-9, -10]])
    assert found.notes == ["Seeds that one side lacks were left out (x.csv: 10, 3, 9; y.csv: 10, 4, 9)."]


def test_seeds_that_are_words_come_after_numbers() -> None:
    ours, theirs = (
        side(name, *[("a", "1", "1", seed) for seed in ("run-2", "10", "run-1", "²", "9")]) for name in "xy"
    )
    assert paired(ours, theirs).seeds == ["9", "10", "run-1", "run-2", "²"]


def test_of_one_model_each_the_seeds_need_not_be_alike() -> None:
    found = paired(side("x.csv", ("a", "1", "2", "1")), side("y.csv", ("a", "1", "3")))
    assert (found.seeds, found.ours.tolist(), found.theirs.tolist()) == ([""], [[2]], [[3]])


def test_rows_that_one_file_does_not_score_are_left_out_of_both() -> None:
    ours = Rows("x.csv", [Row("line 2", "a", "1", "1"), Row("line 3", "b", "", "", scored=False)])
    found = paired(ours, side("y.csv", *TWO))
    assert found.labels.tolist() == [1]
    assert found.notes == ["Rows left out, since a file marks them as not scored: 1."]


def test_words_are_classes_where_all_labels_are() -> None:
    found = paired(side("x.csv", ("a", "yes", "no")), side("y.csv", ("a", "yes", "well")), "accuracy")
    assert (found.labels.tolist(), found.ours.tolist(), found.theirs.tolist()) == ([4], [[2]], [[3]])


def test_scores_of_rows_beside_predictions_of_classes() -> None:
    ours = side("x.csv", ("a", "1", "1"), ("b", "0", "1"))
    theirs = side("samples.jsonl", ("a", "yes", "1.0"), ("b", "no", "0"), of_scores=True)
    found = paired(ours, theirs, "accuracy")
    assert (found.labels.tolist(), found.theirs.tolist()) == ([1, 0], [[1], [0]])
    wrong = side("samples.jsonl", ("a", "yes", "1.0"), ("b", "yes", "0"), of_scores=True)
    with pytest.raises(DataError, match=r"labels that differ: a \(1, line 2; yes, line 2\)"):
        paired(ours, wrong, "accuracy")
    words = side("x.csv", ("a", "good", "bad"), ("b", "bad", "bad"))
    found = paired(words, theirs, "accuracy")
    assert (found.ours[:, 0] == found.labels).tolist() == [False, True]
    assert found.theirs.tolist() == [[1], [0]]


def test_clusters_of_either_file() -> None:
    clustered = side("y.csv", ("a", "1", "1", "", "x"), ("b", "2", "1", "", "y"), ("c", "2", "1", "", "x"))
    alone = side("x.csv", *TWO, ("c", "2", "1"))
    for ours, theirs in (alone, clustered), (clustered, alone):
        found = paired(ours, theirs)
        assert found.clusters.tolist() == [0, 1, 0]
        assert found.apart == "rows of one cluster, as y.csv has them, are drawn together"


def test_rows_that_share_a_sentence_in_either_place_are_one_cluster() -> None:
    texts = [("A man.", "A dog."), ("a  MAN.", "A cat."), ("A bird.", "A fish."), ("A cow.", "A bird.")]
    rows = [Row(f"line {at}", str(at), "1", "1", texts=each) for at, each in enumerate(texts)]
    found = paired(Rows("x.csv", rows), Rows("y.csv", [row._replace(texts=()) for row in rows]))
    assert np.unique(found.clusters, return_inverse=True)[1].tolist() == [0, 0, 1, 1]
    assert found.apart == "rows that share a sentence (texts of x.csv) are drawn together"


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ([*TWO, ("c", "1", "1")], TWO, r"^y.csv: lacks rows that x.csv has: c \(line 4 there\);"),
        (TWO, [*TWO, ("c", "1", "1")], r"y.csv: rows without a partner in x.csv: c \(line 4\); both need the same"),
        ([*TWO, ("a", "1", "2")], TWO, r"x.csv: ids that occur twice: a \(line 2, line 4\); predictions of several s"),
        (TWO, [("a", "1", "1"), ("b", "3", "1")], r"labels that differ: b \(2, line 3; 3, line 3\)"),
        (TWO, [("a", "1", "x"), ("b", "2", "1")], r"y.csv: prediction is not a number: a \(line 2: 'x'\)"),
        (TWO, [("a", "1", "nan"), ("b", "2", "1")], r"y.csv: prediction is not a number: a \(line 2: 'nan'\)"),
        ([("a", "yes", "1")], [("a", "yes", "1")], r"x.csv: label is not a number: a \(line 2: 'yes'\)"),
        ([("a", "1", "")], [("a", "1", "1")], "x.csv: no prediction: line 2; every row that is scored needs one"),
        ([("", "1", "1")], [("a", "1", "1")], "x.csv: no id: line 2"),
        ([("a", "1", "1")], [("a", "", "1")], "y.csv: no label: line 2"),
        ([("a", "1", "1", "1"), ("a", "1", "1", "2")], [("a", "1", "1", "3")],
         r"the two share no seed \(x.csv: 1, 2; y.csv: 3\)"),
        ([("a", "1", "1", "1"), ("a", "1", "1", "2"), ("b", "1", "1", "2")],
         [("a", "1", "1", "1"), ("a", "1", "1", "2")],
         r"x.csv: rows of seed 2 without a partner in x.csv: b \(line 4\)"),
        ([("a", "1", "1", "", "x"), ("b", "1", "1")], [("a", "1", "1"), ("b", "1", "1")], "x.csv: no cluster: b"),
        ([("a", "1", "1", "", "x"), ("b", "1", "1", "", "x")], [("a", "1", "1", "", "x"), ("b", "1", "1", "", "y")],
         "clusters that differ: a"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_the_first_rows(
    ours: list[Sequence[str]], theirs: list[Sequence[str]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        paired(side("x.csv", *ours), side("y.csv", *theirs))


def test_of_many_rows_the_first_five_are_named() -> None:
    many = [(f"r{at}", "1", "1") for at in range(9)]
    with pytest.raises(DataError, match=r"lacks rows that x.csv has: .*r5 \(line 7 there\) and 3 more;"):
        paired(side("x.csv", *many), side("y.csv", many[0]))
