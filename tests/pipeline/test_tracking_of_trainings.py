"""Real trainings while MLflow fails: the same weights, an end within the limit, and after `track` every point once.

Each training is the same small one under a name of its own. The fault begins at its start, or half-way, once MLflow
holds what came before. What `track` has brought in is compared with history.csv by plain SQL.
"""

import csv
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pipeline.tracked import REPOSITORY, Server, environment, rows, track, wait_for, write_catalog
from pipeline.trainings import train

from mtbert.tracking import LiveRun, live

LIMIT = 10.0  # seconds that MLflow may hold up the end of a training: what the package says it waits
SLACK = 5.0  # of those, what a busy machine may add
SHOWN = {  # what MLflow calls names in history.csv
    "dev/sst": "choosing/sst",
    "dev/sts": "choosing/sts",
    "learning_rate": "schedule/learning_rate",
}
HALF = 4  # the step at which the training lets a test step in


@pytest.fixture(scope="module")
def untracked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Weights and history of the training without tracking."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(live.OFF, "off")
        return results(train(tmp_path_factory.mktemp("untracked"), "small"))


def results(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in ("model.safetensors", "history.csv")}


def assert_whole(database: Path, name: str, directory: Path) -> None:
    """MLflow has one run of this name, and of the series in its history.csv exactly these points, each once."""
    found = rows(database, "select run_uuid, status from runs where name = ? and lifecycle_stage = 'active'", name)
    assert [status for _, status in found] == ["FINISHED"]
    with (directory / "history.csv").open(encoding="utf-8", newline="") as handle:
        history = [(row["name"], int(row["step"]), float(row["value"])) for row in csv.DictReader(handle)]
    expected = sorted((SHOWN.get(name, name), step, value) for name, step, value in history)
    stored = rows(database, "select key, step, value from metrics where run_uuid = ?", found[0][0])
    series = {name for name, _, _ in expected}
    assert sorted(point for point in stored if point[0] in series) == expected


