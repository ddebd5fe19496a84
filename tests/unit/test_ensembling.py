"""Votes: majority, ties, means, alignment by id, and the files of an ensemble."""

from pathlib import Path

import pandas as pd
import pytest

from mtbert import ensembling, files, predictions
from mtbert.errors import DataError, SettingsError
from mtbert.tasks import TASKS, Task

THREE = Task("three", "Three", "classes", 3, "accuracy", "course", {}, ("sentence",), "label", {})
STS = TASKS["sts"]


def classes(rows: dict[str, tuple[int, list[float]]], labels: list[float] | None = None) -> pd.DataFrame:
    """A prediction table: id to predicted class and probabilities."""
    table = pd.DataFrame({"id": list(rows), "label": labels or [0.0] * len(rows)})
    table["prediction"] = [float(prediction) for prediction, _ in rows.values()]
    for label in range(3):
        table[f"probability_{label}"] = [probabilities[label] for _, probabilities in rows.values()]
    return table.assign(scored=True, overall=True)


def scores(values: dict[str, float], labels: list[float] | None = None) -> pd.DataFrame:
    table = pd.DataFrame({"id": list(values), "label": labels or [0.0] * len(values)})
    return table.assign(prediction=list(values.values()), scored=True, overall=True)


def test_most_votes_win_even_against_more_probability() -> None:
    tables = {
        "a": classes({"x": (1, [0.2, 0.5, 0.3])}),
        "b": classes({"x": (1, [0.2, 0.5, 0.3])}),
        "c": classes({"x": (2, [0.0, 0.0, 1.0])}),
    }
    voted = ensembling.vote(tables, THREE)
    assert list(voted.columns) == [
        "id",
        "label",
        "prediction",
        "probability_0",
        "probability_1",
        "probability_2",
        "scored",
        "overall",
    ]
    assert voted["prediction"].tolist() == [1.0]
    assert voted.loc[0, ["probability_0", "probability_1", "probability_2"]].tolist() == pytest.approx(
        [0.4 / 3, 1.0 / 3, 1.6 / 3]
    )


def test_a_tie_goes_to_the_tied_class_with_more_summed_probability() -> None:
    # Class 1 has more probability (0.4 + 0.45) than either, but no vote, so it is not in the tie.
    tables = {"a": classes({"x": (0, [0.45, 0.4, 0.15])}), "b": classes({"x": (2, [0.05, 0.45, 0.5])})}
    assert ensembling.vote(tables, THREE)["prediction"].tolist() == [2.0]  # 0.65 against 0.5


def test_scores_are_averaged_and_rows_are_aligned_by_id() -> None:
    tables = {"a": scores({"x": 1.0, "y": 4.0}, [0.5, 5.0]), "b": scores({"y": 3.0, "x": 2.0}, [5.0, 0.5])}
    voted = ensembling.vote(tables, STS)
    assert voted.drop(columns=["scored", "overall"]).to_dict("list") == {
        "id": ["x", "y"],
        "label": [0.5, 5.0],
        "prediction": [1.5, 3.5],
    }


def test_what_counts_for_the_members_counts_for_the_vote() -> None:
    tables = {name: scores({"x": 1.0, "y": 4.0}).assign(scored=[False, True]) for name in ("a", "b")}
    assert ensembling.vote(tables, STS)["scored"].tolist() == [False, True]


def test_withheld_labels_stay_withheld() -> None:
    nothing = [float("nan")]
    voted = ensembling.vote({"a": scores({"x": 1.0}, nothing), "b": scores({"x": 3.0}, nothing)}, STS)
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
            "epoch, or were not predicted. Train both with the same run.selection and run.scored_rows.",
        ),
        (
            {"pals": pd.concat([scores({"x": 1.0}), scores({"x": 2.0})])},
            "pals: an id occurs twice in its predictions for sts; cannot vote",
        ),
    ],
)
def test_members_that_do_not_fit_together_are_named(tables: dict[str, pd.DataFrame], message: str) -> None:
    with pytest.raises(DataError) as error:
        ensembling.vote(tables, STS)
    assert str(error.value) == message


