"""Models in MLflow, and MLflow's own server, as a real process, answering with them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
import trained
from pipeline import tracked

import mtbert
from mtbert import tracking
from mtbert.tracking import record

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own
PATIENCE = 300.0  # seconds: a machine may have much else to do
SAME = (
    "select model_id, metric_name, metric_value from logged_model_metrics "
    "where metric_name like 'final/dev/%' order by 1, 2"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tracked")
    build = trained.build(root / "build")
    trained.train(build, trained.settings("crossed", **trained.MODEL["crossed"]), 2)
    tracked.write_catalog(root, ["crossed", "apart"], seeds=(1, 2))
    assert sync_runs(root) == "runs in MLflow: 3 new, 0 already there, 1 not trained yet"
    return root


def sync_runs(root: Path, uri: str = "") -> str:
    """What stage `track` does in that repository."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_ROOT", str(root))
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        patch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "100")  # a machine may have much else to do
        return tracking.sync_runs(root / "build")


def choosing(root: Path, seed: int) -> float:
    from mtbert.tracking import models  # MLflow, where a test needs it

    found = models.choosing(record.of_run(root / f"build/runs/crossed/{seed}", record.read_catalog(root / "build")))
    assert found is not None
    return found


def count(root: Path, table: str) -> int:
    return tracked.rows(root / "mlflow.db", f"select count(*) from {table}")[0][0]


def weights(root: Path) -> list[Path]:
    return sorted((root / "mlartifacts").rglob("model.safetensors"))


def test_every_training_has_a_model_with_its_scores(root: Path):
    names = tracked.rows(root / "mlflow.db", "select name, status from logged_models order by name")
    assert names == [("apart", 2), ("crossed", 2), ("crossed", 2)]  # 2 is READY
    tied = {row[1:] for row in tracked.rows(root / "mlflow.db", SAME)}
    for seed in (1, 2):
        model = mtbert.load("crossed", seed, root / "build")
        assert {(f"final/dev/{task}", model.metrics.dev[task]) for task in ("sst", "sts")} <= tied


def test_weights_are_not_stored_twice_and_nothing_is_a_pickle(root: Path):
    assert len(weights(root)) == 3
    runs = {file.stat().st_ino for file in (root / "build/runs").rglob("model.safetensors")}
    assert {file.stat().st_ino for file in weights(root)} == runs
    assert not [file for file in (root / "mlartifacts").rglob("*") if file.suffix in (".pkl", ".pt", ".bin")]


def test_tracking_again_changes_nothing(root: Path):
    tables = ("logged_models", "model_versions", "logged_model_metrics", "metrics", "runs", "inputs")
    before = [count(root, table) for table in tables]
    assert sync_runs(root) == "runs in MLflow: 0 new, 3 already there, 1 not trained yet"
    assert [count(root, table) for table in tables] == before


def test_a_model_that_was_broken_off_is_made_anew(root: Path):
    with closing(sqlite3.connect(root / "mlflow.db")) as connection, connection:
        connection.execute("update logged_models set status = 1 where name = 'apart'")  # 1 is PENDING
    sync_runs(root)
    query = "select status, lifecycle_stage from logged_models where name = 'apart' order by creation_timestamp_ms"
    assert tracked.rows(root / "mlflow.db", query) == [(1, "deleted"), (2, "active")]


def test_the_alias_is_on_the_seed_that_the_choosing_scores_prefer(root: Path):
    query = """select tag_value from registered_model_aliases join model_versions using (name, version)
               join logged_model_tags on source = 'models:/' || model_id
               where tag_key = 'choosing' and name = 'mtbert-sample-crossed' and alias = 'best'"""
    assert tracked.rows(root / "mlflow.db", query) == [(str(max(choosing(root, 1), choosing(root, 2))),)]


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[str]:
    model = ("models", "serve", "-m", "models:/mtbert-sample-crossed@best", "--env-manager", "local")
    running = tracked.Server(root, *model, MLFLOW_TRACKING_URI=f"sqlite:///{root / 'mlflow.db'}")
    yield f"http://127.0.0.1:{running.port}/invocations"
    running.kill()


def asked(server: str, records: list[dict[str, Any]], **params: str) -> requests.Response:
    return requests.post(server, json={"dataframe_records": records, "params": params}, timeout=PATIENCE)


@pytest.fixture(scope="module")
def best(root: Path) -> Any:
    return mtbert.load("crossed", max((1, 2), key=lambda seed: choosing(root, seed)), root / "build")


def test_the_server_answers_with_classes_and_probabilities(server: str, best: Any):
    said = asked(server, [{"text": "the plot is simple ."}], task="sst").json()["predictions"]
    assert said == best.predict(task="sst", rows=["the plot is simple ."]).to_dict("records")


def test_the_server_takes_pairs_and_a_thousand_at_once(server: str, best: Any, root: Path):
    rows = (trained.rows(root / "build", "sts", "test") * 4)[:1000]
    records = [{"text": one, "text_pair": other} for one, other in rows]
    said = asked(server, records, task="sts").json()["predictions"]
    assert [record["prediction"] for record in said] == best.predict(task="sts", rows=rows)["prediction"].tolist()


def test_the_server_takes_rows_of_several_tasks(server: str, best: Any):
    records = [{"text": "a", "text_pair": "b"}, {"text": "the plot is simple .", "task": "sst"}]
    said = asked(server, records, task="sts").json()["predictions"]
    assert said[0]["prediction"] == best.predict(task="sts", rows=[("a", "b")])["prediction"][0]
    assert said[1:] == best.predict(task="sst", rows=["the plot is simple ."]).to_dict("records")


def test_the_server_s_faults_are_the_client_s(server: str):
    wrong = asked(server, [{"sentence": "a film"}], task="sst")
    assert (wrong.status_code, "text" in wrong.text) == (400, True)
    unnamed = asked(server, [{"text": "a film"}])
    assert [*unnamed.json()["predictions"][0]] == ["sst", "sst_probability", "cut"]
    unknown = asked(server, [{"text": "a film"}], task="sst2")
    assert unknown.status_code == 400
    assert "unknown task 'sst2'; did you mean sst" in unknown.text
