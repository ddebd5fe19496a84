"""Files of predictions in every kind, and what is wrong with them in words."""

import json
from pathlib import Path

import pandas as pd
import pytest

from mtbert.comparing import sources
from mtbert.comparing.rows import Row
from mtbert.errors import DataError

HERE = [Row("line 2", "7", "1", "0.5"), Row("line 3", "8", "0", "2")]


def read(path: Path | str, columns: dict[str, str] | None = None) -> list[Row]:
    return sources.read(str(path), columns or {}, "accuracy", None).rows


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_tsv(tmp_path: Path) -> None:
    assert read(written(tmp_path / "a.csv", "\ufeffid,label,prediction\n7,1,0.5\n8,0,2\n")) == HERE
    assert read(written(tmp_path / "a.tsv", "id\tlabel\tprediction\n7\t1\t0.5\n8\t0\t2\n")) == HERE


def test_json_lines_and_parquet_give_the_same_text(tmp_path: Path) -> None:
    lines = [{"id": 7, "label": 1.0, "prediction": 0.5}, {"id": "8", "label": False, "prediction": 2}]
    found = read(written(tmp_path / "a.jsonl", "\n\n".join(json.dumps(line) for line in lines)))
    assert found == [HERE[0]._replace(place="line 1"), HERE[1]._replace(place="line 3")]
    pd.DataFrame({"id": ["7", "8"], "label": [1.0, 0.0], "prediction": [0.5, 2.0]}).to_parquet(tmp_path / "a.parquet")
    assert [row._replace(place="") for row in read(tmp_path / "a.parquet")] == [row._replace(place="") for row in HERE]


def test_all_columns(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.csv",
        "id,label,prediction,seed,cluster,scored,sentence1,sentence2,probability_0\n7,1,1,3,x,True,A.,B.,0.5\n8,,1,3,y,0,,,\n",
    )
    assert read(path) == [
        Row("line 2", "7", "1", "1", "3", "x", True, ("A.", "B.")),
        Row("line 3", "8", "", "1", "3", "y", False, ()),
    ]


def test_other_names_of_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "idx,gold,guess,note\n7,1,0.5,x\n8,0,2,y\n")
    assert read(path, {"id": "idx", "label": "gold", "prediction": "guess"}) == HERE


@pytest.mark.parametrize("chosen", ["cluster", "seed", "scored", "text"])
def test_a_column_that_was_named_and_is_not_there_is_refused(tmp_path: Path, chosen: str) -> None:
    path = written(tmp_path / "a.csv", "id,label,prediction,grp\n7,1,0.5,x\n")
    with pytest.raises(DataError, match=r"a\.csv lacks group; it has id, label, prediction, grp; name yours"):
        read(path, {chosen: "group"})
    assert read(path, {"cluster": "grp"}) == [HERE[0]._replace(cluster="x")]


def test_one_file_a_seed(tmp_path: Path) -> None:
    for seed in (10, 2):
        written(tmp_path / f"s{seed}/dev-sts.csv", "id,label,prediction\n7,1,0.5\n")
    written(tmp_path / "sx/dev-sts.csv", "")
    found = read(tmp_path / "s{seed}/dev-sts.csv")
    assert [(row.seed, row.place) for row in found] == [("2", "seed 2, line 2"), ("10", "seed 10, line 2")]
    with pytest.raises(DataError, match=r"no file has a number in the place of \{seed\}"):
        read(tmp_path / "t{seed}/dev-sts.csv")


@pytest.mark.parametrize("source", ["./runs/a{seed}.csv", "runs//a{seed}.csv", "runs/./a{seed}.csv", "./{seed}.csv"])
def test_a_path_with_a_seed_may_be_written_in_any_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for name in ("runs/a3.csv", "3.csv"):
        written(tmp_path / name, "id,label,prediction\n7,1,0.5\n")
    monkeypatch.chdir(tmp_path)
    assert [row.seed for row in read(source)] == ["3"]


def test_a_runs_own_file_gets_the_clusters_that_preprocessing_found(tmp_path: Path) -> None:
    file = tmp_path / "build/runs/pals/1/predictions/sts-dev.parquet"
    file.parent.mkdir(parents=True)
    pd.DataFrame({"id": ["7", "8"], "label": [1.0, 0.0], "prediction": [0.5, 2.0]}).to_parquet(file)
    rows = tmp_path / "build/data/sts/dev-rows.parquet"
    rows.parent.mkdir(parents=True)
    pd.DataFrame({"id": ["8", "7"], "cluster": [4, 5]}).to_parquet(rows)
    assert [row.cluster for row in read(file)] == ["5", "4"]
    pd.DataFrame({"id": ["8"], "cluster": [4]}).to_parquet(rows)
    with pytest.raises(DataError, match=r"rows that .*dev-rows.parquet lacks: 7"):
        read(file)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,gold,prediction\n1,1,1\n", "lacks label; it has id, gold, prediction; name yours with --columns"),
        ("a.csv", "id,label,prediction,Cluster\n1,1,1,1\n", "unknown columns: Cluster; known: id, label, prediction,"),
        ("a.csv", "id,label,prediction\n", "has no rows"),
        ("a.csv", "", "has no rows"),
        ("a.csv", "id,label,prediction\n1,1\n", "line 2: it has 2 fields, the header 3"),
        ("a.csv", "id,label,prediction\n1,1,1,1\n", "line 2: it has 4 fields, the header 3"),
        ("a.csv", 'id,label,prediction\n"1,1,1\n', "line 2: unexpected end of data"),
        ("a.csv", "id,label,prediction,scored\n1,1,1,maybe\n", "scored is neither 1, true nor 0, false: line 2"),
        ("a.jsonl", '{"id": 1}\nnonsense\n', "line 2: not JSON"),
        ("a.jsonl", "[1]\n", "line 1: not a JSON object"),
        ("a.parquet", "nonsense", "is not a whole Parquet file"),
        ("a.txt", "id\n", "ends in .txt; allowed: .csv, .tsv, .jsonl or .parquet"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(written(tmp_path / name, text))


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.csv does not exist; allowed: a file that ends in .csv"):
        read(tmp_path / "a.csv")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)
    (tmp_path / "b.csv").write_bytes(b"id,label,prediction\n\xff,1,1\n")
    with pytest.raises(DataError, match="line 2: not UTF-8 text"):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("source", "expected"),
    [("a" * 32, True), (f"runs:/{'1' * 32}/p/x.csv", True), (f"{'a' * 32},{'b' * 32}", True), ("a.csv", False)],
)
def test_runs_of_mlflow_are_known_by_their_ids(source: str, expected: bool) -> None:
    assert sources.is_run(source) is expected
