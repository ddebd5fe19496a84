"""Trainings and `track` against real MLflow: at once, broken off, restored, and with a server that fails.

Small processes stand for trainings; databases are read with plain SQL, apart from the code under test.
"""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mtbert import files, tracking
from mtbert.tracking import live

REPOSITORY = Path(__file__).parents[2]
STEPS = 20
# One training: values of every step live, then its files, then `finish`. Lets a test step in between by files.
TRAINING = f"""
import sys, time
from pathlib import Path
from mtbert import files, tracking
variant, seed, pause = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
directory, logs = Path("build/runs", variant, str(seed)), Path("build/logs", variant, str(seed))
settings = files.read_yaml(directory / "settings.yaml")
settings.pop("seed")
with tracking.LiveRun(settings, seed, patience=60) as live:
    for step in range({STEPS}):
        if step == 10 and pause:
            Path("halfway").touch()
            while not Path("go-on").exists():
                time.sleep(0.02)
        live.log(step, {{"loss/sst": 1.0 / (step + 1), "learning_rate": 0.5}})
    live.finish(directory, logs)
print("trained")
"""


def settings(variant: str, dim: int = 204) -> dict[str, Any]:
    return {
        "variant": variant,
        "paper": "pals-for-pals",
        "row": "Original PALs",
        "profile": "sample",
        "tasks": ["sst"],
        "pals": {"dim": dim},
    }


def write_run(root: Path, variant: str = "pals", seed: int = 1, dim: int = 204) -> None:
    directory, logs = root / f"build/runs/{variant}/{seed}", root / f"build/logs/{variant}/{seed}"
    files.write_yaml(directory / "settings.yaml", {**settings(variant, dim), "seed": seed})
    results = {"variant": variant, "seed": seed, "steps": STEPS, "epoch": 1, "dev": {"sst": 0.5}}
    files.write_json(directory / "metrics.json", results)
    rows = [f"0,{step},loss/sst,{1.0 / (step + 1)}\n0,{step},learning_rate,0.5\n" for step in range(STEPS)]
    files.write_text(directory / "history.csv", "phase,step,name,value\n" + "".join(rows))
    files.write_json(logs / "run.json", {"started": "2026-01-01T00:00:00+00:00", "seconds": 10.0})


POINTS = 2 * STEPS + 4  # two values a step; then sst, steps, epoch and run/seconds


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that `track` has created, to copy: creation takes seconds."""
    root = tmp_path_factory.mktemp("empty")
    write_catalog(root, [])
    assert track(root).stdout == "0 new, 0 already there\n"
    return root / "mlflow.db"


@pytest.fixture
def new_root(tmp_path: Path) -> Path:
    """A repository with one finished run of `pals` and no database."""
    root = tmp_path / "a repository"  # a space, as in many a home directory
    root.mkdir()
    (root / "dvc.yaml").touch()
    write_run(root)
    write_catalog(root, ["pals"])
    return root


@pytest.fixture
def root(new_root: Path, empty_database: Path) -> Path:
    """The same with an empty database."""
    shutil.copy(empty_database, new_root / "mlflow.db")
    return new_root


def write_catalog(root: Path, variants: list[str], ensembles: Mapping[str, Any] | None = None) -> None:
    about = {"paper": "pals-for-pals", "row": "Original PALs", "tasks": ["sst"]}
    entries = {name: {**about, "selected": True} for name in variants}
    entries["never"] = {**about, "selected": False}
    catalog = {"profile": "sample", "seeds": [1], "variants": entries, "ensembles": ensembles or {}}
    files.write_yaml(root / "build/plan/catalog.yaml", catalog)


def environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Ours without what would name another place for the runs, then `changes`."""
    away = {"MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_EXP_NAME", "DVC_STAGE", live.OFF, "PYTEST_CURRENT_TEST"}
    kept = {name: value for name, value in os.environ.items() if name not in away}
    return {**kept, "PYTHONPATH": str(REPOSITORY / "src"), **changes}


