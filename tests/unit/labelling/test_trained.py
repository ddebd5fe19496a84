"""The learning curve of models whose predictions are known."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from mtbert import layout
from mtbert.errors import DataError
from mtbert.labelling import trained
from mtbert.tasks import Task

TOPIC = Task("topic", 2, ("text",), "topic", "accuracy")
VARIANTS = {0.25: "quarter", 0.5: "half", 1.0: "whole"}


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four rows of dev, and 80 of train; a model is wrong on the first row but for `whole`, and on its seed's row."""
    folder = layout.data(tmp_path) / "topic"
    folder.mkdir(parents=True)
    pd.DataFrame({"id": [*"abcd"], "cluster": [0, 1, 2, 3]}).to_parquet(folder / "dev.parquet")
    pd.DataFrame({"cluster": range(80), "dev_folds": 0}).to_parquet(folder / "train.parquet")

    def predictions(_: Path, task: Task, variant: str, seed: int) -> pd.DataFrame:
        right = [variant == "whole", True, True, True]
        right[seed] = False
        table = pd.DataFrame({"label": 1.0, "prediction": [*map(float, right)], "scored": True})
        return table[table.index % 2 == task.fold(seed)] if task.folds else table

    monkeypatch.setattr(trained, "_predictions", predictions)
    return tmp_path


def test_a_point_has_the_rows_of_its_share_and_a_score_of_each_seed(build: Path):
    points = trained.measure(build, TOPIC, VARIANTS, [1, 2])
    assert [point.rows for point in points] == [20, 40, 80]
    assert [point.side.scores.tolist() for point in points] == [[0.5, 0.5], [0.5, 0.5], [0.75, 0.75]]
    assert points[0].side.moves.shape == (4, 2)


def test_a_share_of_fewer_than_20_rows_is_left_out(build: Path):
    points = trained.measure(build, TOPIC, {0.125: "eighth", 1.0: "whole"}, [1, 2])
    assert [point.rows for point in points] == [80]


def test_with_folds_a_round_of_seeds_is_one_score_of_all_rows(build: Path):
    file = layout.examples(layout.data(build), "topic", "dev")
    pd.read_parquet(file).assign(fold=[0, 1, 0, 1]).to_parquet(file)
    train = pd.DataFrame({"cluster": range(4), "dev_folds": [0b01, 0b10, 0b01, 0b10]})
    train.to_parquet(layout.examples(layout.data(build), "topic", "train"))
    with_folds = dataclasses.replace(TOPIC, folds=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trained, "LEAST", 2)
        (point,) = trained.measure(build, with_folds, {1.0: "whole"}, [1, 2, 3])
    # seed 1 predicts rows 0 and 2, seed 2 rows 1 and 3; 1 and 2 are wrong of neither. Seed 3 is in no whole repeat.
    assert (point.rows, point.side.scores.tolist()) == (2, [1.0])


def test_a_model_that_is_not_there_is_named(tmp_path: Path):
    folder = layout.data(tmp_path) / "topic"
    folder.mkdir(parents=True)
    pd.DataFrame({"cluster": range(40), "dev_folds": 0}).to_parquet(folder / "train.parquet")
    pd.DataFrame({"id": ["a"], "cluster": [0]}).to_parquet(folder / "dev.parquet")
    with pytest.raises(DataError, match="runs/whole/3 is missing; `dvc repro train@whole-3` trains it"):
        trained.measure(tmp_path, TOPIC, {1.0: "whole"}, [3])
