"""Trainings and `track` against real MLflow: at once, broken off, restored, and with a server that fails.

Small processes stand for trainings; databases are read with plain SQL, apart from the code under test.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pipeline.tracked import REPOSITORY, Server, environment, rows, runs, track, wait_for, write_catalog

from mtbert import files

STEPS = 20
# One training: values of every step live, then its files, then `finish`. With `pause` it lets a test step in by files;
# with `resume` it goes on where a pause was, as from a checkpoint, and logs nothing a second time.
TRAINING = f"""
import os, sys, time
from pathlib import Path
from mtbert import files, tracking
variant, seed, options = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
directory = Path("build/runs", variant, str(seed))
logs = files.log_directory(Path("build"), directory)
settings = files.read_yaml(directory / "settings.yaml")
settings.pop("seed")
with tracking.LiveRun(settings, seed, patience=60) as live:
    if "fail" in options:
        raise OSError(f"refused: {{os.environ['AWS_SECRET_ACCESS_KEY']}} at https://ann:s3cret-url@host/data")
    for step in range(10 if "resume" in options else 0, {STEPS}):
        if step == 15 and "pause" in options:
            Path("halfway").write_text(str(live._writer.pid))
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
    directory = root / f"build/runs/{variant}/{seed}"
    files.write_yaml(directory / "settings.yaml", {**settings(variant, dim), "seed": seed})
    results = {"variant": variant, "seed": seed, "steps": STEPS, "epoch": 1, "dev": {"sst": 0.5}}
    files.write_json(directory / "metrics.json", results)
    rows = [f"0,{step},loss/sst,{1.0 / (step + 1)}\n0,{step},learning_rate,0.5\n" for step in range(STEPS)]
    files.write_text(directory / "history.csv", "phase,step,name,value\n" + "".join(rows))
    files.seal(directory)
    logs = files.log_directory(root / "build", directory)
    files.write_json(logs / "run.json", {"started": "2026-01-01T00:00:00+00:00", "seconds": 10.0})


POINTS = 2 * STEPS + 4  # two values a step; then score/dev/sst, run/steps, run/epoch and run/seconds


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


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    running = Server(root / "mlflow.db")
    yield running
    running.kill()