def track(root: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, REPOSITORY / "stages/track.py", "build"]
    return subprocess.run(command, cwd=root, env=environment(changes), capture_output=True, text=True, check=False)


def start_training(root: Path, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", TRAINING, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=root, env=environment(changes), stdout=pipe, stderr=pipe, text=True)


def outcome(process: subprocess.Popen[str]) -> tuple[str, str]:
    return process.communicate(timeout=120)


def rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=20)) as connection:
        return connection.execute(query).fetchall()


def runs(root: Path) -> list[tuple[str, str, int]]:
    """Name, status and number of points of every run that is not deleted."""
    query = """select name, status, (select count(*) from metrics where metrics.run_uuid = runs.run_uuid)
               from runs where lifecycle_stage = 'active' order by name"""
    return rows(root / "mlflow.db", query)


def wait_for(condition: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


def test_trainings_at_once_on_a_database_that_does_not_exist(new_root: Path) -> None:
    """Four variants start together, where an earlier creation was killed; `track` finds all of them complete."""
    files.write_text(new_root / ".mlflow.db.partial/mlflow.db", "half of a database")
    names = ["a", "b", "c", "d"]
    for name in names:
        write_run(new_root, name)
    write_catalog(new_root, names)
    trainings = [start_training(new_root, name, "1") for name in names]
    assert [outcome(training) for training in trainings] == [("trained\n", "")] * 4
    assert runs(new_root) == [(f"{name}-seed1", "FINISHED", POINTS) for name in names]
    assert track(new_root).stdout == "0 new, 4 already there\n"
    places = rows(new_root / "mlflow.db", "select artifact_location from experiments where name = 'mtbert-sample'")
    assert places == [((new_root / "mlartifacts/mtbert-sample").as_uri(),)]


def test_restored_runs_appear_once_beside_those_of_other_settings(root: Path) -> None:
    """Two `track` at once bring a run in once; other settings and an ensemble come beside it; nothing comes twice."""
    command = [sys.executable, REPOSITORY / "stages/track.py", "build"]
    pair = [subprocess.Popen(command, cwd=root, env=environment({}), stdout=subprocess.PIPE) for _ in range(2)]
    assert sorted(process.communicate()[0] for process in pair) == [
        b"0 new, 1 already there\n",
        b"1 new, 0 already there\n",
    ]
    write_run(root, dim=276)
    vote = {"ensemble": "vote", "seed": 1, "members": ["pals"], "dev": {"sst": 0.75}, "test": {}}
    files.write_json(root / "build/ensembles/vote/1/metrics.json", vote)
    entry = {"paper": "pals-for-pals", "row": "PALs ensemble", "members": ["pals"], "selected": True}
    write_catalog(root, ["pals", "not-yet"], {"vote": entry})
    assert track(root).stdout == "2 new, 0 already there, 1 not trained yet\n"
    write_run(root, dim=204)  # back to the earlier settings, as DVC's cache restores them
    assert track(root).stdout == "0 new, 2 already there, 1 not trained yet\n"
    complete = [("pals-seed1", "FINISHED", POINTS)] * 2
    assert runs(root) == [*complete, ("vote-seed1", "FINISHED", 1)]
    dims = "select value from params where key = 'pals.dim' order by value"
    assert rows(root / "mlflow.db", dims) == [("204",), ("276",)]


def test_killed_training_is_marked_and_replaced(root: Path) -> None:
    training = start_training(root, "pals", "1", "pause")
    wait_for(lambda: (root / "halfway").exists() and runs(root) and runs(root)[0][2] == 20)
    training.send_signal(signal.SIGKILL)
    outcome(training)
    wait_for(lambda: runs(root)[0][1] == "KILLED")
    ended_by = rows(root / "mlflow.db", "select value from tags where key = 'ended_by'")
    assert ended_by == [("the training process was killed",)]
    assert track(root).stdout == "1 new, 0 already there\n"
    assert runs(root) == [("pals-seed1", "FINISHED", POINTS)]


def test_temporary_experiment_logs_to_the_real_repository(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("mlflow.db"))
    training = start_training(copy, "pals", "1", DVC_ROOT=str(root), DVC_EXP_NAME="calm-eels", DVC_STAGE="train@pals-1")
    assert outcome(training) == ("trained\n", "")
    assert runs(root) == [("pals-seed1", "FINISHED", POINTS)]
    assert not (copy / "mlflow.db").exists()
    tags = dict(rows(root / "mlflow.db", "select key, value from tags"))
    assert (tags["dvc_experiment"], tags["dvc_stage"]) == ("calm-eels", "train@pals-1")


def test_server_that_is_away(root: Path) -> None:
    """The training is whole and warned once; `track` says what to do; neither shows the password."""
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: refused
        port = unused.getsockname()[1]
        away = {"MLFLOW_TRACKING_URI": f"http://ann:s3cret@127.0.0.1:{port}"}
        printed, warned = outcome(start_training(root, "pals", "1", **away))
        failed = track(root, **away)
        within_experiment = track(root, **away, DVC_EXP_NAME="calm-eels")
    assert (printed, warned.count("\n")) == ("trained\n", 1)
    assert warned.startswith(f"warning: this run is not logged to MLflow at http://127.0.0.1:{port} any further")
    assert "`python stages/track.py build` brings the run in later" in warned
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)
    assert failed.stderr.startswith(f"error: the runs are not in MLflow at http://127.0.0.1:{port} yet")
    assert (within_experiment.returncode, within_experiment.stdout) == (0, "")
    assert within_experiment.stderr.endswith(
        "`python stages/track.py build` brings them in (`dvc exp apply calm-eels` first)\n"
    )
    assert "s3cret" not in warned + failed.stderr + within_experiment.stderr


