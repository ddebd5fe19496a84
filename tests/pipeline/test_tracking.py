"""Trainings and `track` against real MLflow: at once, broken off, restored, moved, and with a server that fails."""

import random
import runpy
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import built
import numpy
import pytest
from pipeline import preloaded, tracked
from pipeline.small import wait_for
from pipeline.tracked import POINTS, Server, outcomes, runs, train, write_catalog, write_run

from mtbert import files, tracking
from mtbert.provenance import inputs, seals
from mtbert.scores import ensembles
from mtbert.tasks import COURSE
from mtbert.tracking import live, record, store, view

ANY = record.Record("mtbert-sample", "any", view.scores(COURSE), {}, {})  # a run of the experiment

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of MLflow's own use of SQLAlchemy
FINISHED = ("pals seed 1", "FINISHED", POINTS)


@pytest.fixture
def root(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one finished run of `pals` and an empty database; a training there logs live."""
    root = tmp_path / "feature%2Fx #?'"
    root.mkdir()
    shutil.copy(empty_database, root / "mlflow.db")
    write_run(root)
    write_catalog(root, ["pals"])
    monkeypatch.chdir(root)
    monkeypatch.setenv("DVC_ROOT", str(root))
    for name in ("MLFLOW_TRACKING_URI", "DVC_EXP_NAME", "DVC_STAGE", live.SWITCH):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(live, "BEGINS_AFTER", 0)
    return root


def sync_runs(root: Path) -> str:
    return tracking.sync_runs(root / "build")


def test_a_training_is_logged_live_and_whole(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    uri, drawn = tracking.tracking_uri(), (random.getstate(), numpy.random.get_state()[2])
    train(root, half_way=lambda: wait_for(lambda: outcomes(uri) == [("pals seed 1", "RUNNING", 20)]))
    assert (random.getstate(), numpy.random.get_state()[2]) == drawn  # MLflow takes no number from a training
    assert outcomes(uri) == [FINISHED]
    (run,) = runs(uri)
    assert run.data.metrics["final/dev/sst"] == 0.123456
    assert run.info.end_time == 1767225610000
    found = tracked.client(uri).search_runs([run.info.experiment_id], "params.\"pals.dim\" = '204'")
    assert [one.info.run_id for one in found] == [run.info.run_id]
    assert sync_runs(root) == "runs in MLflow: 0 new, 1 already there"
    assert capfd.readouterr().err == ""
    assert [path.name for path in root.parent.iterdir()] == [root.name]  # nothing is written beside the repository


def test_restored_runs_appear_once_beside_those_of_other_settings(root: Path) -> None:
    assert sync_runs(root) == "runs in MLflow: 1 new, 0 already there"
    write_run(root, dim=276)
    write_catalog(root, ["pals", "not-yet"], {"pals.dim": 276})
    assert sync_runs(root) == "runs in MLflow: 1 new, 0 already there, 1 not trained yet"
    write_run(root, dim=204)  # back to the earlier settings, as DVC's cache restores them
    write_catalog(root, ["pals", "not-yet"])
    assert sync_runs(root) == "runs in MLflow: 0 new, 1 already there, 1 not trained yet"
    assert outcomes(tracking.tracking_uri()) == [FINISHED, ("pals.dim=276 pals seed 1", "FINISHED", POINTS)]


def test_votes_and_merges_appear_once_where_the_plan_selects_them(root: Path) -> None:
    build = built.build(root / "build")
    ensembles.vote_all(build, build / "votes")
    merged = Path(shutil.copytree(build / "runs/one/1", build / "merged/both/1"))
    files.write_yaml(merged / "settings.yaml", {"variant": "both", "members": ["one", "two"], "profile": "own"})
    metrics = files.read_json(merged / "metrics.json")
    files.write_json(merged / "metrics.json", metrics | {"variant": "both"})
    seals.seal(merged)
    catalog = files.read_yaml(build / "plan/catalog.yaml")
    ensembles_of_plan = catalog["ensembles"] | {"both": {"selected": True, "merge": "mean", "members": ["one", "two"]}}
    files.write_yaml(build / "plan/catalog.yaml", catalog | {"ensembles": ensembles_of_plan})
    assert sync_runs(root) == "runs in MLflow: 4 new, 0 already there"
    assert sync_runs(root) == "runs in MLflow: 0 new, 4 already there"
    client = tracked.client(tracking.tracking_uri())
    found = client.search_runs([client.get_experiment_by_name("mtbert-own-mine").experiment_id])
    changed = "data=mine pals.dim=8"
    assert sorted(run.info.run_name for run in found) == [
        f"{changed} both seed 1", f"{changed} one seed 1", f"{changed} vote seed 1", "data=mine two seed 1",
    ]  # fmt: skip
    unselected = {name: entry | {"selected": False} for name, entry in ensembles_of_plan.items()}
    files.write_yaml(build / "plan/catalog.yaml", catalog | {"ensembles": unselected})
    assert sync_runs(root) == "runs in MLflow: 0 new, 2 already there"


def break_off(root: Path) -> None:
    """Leave a run as a training does that is killed after step 10."""
    there, build = store.Store(tracking.tracking_uri()), root / "build"
    run = build / "runs/pals/1"
    begun = record.begun(tracked.planned(run), 1, inputs.identity(run), record.read_catalog(build))
    run_id = there.begin(begun)
    for step in range(11):
        there.client.log_metric(run_id, "loss/sst", 1.0 / (step + 1), step=step)
    there.client.set_terminated(run_id, "KILLED")


@pytest.mark.parametrize("go_on", [lambda root: train(root, first=8), sync_runs], ids=["a training", "track"])
def test_a_killed_training_and_what_goes_on_with_it_are_one_run(root: Path, go_on: Callable[[Path], object]) -> None:
    break_off(root)
    go_on(root)
    assert outcomes(tracking.tracking_uri()) == [FINISHED]


def test_a_failed_training_is_marked(root: Path) -> None:
    def fail() -> None:
        raise OSError("refused")

    with pytest.raises(OSError, match="refused"):
        train(root, half_way=fail)
    assert [run.info.status for run in runs(tracking.tracking_uri())] == ["FAILED"]


def test_a_database_that_was_copied_writes_beside_itself(root: Path, tmp_path: Path) -> None:
    first = store.Store(tracking.tracking_uri()).experiment(ANY)
    (copy := tmp_path / "copy").mkdir()
    shutil.copy(root / "mlflow.db", copy)
    there = store.Store(f"sqlite:///{copy}/mlflow.db")
    second = there.client.get_experiment(there.experiment(ANY))
    assert second.artifact_location == (copy / "mlartifacts/mtbert-sample").as_uri()
    assert there.client.get_experiment(first).name == f"mtbert-sample moved {first}"


def test_a_server_without_models_gets_the_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.protos.databricks_pb2 import ENDPOINT_NOT_FOUND

    from mtbert.tracking import models

    def refuse(*_: object) -> None:
        raise models.MlflowException("no such path", ENDPOINT_NOT_FOUND)

    monkeypatch.setattr(models, "_bring", refuse)
    assert sync_runs(root).startswith("runs in MLflow: 1 new, 0 already there\nwarning: no models are logged")


def test_trainings_at_once_on_a_database_that_does_not_exist(root: Path) -> None:
    (root / "mlflow.db").unlink()
    variants = ["a", "b"]
    for variant in variants:
        write_run(root, variant)
    write_catalog(root, variants)
    command = [preloaded.python(), "-c", tracked.TRAINING]
    environment = tracked.environment({"DVC_ROOT": str(root)})
    started = [subprocess.Popen([*command, variant], cwd=root, env=environment) for variant in variants]
    assert [process.wait() for process in started] == [0, 0]
    sync_runs(root)
    assert outcomes(tracking.tracking_uri()) == [(f"{variant} seed 1", "FINISHED", POINTS) for variant in variants]


def with_weights(root: Path) -> Path:
    """Give the run weights, as a link into DVC's cache."""
    weights = root / "build/runs/pals/1/model.safetensors"
    files.write_text(root / "cache/ab12", "weights")
    weights.symlink_to(root / "cache/ab12")
    seals.seal(weights.parent)
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        files.write_text(root / "build/encoders/base" / name, "{}")
    seals.seal(root / "build/encoders/base")
    return weights


def test_a_model_holds_files_that_outlive_dvcs_cache(root: Path) -> None:
    weights = with_weights(root)
    assert sync_runs(root) == "runs in MLflow: 1 new, 0 already there"
    (kept,) = (root / "mlartifacts").rglob("model.safetensors")
    assert (kept.parent.name, kept.is_symlink(), kept.samefile(weights)) == ("run", False, True)
    (root / "cache/ab12").unlink()
    assert kept.read_text() == "weights"
    assert sorted(path.name for path in (kept.parent / "encoder").iterdir()) == [
        "config.json", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    (version,) = tracked.client(tracking.tracking_uri()).search_model_versions("name='mtbert-sample-pals'")
    assert str(version.version) == "1"


STARTER = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'mtbert', 'mlflow', '--port', sys.argv[1]])"


