"""`make mlflow`: the page that it prints is there, and nothing is left of it in the end."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pipeline.small import heed_ctrl_c
from pipeline.tracked import environment, track, write_catalog

from mtbert import files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a database that holds a report alone."""
    (tmp_path / "dvc.yaml").touch()
    write_catalog(tmp_path, [])
    files.write_text(tmp_path / "reports/sample/index.html", "a page")
    assert track(tmp_path).stdout == "0 new, 0 already there; the report's figures, too\n"
    return tmp_path


def start(root: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mtbert.tracking.ui", *arguments]
    pipe, quiet = subprocess.PIPE, environment({"DISPLAY": "", "WAYLAND_DISPLAY": ""})
    return subprocess.Popen(command, cwd=root, env=quiet, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_ctrl_c)


@contextlib.contextmanager
def ended(server: subprocess.Popen[str]) -> Iterator[None]:
    """End the server also where the test fails."""
    try:
        yield
    finally:
        server.terminate()  # which ends MLflow's too


def listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_page_of_the_runs_is_printed_and_served_until_ctrl_c(root: Path) -> None:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with start(root, str(port)) as server, ended(server):
        assert server.stdout is not None
        printed = [server.stdout.readline() for _ in range(4)]
        assert printed == [
            "\n",
            "Runs and their scores:\n",
            f"  mtbert-sample: http://127.0.0.1:{port}/#/experiments/1/runs"
            "?viewStateShareKey=scores&workflowType=machine_learning\n",
            "Ctrl-C ends it.\n",
        ]
        place = f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/get?experiment_id=1"
        with urllib.request.urlopen(place, timeout=60) as answer:
            found = json.load(answer)["experiment"]
        assert found["name"] == "mtbert-sample"
        assert "mlflow.sharedViewState.scores" in {tag["key"] for tag in found["tags"]}
        server.send_signal(signal.SIGINT)
        assert server.wait(120) == 0
    assert not listens(port)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["x"], "error: the port came as x; allowed: a number of 1 to 65535\n"),
        (["70000"], "error: the port came as 70000; allowed: a number of 1 to 65535\n"),
    ],
)
def test_a_port_that_is_none_is_refused(tmp_path: Path, arguments: list[str], told: str) -> None:
    _, said = start(tmp_path, *arguments).communicate(timeout=60)
    assert said == told


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        _, said = start(tmp_path, str(port)).communicate(timeout=60)
    assert said == (
        f"error: port {port} is taken, perhaps by `make mlflow` elsewhere; `make mlflow PORT=5001` takes another\n"
    )
