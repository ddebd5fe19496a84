"""Votes: majority, ties, means, and alignment by id."""

import pandas as pd
import pytest

from mtbert.errors import DataError
from mtbert.results import vote
from mtbert.tasks import TASKS, Task

THREE = Task("three", "Three", "classes", 3, "accuracy", "course", {}, ("sentence",), "label", {})
STS = TASKS["sts"]


def classes(rows: dict[str, tuple[int, list[float]]], labels: list[float] | None = None) -> pd.DataFrame:
    """A prediction table: id to predicted class and probabilities."""
    table = pd.DataFrame({"id": list(rows), "label": labels or [0.0] * len(rows)})
    table["prediction"] = [float(prediction) for prediction, _ in rows.values()]
    for label in range(3):
        table[f"probability_{label}"] = [probabilities[label] for _, probabilities in rows.values()]
    return table.assign(scored=True)


def scores(values: dict[str, float], labels: list[float] | None = None) -> pd.DataFrame:
    table = pd.DataFrame({"id": list(values), "label": labels or [0.0] * len(values)})
    return table.assign(prediction=list(values.values()), scored=True)


def test_most_votes_win_even_against_more_probability() -> None:
    tables = {
        "a": classes({"x": (1, [0.2, 0.5, 0.3])}),
        "b": classes({"x": (1, [0.2, 0.5, 0.3])}),
        "c": classes({"x": (2, [0.0, 0.0, 1.0])}),
    }
    voted = vote.vote(tables, THREE)
    assert list(voted.columns) == [
        "id",
        "label",
        "prediction",
        "probability_0",
        "probability_1",
        "probability_2",
        "scored",
    ]
    assert voted["prediction"].tolist() == [1.0]
    assert voted.loc[0, ["probability_0", "probability_1", "probability_2"]].tolist() == pytest.approx(
        [0.4 / 3, 1.0 / 3, 1.6 / 3]
    )


def test_a_tie_goes_to_the_tied_class_with_more_summed_probability() -> None:
    # Class 1 has more probability (0.4 + 0.45) than either, but no vote, so it is not in the tie.
    tables = {"a": classes({"x": (0, [0.45, 0.4, 0.15])}), "b": classes({"x": (2, [0.05, 0.45, 0.5])})}
    assert vote.vote(tables, THREE)["prediction"].tolist() == [2.0]  # 0.65 against 0.5


def test_scores_are_averaged_and_rows_are_aligned_by_id() -> None:
    tables = {"a": scores({"x": 1.0, "y": 4.0}, [0.5, 5.0]), "b": scores({"y": 3.0, "x": 2.0}, [5.0, 0.5])}
    voted = vote.vote(tables, STS)
    assert voted.drop(columns="scored").to_dict("list") == {
        "id": ["x", "y"],
        "label": [0.5, 5.0],
        "prediction": [1.5, 3.5],
    }


def test_what_counts_for_the_members_counts_for_the_vote() -> None:
    tables = {name: scores({"x": 1.0, "y": 4.0}).assign(scored=[False, True]) for name in ("a", "b")}
    assert vote.vote(tables, STS)["scored"].tolist() == [False, True]


def test_withheld_labels_stay_withheld() -> None:
    nothing = [float("nan")]
    voted = vote.vote({"a": scores({"x": 1.0}, nothing), "b": scores({"x": 3.0}, nothing)}, STS)
    assert voted["label"].isna().tolist() == [True]
    assert voted["prediction"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "a vote on sts needs at least one member"),
        (
            {"pals": scores({"x": 1.0}), "smart-pals": scores({"y": 1.0})},
            "pals and smart-pals predicted different rows of sts: 2 ids are in only one of them, such as x, y. "
            "Train both on the same data.",
        ),
        (
            {"pals": scores({"x": 1.0}, [1.0]), "smart-pals": scores({"x": 1.0}, [2.0])},
            "pals and smart-pals hold different labels for sts. Train both on the same data.",
        ),
        (
            {"pals": scores({"x": 1.0}), "smart-pals": scores({"x": 1.0}).assign(scored=False)},
            "pals and smart-pals are scored on different rows of sts, so a vote would be scored on rows that chose an "
            "epoch, or were not predicted. Train both with the same settings `run`.",
        ),
        (
            {"pals": pd.concat([scores({"x": 1.0}), scores({"x": 2.0})])},
            "pals: an id occurs twice in its predictions for sts; cannot vote",
        ),
    ],
)
def test_members_that_do_not_fit_together_are_named(tables: dict[str, pd.DataFrame], message: str) -> None:
    with pytest.raises(DataError) as error:
        vote.vote(tables, STS)
    assert str(error.value) == message