def test_the_pages_that_are_served_end_with_whoever_started_them(root: Path) -> None:
    port = tracked.free_port()
    command, environment = [sys.executable, "-c", STARTER, str(port)], tracked.environment({"DVC_ROOT": str(root)})
    with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        assert starter.stdout.readline() == "runs in MLflow: 1 new, 0 already there\n"
        page = f"http://127.0.0.1:{port}/#/experiments/1/runs?workflowType=machine_learning&viewStateShareKey=scores"
        assert starter.stdout.readline() == f"{page} - Ctrl-C ends it\n"
        experiment = tracked.client(f"http://127.0.0.1:{port}").get_experiment("1")
        assert experiment.tags[view.TAG] == view.saved(view.scores(COURSE))
        starter.kill()
        wait_for(lambda: not tracked.listens(port), 60)


def test_experiments_of_before_get_the_page_of_scores(root: Path) -> None:
    there = store.Store(tracking.tracking_uri())
    found = there.client.create_experiment("mtbert-sample", (root / "mlartifacts/mtbert-sample").as_uri())
    assert there.experiment(ANY) == found
    assert there.client.get_experiment(found).tags == {view.TAG: view.saved(view.scores(COURSE))}


@pytest.fixture
def server(tmp_path: Path, empty_database: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that trainings log to."""
    running = tracked.server(Path(shutil.copy(empty_database, tmp_path / "server.db")))
    monkeypatch.setenv(store.URI, f"http://ann:s3cret@127.0.0.1:{running.port}")
    yield running
    running.kill()


def test_a_server_that_dies_half_way_and_comes_back(
    root: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The training goes on with one warning; `track` says that MLflow is away, and later completes the run."""
    uri = tracking.tracking_uri()

    def die() -> None:
        wait_for(lambda: outcomes(uri) == [("pals seed 1", "RUNNING", 20)])
        server.kill()

    train(root, half_way=die)
    told = capfd.readouterr().err
    assert told.startswith("warning: this run is not logged to MLflow at MLFLOW_TRACKING_URI any further (")
    assert told.endswith("; the training goes on, and `mtbert track` brings the run in later\n")
    away = "are not in MLflow at MLFLOW_TRACKING_URI yet .ConnectionRefusedError.*: once MLflow answers, `mtbert track`"
    with pytest.raises(tracking.TrackingError, match=away) as caught:
        sync_runs(root)
    assert "s3cret" not in told + str(caught.value)
    monkeypatch.setenv(store.URI, f"sqlite:///{tmp_path}/server.db")  # the database of the server, back again
    assert sync_runs(root) == "runs in MLflow: 1 new, 0 already there"
    assert outcomes(tracking.tracking_uri()) == [FINISHED]


def test_a_server_that_never_answers_is_waited_for_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        monkeypatch.setenv(store.URI, f"http://127.0.0.1:{silent.getsockname()[1]}")
        start = time.monotonic()
        train(root)
    assert time.monotonic() - start < 30
    told = capfd.readouterr().err
    assert told.startswith("warning: this run is not logged to MLflow at MLFLOW_TRACKING_URI any further (")
    assert told.count("warning") == 1


def test_the_stage_fails_where_mlflow_is_away_but_not_within_an_experiment(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stage = runpy.run_path(str(tracked.REPOSITORY / "stages/track.py"))["main"]
    monkeypatch.setenv(store.URI, "http://127.0.0.1:1")
    with pytest.raises(tracking.TrackingError, match="the runs are not in MLflow"):
        stage(root / "build")
    monkeypatch.setenv("DVC_EXP_NAME", "calm-eels")
    stage(root / "build")
    told = capfd.readouterr().err
    assert told.startswith("warning: the runs are not in MLflow")
    assert told.endswith("(`dvc exp apply calm-eels` first)\n")
