"""What tests of tracking share: a repository to track, the commands, a real server, and plain SQL to look at MLflow."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.tracking import live

REPOSITORY = Path(__file__).parents[2]


def write_catalog(
    root: Path,
    variants: list[str],
    ensembles: Mapping[str, Any] | None = None,
    seeds: tuple[int, ...] = (1,),
    **departures: Any,
) -> None:
    about = {"paper": "pals-for-pals", "row": "Original PALs", "tasks": ["sst"], "departures": departures}
    entries = {name: {**about, "selected": True} for name in variants}
    entries["never"] = {**about, "selected": False}
    catalog = {"profile": "sample", "seeds": list(seeds), "variants": entries, "ensembles": ensembles or {}}
    files.write_yaml(root / "build/plan/catalog.yaml", catalog)


def environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Ours without what would name another place for the runs, then `changes`."""
    away = {"MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_EXP_NAME", "DVC_STAGE", live.OFF, "PYTEST_CURRENT_TEST"}
    kept = {name: value for name, value in os.environ.items() if name not in away}
    return {**kept, "PYTHONPATH": str(REPOSITORY / "src"), **changes}


def track(root: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, REPOSITORY / "stages/track.py", "build"]
    return subprocess.run(command, cwd=root, env=environment(changes), capture_output=True, text=True, check=False)


def rows(database: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as connection:
        return connection.execute(query, values).fetchall()


def runs(root: Path) -> list[tuple[str, str, int]]:
    """Name, status and number of points, but for the machine's load, of every run that is not deleted."""
    query = """select name, status, (select count(*) from metrics where metrics.run_uuid = runs.run_uuid
                                     and key not like 'system/%')
               from runs where lifecycle_stage = 'active' order by name, status"""
    return rows(root / "mlflow.db", query)


def wait_for(condition: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A real MLflow server on a database and a port of its own."""

    def __init__(self, database: Path) -> None:
        self.port, self.database = free_port(), database
        self.start()

    def start(self) -> None:
        """Start, or start again, and wait for an answer."""
        options = ["--backend-store-uri", f"sqlite:///{self.database}", "--workers", "1", "--port", str(self.port)]
        quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *options],
            cwd=self.database.parent,
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