def test_server_that_hangs(root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:  # accepts, and never answers
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "60")
        monkeypatch.delenv(live.OFF, raising=False)
        run = tracking.LiveRun(settings("pals"), 1, patience=1.0)
        server.settimeout(60)
        with server.accept()[0]:  # the writer waits for its first answer now
            start = time.monotonic()
            run.log(1, {"loss/sst": 1.5})
            logged = time.monotonic() - start
            run.finish(root / "build/runs/pals/1", root / "build/logs/pals/1")
            finished = time.monotonic() - start
    assert logged < 0.1
    assert 1.0 <= finished < 3.0
    assert capfd.readouterr().err == (
        "warning: MLflow took more than 1 seconds; `python stages/track.py build` brings this run in later\n"
    )


class Server:
    """A real MLflow server on a database and a port of its own."""

    def __init__(self, database: Path) -> None:
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._database = database
        self.start()

    def start(self) -> None:
        """Start, or start again, and wait for an answer."""
        options = ["--backend-store-uri", f"sqlite:///{self._database}", "--workers", "1", "--port", str(self.port)]
        quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *options],
            cwd=self._database.parent,
            env=environment(quiet),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for(self._answers, 120)

    def _answers(self) -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """Kill the server and its workers."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    running = Server(root / "mlflow.db")
    yield running
    running.kill()


def test_server_that_dies_half_way_and_comes_back(root: Path, server: Server) -> None:
    """The training goes on; `track` replaces the half run by a whole one, over the server, once it is back."""
    place = {"MLFLOW_TRACKING_URI": f"http://ann:s3cret@127.0.0.1:{server.port}"}
    training = start_training(root, "pals", "1", "pause", **place)
    wait_for(lambda: (root / "halfway").exists() and runs(root) and runs(root)[0][2] == 20)
    server.kill()
    (root / "go-on").touch()
    printed, warned = outcome(training)
    assert (printed, warned.count("\n")) == ("trained\n", 1)
    assert runs(root) == [("pals-seed1", "RUNNING", 20)]
    server.start()
    brought = track(root, **place)
    assert (brought.stdout, brought.stderr) == ("1 new, 0 already there\n", "")
    assert "s3cret" not in warned
    assert runs(root) == [("pals-seed1", "FINISHED", POINTS)]
