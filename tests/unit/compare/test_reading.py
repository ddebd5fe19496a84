"""Files of predictions in every kind, logs of lm-evaluation-harness, runs of MLflow; and what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtbert.compare import reading
from mtbert.errors import DataError

HEAD = "id,label,prediction\n"
HERE = [("7", "1", "0.5"), ("8", "0", "2")]


def read(path: Path | str, columns: dict[str, str] | None = None, metric: str = "accuracy", **asked: Any) -> Any:
    return reading.read(str(path), metric, columns, **asked).rows


def values(rows: Any, *columns: str) -> list[tuple[Any, ...]]:
    return list(rows[[*(columns or ("id", "label", "prediction"))]].itertuples(index=False, name=None))


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def parquet(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    odd = {b"pandas": b"{"}  # of a stranger; it is not read
    pq.write_table(pa.table(columns).replace_schema_metadata(odd), path)
    return path


def test_csv_tsv_json_lines_and_parquet_give_the_same_text(tmp_path: Path) -> None:
    lines = [{"id": 7, "label": 1.0, "prediction": 0.5}, {"id": "8", "label": False, "prediction": 2}]
    paths = {
        written(tmp_path / "a.csv", f"\ufeff{HEAD}7,1.0,0.50\n8,0,2\n"): ["line 2", "line 3"],
        written(tmp_path / "a.tsv", "id\tlabel\tprediction\n7\t1\t0.5\n8\t0\t2\n"): ["line 2", "line 3"],
        written(tmp_path / "a.jsonl", "\n\n".join(map(json.dumps, lines))): ["line 1", "line 3"],
        parquet(tmp_path / "a.parquet", id=["7", "8"], label=[1.0, 0.0], prediction=[0.5, 2.0]): ["row 1", "row 2"],
    }
    for path, places in paths.items():
        rows = read(path)
        assert (values(rows), rows["place"].tolist()) == (HERE, places)


def test_all_columns(tmp_path: Path) -> None:
    head = "id,label,prediction,seed,cluster,scored,sentence1,sentence2,probability_0,overall\n"
    rows = read(written(tmp_path / "a.csv", f"{head}07,1,1,3,x,True,A.,B.,0.5,True\n8,,1,3,y,0,,,,\n"))
    assert values(rows, "id", "label", "seed", "cluster", "scored", "texts") == [
        ("07", "1", "3", "x", True, ("A.", "B.")),
        ("8", "", "3", "y", False, ()),
    ]


def test_other_names_of_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "idx,gold,guess,note\n7,1,0.5,x\n8,0,2,y\n")
    assert values(read(path, {"id": "idx", "label": "gold", "prediction": "guess"})) == HERE
    with pytest.raises(DataError, match=r"a\.csv lacks id, label, prediction, group; it has idx, gold, guess, note"):
        read(path, {"cluster": "group"})


@pytest.mark.parametrize("source", ["s{seed}/p[v2].csv", "./s{seed}/p[v2].csv", "s{seed}//p[v2].csv"])
def test_one_file_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    for seed in (10, 9, "x"):
        written(tmp_path / f"s{seed}/p[v2].csv", f"{HEAD}7,1,0.5\n")
    monkeypatch.chdir(tmp_path)
    assert values(read(source), "seed", "place") == [("9", "seed 9, line 2"), ("10", "seed 10, line 2")]
    with pytest.raises(DataError, match=r"no file has a number in the place of \{seed\}"):
        read("t{seed}/p[v2].csv")


def test_a_runs_own_file_gets_the_clusters_that_preprocessing_found(tmp_path: Path) -> None:
    file = tmp_path / "build/runs/pals/1/predictions/sts-dev.parquet"
    parquet(file, id=["7", "8"], label=[1.0, 0.0], prediction=[0.5, 2.0])
    parquet(tmp_path / "build/data/sts/dev-rows.parquet", id=["8", "7"], cluster=[4, 5])
    assert read(file)["cluster"].tolist() == ["5", "4"]
    parquet(tmp_path / "build/data/sts/dev-rows.parquet", id=["8"], cluster=[4])
    with pytest.raises(DataError, match=r"rows that .*dev-rows.parquet lacks: 7"):
        read(file)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,gold,prediction\n1,1,1\n", "lacks label; it has id, gold, prediction; name yours with --columns"),
        ("a.csv", "id,label,prediction,Cluster\n1,1,1,1\n", "unknown columns: Cluster; known: id, label, prediction,"),
        ("a.csv", HEAD, "has no rows"),
        ("a.csv", f"{HEAD}1,1\n", "line 2: it has 2 fields, the header 3"),
        ("a.csv", "id,label,prediction,scored\n1,1,1,maybe\n", r"scored is none of 1, true, 0, false: 1 \(line 2\)"),
        ("a.jsonl", '{"id": 1}\nnonsense\n', "line 2: not JSON"),
        ("a.parquet", "nonsense", "is not a whole Parquet file"),
        ("a.txt", "id\n", "is none; allowed: a file that ends in .csv, .tsv, .jsonl, .ndjson, .parquet"),
        ("a/b.csv", "", "a is a folder; allowed"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, message: str) -> None:
    written(tmp_path / name, text)
    with pytest.raises(DataError, match=message):
        read(tmp_path / name.removesuffix("/b.csv"))
    with pytest.raises(DataError, match=r"c\.csv does not exist; allowed"):
        read(tmp_path / "c.csv")


def test_a_column_that_comes_twice_in_parquet_is_refused(tmp_path: Path) -> None:
    table = pa.table([["7"], [1], [1], [0]], names=["id", "label", "prediction", "prediction"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="columns come twice: prediction"):
        read(tmp_path / "a.parquet")


def log(folder: Path, *lines: dict[str, Any]) -> Path:
    """Lines of lm-evaluation-harness (evaluation_tracker.py, save_results_samples) with these values."""
    whole = {
        "doc": {"sentence1": "A.", "sentence2": "B.", "idx": 4}, "target": "1",
        "filtered_resps": [["-1.0", "False"], ["-0.5", "True"]], "filter": "none", "metrics": ["acc", "acc_norm", "f1"],
        "acc": 1.0, "acc_norm": 0.0, "f1": [1, 0],
    }  # fmt: skip
    texts = (json.dumps({"doc_id": number} | whole | line) for number, line in enumerate(lines))
    return written(folder / "samples_mrpc_2026-01-01T00-00-00.jsonl", "\n".join(texts))


def test_a_log_holds_the_score_that_the_harness_gave_each_row(tmp_path: Path) -> None:
    found = reading.read(str(log(tmp_path, {}, {"acc": 0.0, "doc": None})), "accuracy")
    assert found.of_scores
    assert values(found.rows, "id", "label", "prediction", "texts") == [
        ("0", "1", "1", ("A.", "B.")),
        ("1", "1", "0", ()),
    ]


def test_its_other_metrics_go_by_its_names_and_pairs_are_label_and_prediction(tmp_path: Path) -> None:
    assert values(read(log(tmp_path, {}), metric="acc_norm")) == [("0", "1", "0")]
    assert values(read(log(tmp_path, {"target": "5"}), metric="f1")) == [("0", "1", "0")]
    assert values(read(log(tmp_path, {"metrics": ["exact_match"], "exact_match": 1.0}))) == [("0", "1", "1")]


def test_of_several_filters_one_is_chosen(tmp_path: Path) -> None:
    path = log(tmp_path, {"filter": "strict-match"}, {"filter": "flexible-extract", "acc": 0.0})
    assert values(read(path, filtered="flexible-extract")) == [("1", "1", "0")]
    for filtered in (None, "none"):
        with pytest.raises(DataError, match=r"holds the filters strict-match, flexible-extract; .*--filter"):
            read(path, filtered=filtered)


@pytest.mark.parametrize(
    ("second", "metric", "message"),
    [
        ({}, "pearson", "has no pearson; allowed as --metric: acc, acc_norm, f1"),
        ({"metrics": None}, "accuracy", "line 2: not a line of lm-evaluation-harness"),
        ({"f1": 0.5}, "f1", "f1 is a pair in some lines"),
    ],
)
def test_what_is_wrong_in_a_log_is_said(tmp_path: Path, second: dict[str, Any], metric: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(log(tmp_path, {}, second), metric=metric)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    mlflow = pytest.importorskip("mlflow")
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return mlflow.MlflowClient(uri)


def run(client: Any, folder: Path, tags: dict[str, str]) -> str:
    """The id of a run with these tags and a file."""
    found = client.get_experiment_by_name("e")
    experiment = found.experiment_id if found else client.create_experiment("e", (folder / "artifacts").as_uri())
    made = client.create_run(experiment, tags=tags).info.run_id
    client.log_artifact(made, str(written(folder / "sts-dev.csv", f"{HEAD}7,1,{tags['seed']}\n")), "p")
    return made


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of MLflow's own use of SQLAlchemy
def test_files_of_mlflows_runs(client: Any, tmp_path: Path) -> None:
    first, second = (f"runs:/{run(client, tmp_path, {'seed': seed})}/p/sts-dev.csv" for seed in ("3", "4"))
    assert values(read(f"{first},{second}"), "seed", "prediction") == [("3", "3"), ("4", "4")]
    for source in ("0" * 32, first.replace("sts", "sst")):
        with pytest.raises(DataError, match=rf"{source} cannot be read from MLflow at .*mlflow.db"):
            read(source)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of MLflow's own use of SQLAlchemy
@pytest.mark.parametrize("tags", [{"variant": "../../up", "seed": "1"}, {"variant": "pals", "seed": "../../up/1"}])
def test_tags_of_a_strangers_run_lead_nowhere_else(client: Any, tmp_path: Path, tags: dict[str, str]) -> None:
    (tmp_path / "build/runs/pals").mkdir(parents=True)
    (tmp_path / "up/1").mkdir(parents=True)
    with pytest.raises(DataError, match="does not hold the run"):
        read(run(client, tmp_path, tags), task="sst", build=tmp_path / "build")


def test_without_mlflow_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading.tracking, "installed", lambda: False)
    with pytest.raises(DataError, match=r"which is not installed: pip install 'mtbert\[pipeline\]'"):
        read("0" * 32)