@pytest.fixture
def root(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with an empty database, in which this process trains with tracking on."""
    (tmp_path / "dvc.yaml").touch()
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_TRACKING_URI", "DVC_ROOT", live.OFF, "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Filled with the seconds for which each training waited for MLflow at its end."""
    took: list[float] = []
    finish = LiveRun.finish

    def timed(self: LiveRun, *directories: Path) -> None:
        start = time.monotonic()
        finish(self, *directories)
        took.append(time.monotonic() - start)

    monkeypatch.setattr(LiveRun, "finish", timed)
    return took


def step_in(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have `act` run half-way through the training that comes next."""
    log = LiveRun.log

    def halted(self: LiveRun, step: int, values: dict[str, float]) -> None:
        log(self, step, values)
        if step == HALF and "learning_rate" in values:
            act()

    monkeypatch.setattr(LiveRun, "log", halted)


def wait_for_half(database: Path) -> None:
    """Wait until MLflow has the training's first half."""
    half = "select 1 from metrics join runs using (run_uuid) where status = 'RUNNING' and step = ?"
    wait_for(lambda: rows(database, half, HALF))


class Gate(ThreadingHTTPServer):
    """Stands before a real MLflow server, and spoils its answers when told to."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Passage)
        self.behind = port
        self.fault = ""
        self.asked: list[str] = []  # what came while there was a fault
        self.healed = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Those who wait for an answer may give up."""


class Passage(BaseHTTPRequestHandler):
    """One request: handed on, and answered as the gate's fault has it."""

    server: Gate
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.fault
        if fault:
            self.server.asked.append(self.path)
        if fault == "hangs":
            self.server.healed.wait()
        if fault == "errors":
            return self.reply(500, b'{"error_code": "INTERNAL_ERROR", "message": "it broke"}')
        if fault == "garbage":
            return self.reply(200, b"<html>Welcome to the hotel's network</html>")
        if fault == "slow":
            time.sleep(2)
        status, answer = self.handed_on(body)
        if fault == "dies" or (fault == "loses one answer" and self.path.endswith("runs/create")):
            self.server.fault = fault if fault == "dies" else ""
            self.close_connection = True  # the work is done, and nobody is told
            return None
        return self.reply(status, answer)

    do_POST = do_PATCH = do_GET  # noqa: N815

    def handed_on(self, body: bytes) -> tuple[int, bytes]:
        with closing(HTTPConnection("127.0.0.1", self.server.behind, timeout=60)) as server:
            kind = {"Content-Type": self.headers.get("Content-Type", "application/json")}
            server.request(self.command, self.path, body, kind)
            answer = server.getresponse()
            return answer.status, answer.read()

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("server")
    running = Server(shutil.copy(empty_database, root / "mlflow.db"))
    yield running
    running.kill()


@pytest.fixture
def gate(server: Server) -> Iterator[Gate]:
    standing = Gate(server.port)
    thread = threading.Thread(target=standing.serve_forever, args=(0.05,))
    thread.start()
    yield standing
    standing.healed.set()
    standing.shutdown()
    thread.join()
    standing.server_close()


@pytest.mark.parametrize(
    ("fault", "begins"),
    [
        ("hangs", "half-way"),
        ("dies", "half-way"),
        ("errors", "half-way"),
        ("hangs", "at the start"),
        ("garbage", "at the start"),
        ("slow", "at the start"),
    ],
)
def test_server_that_fails(
    fault: str,
    begins: str,
    root: Path,
    gate: Gate,
    server: Server,
    untracked: dict[str, bytes],
    ends: list[float],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    name, database = f"{fault}-{begins.replace(' ', '-')}", server.database
    uri = f"http://ann:s3cret@127.0.0.1:{gate.server_port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)

    def spoil() -> None:
        wait_for_half(database)
        gate.fault = fault

    if begins == "half-way":
        step_in(monkeypatch, spoil)
    else:
        gate.fault = fault
    directory = train(root, name)
    assert results(directory) == untracked
    assert max(ends) < LIMIT + SLACK
    assert gate.asked
    if fault != "slow":
        gate.fault = ""
    gate.healed.set()
    write_catalog(root, [name])
    brought = track(root, MLFLOW_TRACKING_URI=uri)
    assert (brought.returncode, brought.stderr) == (0, "")
    assert_whole(database, f"{name} seed 1", directory)
    told = capfd.readouterr().err
    assert told.count("brings th") == (1 if "warning" in told else 0)
    assert "s3cret" not in told


def test_lost_answer_leaves_no_second_run(root: Path, gate: Gate, server: Server) -> None:
    """MLflow's client asks a second time for a run whose first request was obeyed but not answered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(live.OFF, "off")
        directory = train(root, "twice")
    write_catalog(root, ["twice"])
    gate.fault = "loses one answer"
    assert track(root, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{gate.server_port}").stdout == "1 new, 0 already there\n"
    assert len(rows(server.database, "select 1 from runs where name = 'twice seed 1'")) == 2  # one of them deleted
    assert_whole(server.database, "twice seed 1", directory)


@pytest.fixture
def lock(root: Path) -> Iterator[Callable[[], threading.Timer]]:
    """Takes SQLite's lock, against readers too, for 20 seconds."""
    with closing(sqlite3.connect(root / "mlflow.db", timeout=60, check_same_thread=False)) as connection:

        def take() -> threading.Timer:
            connection.execute("BEGIN EXCLUSIVE")
            timer = threading.Timer(20, connection.rollback)
            timer.start()
            return timer

        yield take


def test_database_locked_until_after_the_end(
    root: Path,
    lock: Callable[[], threading.Timer],
    untracked: dict[str, bytes],
    ends: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Locked from half-way on: the training ends in time, and `track`, begun within the lock, waits."""
    timers = []

    def take() -> None:
        wait_for_half(root / "mlflow.db")
        timers.append(lock())

    step_in(monkeypatch, take)
    directory = train(root, "locked")
    assert results(directory) == untracked
    assert max(ends) < LIMIT + SLACK
    assert timers[0].is_alive()
    write_catalog(root, ["locked"])
    assert track(root).stdout == "1 new, 0 already there\n"
    assert_whole(root / "mlflow.db", "locked seed 1", directory)


def test_database_locked_at_the_start(
    root: Path,
    lock: Callable[[], threading.Timer],
    untracked: dict[str, bytes],
    ends: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A training that outlives the lock is logged live, and whole without `track`."""
    timer = lock()
    step_in(monkeypatch, timer.join)
    directory = train(root, "locked")
    assert results(directory) == untracked
    assert max(ends) < LIMIT + SLACK
    write_catalog(root, ["locked"])
    assert track(root).stdout == "0 new, 1 already there\n"
    assert_whole(root / "mlflow.db", "locked seed 1", directory)


def test_eight_trainings_at_once_on_a_database_that_does_not_exist(tmp_path: Path) -> None:
    """Where MLflow cannot create its database in time for all of them, `track` makes good."""
    seeds = tuple(range(1, 9))
    for place, live_log in ("untracked", "off"), ("tracked", "on"):
        root = tmp_path / place
        root.mkdir()
        (root / "dvc.yaml").touch()
        write_catalog(root, ["small"], seeds=seeds)
        done = subprocess.run(
            [sys.executable, "-m", "pipeline.trainings", *map(str, seeds)],
            cwd=root,
            env=environment({live.OFF: live_log, "PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}/tests"}),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    ends = [float(line) for line in done.stdout.splitlines()]
    assert len(ends) == 8
    assert max(ends) < LIMIT + SLACK
    brought = track(tmp_path / "tracked")
    assert (brought.returncode, brought.stderr) == (0, "")
    for seed in seeds:
        without, tracked = (tmp_path / place / "build/runs/small" / str(seed) for place in ("untracked", "tracked"))
        assert results(tracked) == results(without)
        assert_whole(tmp_path / "tracked/mlflow.db", f"small seed {seed}", tracked)
