"""What tests of tracking share: a repository to track, the commands, a real server, and MLflow's client to look."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pipeline import preloaded
from pipeline.small import wait_for

from mtbert import files, layout
from mtbert.provenance import inputs, seals
from mtbert.tracking import LiveRun, live

REPOSITORY = Path(__file__).parents[2]
STEPS = 20
TRAINING = """
import sys
from pathlib import Path
from pipeline import tracked
tracked.live.BEGINS_AFTER = 0
tracked.train(Path(), sys.argv[1])
print("trained")
"""
POINTS = 2 * STEPS + 4  # two values a step; then final/dev/sst, run/steps, run/epoch and run/seconds


def write_catalog(
    root: Path,
    variants: list[str],
    overrides: Mapping[str, Any] | None = None,
    seeds: tuple[int, ...] = (1,),
    data_dir: str = "data/sample",
) -> None:
    about = {"paper": "pals-for-pals", "row": "Original PALs", "tasks": ["sst"], "overrides": dict(overrides or {})}
    entries = {name: {**about, "selected": True} for name in variants} | {"never": {**about, "selected": False}}
    catalog = {"profile": "sample", "data_dir": data_dir, "seeds": list(seeds), "variants": entries}
    files.write_yaml(root / "build/plan/catalog.yaml", catalog | {"ensembles": {}})
    whose = "sample" if data_dir == "data/sample" else "own"
    files.write_json(root / "build/data/report.json", {"whose": whose})


def write_run(root: Path, variant: str = "pals", dim: int = 204) -> Path:
    directory = root / f"build/runs/{variant}/1"
    about = {"variant": variant, "paper": "pals-for-pals", "row": "Original PALs", "profile": "sample"}
    model = {"adapter": {"name": "pals", "dim": dim}}
    files.write_yaml(directory / "settings.yaml", {**about, "tasks": ["sst"], "model": model, "seed": 1, "code": "1f"})
    results = {"variant": variant, "seed": 1, "steps": STEPS, "epoch": 1, "dev": {"sst": 0.123456}}
    files.write_json(directory / "metrics.json", results)
    rows = [f"0,{step},loss/sst,{1.0 / (step + 1)}\n0,{step},learning_rate,0.5\n" for step in range(STEPS)]
    files.write_text(directory / "history.csv", "phase,step,name,value\n" + "".join(rows))
    made_from = {"settings": {"pals.dim": dim}, "code": {}, "files": {}, "seed": 1}
    files.write_json(directory / "inputs.json", made_from)
    seals.seal(directory)
    log = {"started": "2026-01-01T00:00:00+00:00", "seconds": 10.0}
    files.write_json(layout.log(directory) / "run.json", log)
    return directory


def planned(directory: Path) -> dict[str, Any]:
    """The plan of a run: its settings, as a training begins with them."""
    settings = files.read_yaml(directory / "settings.yaml")
    return {name: value for name, value in settings.items() if name not in ("seed", "code")}


def environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Ours without what would name another place for the runs, then `changes`."""
    away = {"MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "DVC_ROOT", "DVC_EXP_NAME", "DVC_STAGE", live.SWITCH}
    away.add("PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if name not in away}
    return {**kept, "PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}/tests", **changes}


def train(root: Path, variant: str = "pals", half_way: Callable[[], object] = lambda: None, first: int = 0) -> None:
    """Log a run as a training does, from the step `first` on, and call `half_way` at step 10."""
    directory = root / "build/runs" / variant / "1"
    with LiveRun(planned(directory), 1, inputs.identity(directory), root / "build") as run:
        for step in range(first, STEPS):
            if step == 10:
                half_way()
            run.log(step, {"loss/sst": 1.0 / (step + 1), "learning_rate": 0.5})
        run.finish(directory)


def rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as connection:
        return connection.execute(query).fetchall()


def client(uri: str) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(uri)


def runs(uri: str) -> list[Any]:
    """Every run of the sample that is not deleted, by name."""
    found = client(uri).get_experiment_by_name("mtbert-sample")
    return sorted(client(uri).search_runs([found.experiment_id]), key=lambda run: run.info.run_name) if found else []


def outcomes(uri: str) -> list[tuple[str, str, int]]:
    """Name, status and number of values, but for the machine's load, of each run."""
    return [(run.info.run_name, run.info.status, _points(uri, run)) for run in runs(uri)]


def _points(uri: str, run: Any) -> int:
    series = [name for name in run.data.metrics if not name.startswith("system/")]
    return sum(len(client(uri).get_metric_history(run.info.run_id, name)) for name in series)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Server:
    """A command of MLflow's that serves at a port of its own."""

    def __init__(self, folder: Path, *arguments: str, **changes: str) -> None:
        self.port = free_port()
        self._command = [sys.executable, "-m", "mlflow", *arguments, "--port", str(self.port)]
        quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        path = f"{Path(preloaded.python()).parent}{os.pathsep}{os.environ['PATH']}"  # MLflow starts `uvicorn`
        self._folder, self._environment = folder, environment(quiet | {"PATH": path} | changes)
        self.start()

    def start(self) -> None:
        """Start, or start again, and wait for an answer."""
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(
            self._command, cwd=self._folder, env=self._environment, stdout=null, stderr=null, start_new_session=True
        )
        wait_for(lambda: listens(self.port))

    def kill(self) -> None:
        """Kill the server and its workers."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def server(database: Path) -> Server:
    """MLflow's server on a database."""
    return Server(database.parent, "server", "--backend-store-uri", f"sqlite:///{database}", "--workers", "1")
