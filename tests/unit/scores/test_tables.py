"""The tables of results: written, read, and what is refused of strangers' files."""

import json
from pathlib import Path

import made
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from mtbert.errors import DataError
from mtbert.scores import checks, columns, tables
from mtbert.scores.results import Results

RIGHT = {("pals", 1): {"sst": [0, 1, 2, 0]}, ("pals", 2): {"sst": [0, 1, 2, 3]}}


@pytest.fixture
def results() -> Results:
    return made.results(RIGHT)


def test_what_is_written_is_read_and_written_again_to_the_same_bytes(results: Results, tmp_path: Path):
    tables.write(results, tmp_path / "a")
    read = tables.read(tmp_path / "a")
    assert read.runs["dev_sst"].tolist() == [0.75, 1.0]
    assert [read.by_run["pals", seed, "dev"]["sst"]["prediction"].tolist() for seed in (1, 2)] == [
        [0, 1, 2, 0],
        [0, 1, 2, 3],
    ]
    assert read.history["value"].round(6).tolist() == [1.0, 0.5, 1.0, 0.5]
    assert (read.about["pals"].row, read.data.name, read.starting_weights.name) == ("pals", "data/sample", "minilm")
    tables.write(read, tmp_path / "b")
    for name in columns.TABLES:
        assert (tmp_path / f"a/{name}.parquet").read_bytes() == (tmp_path / f"b/{name}.parquet").read_bytes()


@pytest.mark.parametrize("lacking", [[], ["x2", "y2"]])
def test_points_of_old_evidence_are_columns_of_its_predictions(results: Results, tmp_path: Path, lacking: list[str]):
    tables.write(results, tmp_path)
    assert tables.read(tmp_path).points.empty
    file = tmp_path / "predictions.parquet"
    old = pd.read_parquet(file)
    is_placed = (old["seed"] == 1) & (old["row"] < 2)
    places = {"x": old["row"].where(is_placed), "y": 3.0, "x2": np.nan, "y2": np.nan}
    old.assign(**places).astype(dict.fromkeys(places, "float32")).drop(columns=lacking).to_parquet(file)
    (tmp_path / "points.parquet").unlink()
    read = tables.read(tmp_path)
    assert read.points[["variant", "seed", "task", "row", "x", "y"]].to_numpy().tolist() == [
        ["pals", 1, "sst", 0, 0.0, 3.0],
        ["pals", 1, "sst", 1, 1.0, 3.0],
    ]
    tables.write(read, tmp_path / "new")
    assert tables.read(tmp_path / "new").points.equals(read.points)


def test_the_confidence_of_old_tables_has_another_name(results: Results, tmp_path: Path):
    tables.write(results, tmp_path)
    file = tmp_path / "predictions.parquet"
    old = pd.read_parquet(file).drop(columns=["confidence", "confidence_uncalibrated"])
    old.assign(sure=np.float32(0.75), sure_uncalibrated=np.float32(0.5)).to_parquet(file)
    read = tables.read(tmp_path).predictions
    assert read["confidence"].tolist() == [0.75] * 8
    assert read["confidence_uncalibrated"].tolist() == [0.5] * 8


@pytest.mark.parametrize("key", ["variant", "paper", "profile", "members"])
def test_a_name_that_could_lead_elsewhere_is_refused(results: Results, key: str):
    name, runs = "../up", results.runs
    if key == "variant":
        runs["variant"] = name
    else:
        settings = json.loads(runs["settings"][0]) | {key: [name] if key == "members" else name}
        runs["settings"] = json.dumps(settings)
    with pytest.raises(DataError, match="String should"):
        checks.check(results, "here")


def change(table: pd.DataFrame, column: str, value: object) -> None:
    column_type = object if isinstance(value, str) else table[column].dtype
    table[column] = table[column].astype(column_type)
    table.loc[0, column] = value


@pytest.mark.parametrize(
    ("name", "column", "value", "said"),
    [
        ("runs", "kind", "model", "'variant', 'ensemble', 'encoder' or 'baseline'"),
        ("runs", "dev_sst", 0.5, "@VARIANT-SEED` makes both: pals, seed 1"),
        ("runs", "code", "c0de", "settings or code of another seed of the variant are others"),
        ("runs", "settings", "[" * 100_000, "settings"),
        ("runs", "settings", '{"tasks": ["../x"]}', "a task's name has small letters"),
        ("runs", "data", '{"whose": "theirs"}', "'sample', 'course' or 'own'"),
        ("predictions", "task", "../../sst", "unknown task"),
        ("predictions", "split", "validation", "unknown split"),
        ("predictions", "prediction", float("nan"), "a score needs finite labels and predictions"),
        ("predictions", "variant", "other", "@VARIANT-SEED` makes both: other, seed 1"),
        ("predictions", "id", "another", "others in another run; train both on the same data"),
        ("predictions", "row", 1, "predictions twice, or unlike in two sources: pals, seed 1"),
    ],
)
def test_a_value_that_collect_would_not_write_is_refused(
    results: Results, name: str, column: str, value: object, said: str
):
    change(getattr(results, name), column, value)
    with pytest.raises(DataError) as refused:
        checks.check(results, "here")
    assert said in str(refused.value)


@pytest.mark.parametrize(("name", "column"), [("runs", "seed"), ("predictions", "scored"), ("predictions", "id")])
def test_an_empty_value_is_refused_where_a_run_has_one(results: Results, name: str, column: str, tmp_path: Path):
    tables.write(results, tmp_path)
    file = tmp_path / f"{name}.parquet"
    rewritten = pq.read_table(file).to_pandas().astype({column: object})
    rewritten.loc[0, column] = None
    rewritten.to_parquet(file)
    with pytest.raises(DataError, match=rf"{name}\.parquet is not a table of results: .*{column}.* null"):
        tables.read(tmp_path)


def test_a_column_of_another_type_and_no_parquet_are_refused(results: Results, tmp_path: Path):
    tables.write(results, tmp_path)
    file = tmp_path / "runs.parquet"
    table = pq.read_table(file)
    pq.write_table(table.drop_columns("seed").append_column("seed", [["one", "two"]]), file)
    with pytest.raises(DataError, match="is not a table of results"):
        tables.read(tmp_path)
    file.write_bytes(b"PAR1")
    with pytest.raises(DataError, match="is not a whole Parquet file"):
        tables.read(tmp_path)
