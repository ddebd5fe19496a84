"""Votes: majority, ties, means, and members that do not fit together."""

import pandas as pd
import pytest

from mtbert.errors import DataError
from mtbert.scores import vote
from mtbert.tasks import COURSE, Task

THREE = Task("three", 3, ("sentence",), "label", "accuracy")
STS = COURSE["sts"]


def table(predictions: list[float], labels: list[float], **columns: object) -> pd.DataFrame:
    """A prediction table of rows x, y and so on."""
    counts = {"scored": True}
    return pd.DataFrame(
        {"id": list("xyz")[: len(labels)], "label": labels, "prediction": predictions} | counts | columns
    )


def of_classes(prediction: float, *probabilities: float) -> pd.DataFrame:
    """A prediction table of one row."""
    columns = {f"probability_{label}": [value] for label, value in enumerate(probabilities)}
    return table([prediction], [0.0], **columns)


def test_most_votes_win_and_in_a_tie_the_summed_probability() -> None:
    tables = {"a": of_classes(1, 0.2, 0.5, 0.3), "b": of_classes(1, 0.2, 0.5, 0.3), "c": of_classes(2, 0.0, 0.0, 1.0)}
    (voted,) = vote.vote(tables, THREE).to_dict("records")
    assert voted == {
        "id": "x", "label": 0, "prediction": 1, "scored": True,
        "probability_0": pytest.approx(0.4 / 3), "probability_1": pytest.approx(1.0 / 3),
        "probability_2": pytest.approx(1.6 / 3),
    }  # fmt: skip
    # In a tie class 1 has more probability (0.4 + 0.45) than either, but no vote, so it is not in the tie.
    tie = {"a": of_classes(0, 0.45, 0.4, 0.15), "b": of_classes(2, 0.05, 0.45, 0.5)}
    assert vote.vote(tie, THREE)["prediction"].tolist() == [2.0]  # 0.65 against 0.5


def test_scores_are_averaged_and_what_is_known_of_the_rows_stays() -> None:
    nothing = float("nan")
    tables = {
        "a": table([1.0, 4.0], [0.5, nothing], scored=[False, True]),
        "b": table([2.0, 3.0], [0.5, nothing], scored=[False, True]),
    }
    voted = vote.vote(tables, STS)
    assert voted["prediction"].tolist() == [1.5, 3.5]
    assert voted[["id", "label", "scored"]].equals(tables["a"][["id", "label", "scored"]])


@pytest.mark.parametrize("change", [{"id": "y"}, {"label": 2.0}, {"scored": False}])
def test_members_that_do_not_fit_together_are_named(change: dict[str, object]) -> None:
    tables = {"pals": table([1.0], [1.0]), "smart-pals": table([1.0], [1.0]).assign(**change)}
    with pytest.raises(DataError, match=f"pals and smart-pals differ in {next(iter(change))} of sts"):
        vote.vote(tables, STS)


def test_each_label_of_a_set_is_voted_and_in_a_tie_the_mean_probability_decides() -> None:
    moods = Task("moods", 3, ("text",), "moods", "micro_f1", several=True)
    tables = {"a": of_classes(5, 0.9, 0.1, 0.6), "b": of_classes(4, 0.4, 0.2, 0.7), "c": of_classes(6, 0.2, 0.8, 0.9)}
    assert vote.vote(tables, moods)["prediction"].tolist() == [4.0]
    assert vote.vote({"a": tables["a"], "b": tables["b"]}, moods)["prediction"].tolist() == [5.0]  # 0.65 of label 0
    assert vote.vote({"b": tables["b"], "c": tables["c"]}, moods)["prediction"].tolist() == [4.0]  # 0.5 of label 1