def start_training(root: Path, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", TRAINING, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=root, env=environment(changes), stdout=pipe, stderr=pipe, text=True)


def outcome(process: subprocess.Popen[str]) -> tuple[str, str]:
    return process.communicate(timeout=120)


def test_trainings_at_once_on_a_database_that_does_not_exist(new_root: Path) -> None:
    """Four variants start together, where an earlier creation was killed; `track` finds all of them complete."""
    files.write_text(new_root / ".mlflow.db.partial/mlflow.db", "half of a database")
    names = ["a", "b", "c", "d"]
    for name in names:
        write_run(new_root, name)
    write_catalog(new_root, names)
    trainings = [start_training(new_root, name, "1") for name in names]
    assert [outcome(training) for training in trainings] == [("trained\n", "")] * 4
    assert runs(new_root) == [(f"{name} seed 1", "FINISHED", POINTS) for name in names]
    assert track(new_root).stdout == "0 new, 4 already there\n"
    places = rows(new_root / "mlflow.db", "select artifact_location from experiments where name = 'mtbert-sample'")
    assert places == [((new_root / "mlartifacts/mtbert-sample").as_uri(),)]


TAGGING = """
import sys
from mtbert.tracking.store import MlflowException, Store
store, other = Store(sys.argv[1]), Store(sys.argv[1])
def beaten(*tag):
    if "beaten" in sys.argv:
        other.client.set_experiment_tag(*tag)
    raise MlflowException("UNIQUE constraint failed")
store.client.set_experiment_tag = beaten
if "bare" in sys.argv:
    other.client.create_experiment("one")
try:
    experiment = store.experiment("one")
except MlflowException as error:
    print(error)
else:
    print(len(other.client.get_experiment(experiment).tags))
"""


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ([], "3"),  # a new experiment has its tags from the start, so that nobody sets them
        (["bare", "beaten"], "3"),  # one without them, which another training tags at the same time
        (["bare"], "UNIQUE constraint failed"),
    ],
)
def test_an_experiment_that_several_describe_at_once(root: Path, others: list[str], told: str) -> None:
    command = [sys.executable, "-c", TAGGING, f"sqlite:///{root / 'mlflow.db'}", *others]
    done = subprocess.run(command, cwd=root, env=environment({}), capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{told}\n", "")


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
    files.seal(root / "build/ensembles/vote/1")
    entry = {"paper": "pals-for-pals", "row": "PALs ensemble", "members": ["pals"], "selected": True}
    write_catalog(root, ["pals", "not-yet"], {"vote": entry}, **{"pals.dim": 276})
    assert track(root).stdout == "2 new, 0 already there, 1 not trained yet\n"
    write_run(root, dim=204)  # back to the earlier settings, as DVC's cache restores them
    write_catalog(root, ["pals", "not-yet"], {"vote": entry})
    assert track(root).stdout == "0 new, 2 already there, 1 not trained yet\n"
    assert runs(root) == [
        ("pals pals.dim=276 seed 1", "FINISHED", POINTS),
        ("pals seed 1", "FINISHED", POINTS),
        ("vote pals.dim=276 seed 1", "FINISHED", 1),
    ]
    dims = "select value from params where key = 'pals.dim' order by value"
    assert rows(root / "mlflow.db", dims) == [("204",), ("276",)]


def test_killed_trainings_are_replaced_by_the_one_that_is_resumed(root: Path) -> None:
    """One killed (its writer marks it), one killed with its writer, one resumed to the end: `track` leaves that one."""
    begun = []
    for options, points in (("pause",), 30), (("resume", "pause"), 10):
        training = start_training(root, "pals", "1", *options)
        wait_for(lambda: (root / "halfway").exists())  # an empty run has no points yet
        wait_for(lambda points=points: [run[2] for run in runs(root) if run[1] == "RUNNING"] == [points])
        if begun:
            os.kill(int((root / "halfway").read_text()), signal.SIGKILL)
        training.send_signal(signal.SIGKILL)
        outcome(training)
        (root / "halfway").unlink()
        begun.append(("pals seed 1", "RUNNING" if begun else "KILLED", points))
        wait_for(lambda: runs(root) == begun)
    ended_by = rows(root / "mlflow.db", "select value from tags where key = 'ended_by'")
    assert ended_by == [("the training process was killed",)]
    assert outcome(start_training(root, "pals", "1", "resume")) == ("trained\n", "")
    finished = ("pals seed 1", "FINISHED", POINTS)
    assert runs(root) == [finished, *begun]
    assert track(root).stdout == "0 new, 1 already there\n"
    assert runs(root) == [finished]
    doubled = rows(root / "mlflow.db", "select key, step from metrics group by run_uuid, key, step having count(*) > 1")
    assert doubled == []


def test_a_failed_training_tells_mlflow_why_without_credentials(root: Path, server: Server) -> None:
    secrets = {
        "MLFLOW_TRACKING_URI": f"http://ann:s3cret-uri@127.0.0.1:{server.port}",
        "MLFLOW_TRACKING_PASSWORD": "s3cret-password",
        "MLFLOW_TRACKING_TOKEN": "s3cret-token",
        "AWS_SECRET_ACCESS_KEY": "s3cret-key",
    }
    _, told = outcome(start_training(root, "pals", "1", "fail", **secrets))
    assert "warning" not in told  # what Python tells of the error is not ours
    ended_by = rows(root / "mlflow.db", "select value from tags where key = 'ended_by'")
    assert ended_by == [("OSError: refused: *** at https://***@host/data",)]
    brought = track(root, **secrets)
    assert (brought.stdout, brought.stderr) == ("1 new, 0 already there\n", "")
    server.kill()
    assert "s3cret" not in track(root, **secrets).stderr
    kept = [root / "mlflow.db", *(path for path in root.glob("build/**/*") if path.is_file())]
    assert [path for path in kept if b"s3cret" in path.read_bytes()] == []


def test_the_last_report_is_kept_once_with_its_page_and_pictures(root: Path) -> None:
    write_catalog(root, [])
    report = root / "reports/sample"
    for page in ("first", "second"):
        files.write_text(report / "index.html", page)
        files.write_text(report / "pictures/costs.png", "a picture")
        assert track(root).stdout == "0 new, 0 already there; the report's figures, too\n"
        assert track(root).stdout == "0 new, 0 already there\n"
        assert runs(root) == [("report", "FINISHED", 0)]
        query = "select artifact_uri from runs where lifecycle_stage = 'active'"
        ((place,),) = rows(root / "mlflow.db", query)
        kept = Path(unquote(place.removeprefix("file://")))
        assert {str(file.relative_to(kept)): file.read_text() for file in kept.rglob("*") if file.is_file()} == {
            "index.html": page, "pictures/costs.png": "a picture",
        }  # fmt: skip
        assert [file.read_text() for file in (root / "mlartifacts").rglob("index.html")] == [page]


def test_temporary_experiment_logs_to_the_real_repository(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("mlflow.db"))
    training = start_training(copy, "pals", "1", DVC_ROOT=str(root), DVC_EXP_NAME="calm-eels", DVC_STAGE="train@pals-1")
    assert outcome(training) == ("trained\n", "")
    assert runs(root) == [("pals seed 1", "FINISHED", POINTS)]
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


def test_server_that_dies_half_way_and_comes_back(root: Path, server: Server) -> None:
    """The training goes on; `track` replaces the half run by a whole one, over the server, once it is back."""
    place = {"MLFLOW_TRACKING_URI": f"http://ann:s3cret@127.0.0.1:{server.port}"}
    training = start_training(root, "pals", "1", "pause", **place)
    wait_for(lambda: (root / "halfway").exists() and runs(root) and runs(root)[0][2] == 30)
    server.kill()
    (root / "go-on").touch()
    printed, warned = outcome(training)
    assert (printed, warned.count("\n")) == ("trained\n", 1)
    assert runs(root) == [("pals seed 1", "RUNNING", 30)]
    server.start()
    brought = track(root, **place)
    assert (brought.stdout, brought.stderr) == ("1 new, 0 already there\n", "")
    assert "s3cret" not in warned
    assert runs(root) == [("pals seed 1", "FINISHED", POINTS)]


class Dripping(BaseHTTPRequestHandler):
    """Answers a byte at a time and never ends."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # whom it was for has given up
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def dripping() -> Iterator[int]:
    """The port of a server that never ends an answer."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_server_that_never_ends_its_answer(root: Path, dripping: int) -> None:
    """`track` gives up after its limit, here 2 seconds; a training ends, and so does its log, within theirs."""
    place = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{dripping}/a-t0ken"}
    code = "from mtbert.tracking import mirror; mirror.PATIENCE = 2; import track; track.command.run(track.main)"
    path = f"{REPOSITORY}/src{os.pathsep}{REPOSITORY}/stages"
    command = [sys.executable, "-c", code, "build"]
    failed = subprocess.run(
        command, cwd=root, env=environment({**place, "PYTHONPATH": path}),
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == (
        f"error: the runs are not in MLflow at http://127.0.0.1:{dripping} yet (TimeoutError: no complete answer "
        "within 2 seconds); their results are safe in build: once MLflow answers, `python stages/track.py build` "
        "brings them in\n"
    )
    patience = TRAINING.replace("patience=60", "patience=5")
    training = subprocess.run(
        [sys.executable, "-c", patience, "pals", "1"], cwd=root, env=environment(place),
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert (training.returncode, training.stdout) == (0, "trained\n")
    assert training.stderr == (
        "warning: MLflow took more than 5 seconds; `python stages/track.py build` brings this run in later\n"
    )


def test_log_of_a_killed_training_ends_where_the_server_never_does(root: Path, dripping: int) -> None:
    code = "from mtbert.tracking import writer; writer.PATIENCE = 2; writer.main()"
    place = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{dripping}"}
    first = json.dumps({"settings": settings("pals"), "seed": 1, "build": "build"})
    done = subprocess.run(
        [sys.executable, "-c", code], input=first, cwd=root, env=environment(place),
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")


def test_a_password_that_hides_the_host_is_refused_and_not_told(root: Path) -> None:
    place = {"MLFLOW_TRACKING_URI": "http://ann:s3/cret@127.0.0.1:9/"}
    failed = track(root, **place)
    _, warned = outcome(start_training(root, "pals", "1", **place))
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: MLFLOW_TRACKING_URI has an @ behind its host")
    assert warned.startswith(
        "warning: this run is not logged to MLflow any further (TrackingError: MLFLOW_TRACKING_URI"
    )
    assert not {"s3", "cret"} & set(re.split(r"\W", failed.stderr + warned))


def test_a_moved_project_keeps_its_own_artifacts(root: Path, tmp_path: Path) -> None:
    """A copy writes beside itself and finds what was copied; the original stays as it is."""
    report = root / "reports/sample/index.html"
    files.write_text(report, "first")
    assert track(root).stdout == "1 new, 0 already there; the report's figures, too\n"
    copy = tmp_path / "moved to here"
    shutil.copytree(root, copy)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert track(copy).stdout == "0 new, 1 already there\n"
    assert artifacts(copy) == [(copy / "mlartifacts/mtbert-sample", "first")]
    files.write_text(copy / "reports/sample/index.html", "second")
    assert track(copy).stdout == "0 new, 1 already there; the report's figures, too\n"
    assert artifacts(copy) == [(copy / "mlartifacts/mtbert-sample", "second")]
    assert {path: path.read_bytes() for path in before} == before


def artifacts(root: Path) -> list[tuple[Path, str]]:
    """Folder and page of every report that is not deleted, as the database names them."""
    query = """select artifact_location, artifact_uri from runs join experiments using (experiment_id)
               where runs.name = 'report' and runs.lifecycle_stage = 'active'"""
    found = []
    for location, uri in rows(root / "mlflow.db", query):
        folder, place = (Path(unquote(text.removeprefix("file://"))) for text in (location, uri))
        assert place.is_relative_to(folder)
        found.append((folder, (place / "index.html").read_text()))
    return found


def test_a_live_run_is_described_and_tells_the_machines_load(root: Path) -> None:
    write_catalog(root, ["pals"], **{"pals.dim": 276})
    assert outcome(start_training(root, "pals", "1")) == ("trained\n", "")
    assert runs(root) == [("pals pals.dim=276 seed 1", "FINISHED", POINTS)]
    tags = dict(rows(root / "mlflow.db", "select key, value from tags"))
    assert (tags["mlflow.source.name"], tags["mlflow.source.type"]) == ("stages/train.py", "LOCAL")
    assert "- `pals.dim`: 276" in tags["mlflow.note.content"]
    load = {key for (key,) in rows(root / "mlflow.db", "select key from metrics where key like 'system/%'")}
    assert {"system/cpu_utilization_percentage", "system/system_memory_usage_megabytes"} <= load
    about = dict(rows(root / "mlflow.db", "select key, value from experiment_tags"))
    assert about["mlflow.experimentKind"] == "custom_model_development"
    assert "score/dev/" in about["mlflow.note.content"]
    view = json.loads(json.loads(about["mlflow.sharedViewState.scores"])["state"])
    assert view["selectedColumns"][:2] == ["metrics.`score/dev/overall_normalised`", "metrics.`score/dev/sst`"]
    assert track(root).stdout == "0 new, 1 already there\n"