def write_member(runs: Path, member: str, values: dict[str, float]) -> None:
    place = runs / member / "7"
    predictions.write(predictions.path(place, "sts", "dev"), scores(values, [1.0, 2.0, 3.0]), STS)
    predictions.write(predictions.path(place, "sts", "test"), scores(values, [float("nan")] * 3), STS)
    files.seal(place)


def test_an_ensemble_is_written_with_its_scores(tmp_path: Path) -> None:
    write_member(tmp_path, "a", {"x": 1.0, "y": 2.0, "z": 4.0})
    write_member(tmp_path, "b", {"x": 1.0, "y": 2.0, "z": 2.0})
    sst = classes({"x": (1, [0.2, 0.5, 0.3])}).assign(probability_3=0.0, probability_4=0.0)
    sst = sst[["id", "label", "prediction", *predictions.probability_columns(TASKS["sst"]), "scored", "overall"]]
    predictions.write(predictions.path(tmp_path / "a" / "7", "sst", "dev"), sst, TASKS["sst"])  # only one member
    files.seal(tmp_path / "a" / "7")
    out = tmp_path / "vote" / "7"
    assert ensembling.ensemble("vote", ["a", "b"], 7, tmp_path, out) == {"dev": {"sts": pytest.approx(1.0)}, "test": {}}
    assert files.read_json(out / "metrics.json") == {
        "ensemble": "vote", "seed": 7, "members": ["a", "b"], "dev": {"sts": pytest.approx(1.0)}, "test": {},
    }  # fmt: skip
    files.check_sealed(out, "dvc repro ensemble")
    assert sorted(path.name for path in (out / "predictions").iterdir()) == ["sts-dev.parquet", "sts-test.parquet"]
    assert predictions.read(predictions.path(out, "sts", "test"))["prediction"].tolist() == [1.0, 2.0, 3.0]


def test_a_missing_member_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    write_member(tmp_path, "a", {"x": 1.0, "y": 2.0, "z": 4.0})
    with pytest.raises(DataError, match=r"b/7 is missing, but an ensemble needs it; `dvc repro train@b-7` makes it"):
        ensembling.ensemble("vote", ["a", "b"], 7, tmp_path, tmp_path / "out")


def test_members_without_a_common_task_cannot_vote(tmp_path: Path) -> None:
    write_member(tmp_path, "a", {"x": 1.0, "y": 2.0, "z": 4.0})
    (tmp_path / "b" / "7").mkdir(parents=True)
    files.seal(tmp_path / "b" / "7")
    with pytest.raises(DataError, match="vote, seed 7: no task was predicted by all of a, b"):
        ensembling.ensemble("vote", ["a", "b"], 7, tmp_path, tmp_path / "out")


def test_every_selected_ensemble_and_seed_is_made_and_nothing_else_stays(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "ensembles"
    for member, last in (("a", 4.0), ("b", 2.0)):
        write_member(runs, member, {"x": 1.0, "y": 2.0, "z": last})
    ensembles = {
        "vote": {"members": ["a", "b"], "selected": True},
        "idle": {"members": ["a", "never-trained"], "selected": False},
    }
    files.write_yaml(tmp_path / "catalog.yaml", {"seeds": [7], "ensembles": ensembles})
    files.write_text(out / "stale" / "1" / "metrics.json", "{}")
    assert ensembling.vote_all(tmp_path / "catalog.yaml", runs, out) == ["vote, seed 7: dev sts 1.000"]
    assert [path.name for path in out.iterdir()] == ["vote"]


def test_no_catalog_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"catalog.yaml is missing; `dvc repro plan` makes it"):
        ensembling.vote_all(tmp_path / "catalog.yaml", tmp_path, tmp_path / "out")
