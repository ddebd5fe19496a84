"""What live tracking costs a training: python benchmarks/tracking.py [SECONDS] [BUILD] [EVERY], after `dvc repro init`.

One training of the sample's PALs variant logs every EVERY-th step (1; `run.log_every` is 10 where nothing else is set)
to MLflow in every second period of some seconds and is silent between, so that a machine that is busy for a while is
busy for both. MLflow's database is a new one. Processor time is that of the training alone; wall time is what a person
waits.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from mtbert import files, tracking
from mtbert.settings import VariantSettings
from mtbert.training import assembly, run
from mtbert.training.checkpoints import Checkpoints

PERIOD = 20.0  # seconds
SETTLE = 6.0  # of each period, not counted: what was logged before is on its way to MLflow for some seconds yet
WARM = 2  # periods not counted: MLflow is imported and its database made
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


class EnoughError(Exception):
    """The time is over."""


class Alternating(tracking.LiveRun):
    """Passes on what comes in every second period, and times the steps and its own calls."""

    seconds = 120.0
    steps: dict[bool, list[dict[str, float]]] = {True: [], False: []}  # each step's time, by whether it was logged
    calls: list[float] = []
    begun = 0.0
    last: dict[str, float] = {}

    def log(self, step: int, values: dict[str, float]) -> None:  # type: ignore[override]
        """In the place of `LiveRun.log`."""
        now = {name: clock() for name, clock in CLOCKS.items()}
        self.begun = self.begun or now["wall"]
        period, within = divmod(now["wall"] - self.begun, PERIOD)
        logs = period % 2 == 1
        if "learning_rate" in values:  # once a step; throughput comes extra
            if period >= WARM and within > SETTLE:
                self.steps[logs].append({name: now[name] - self.last[name] for name in CLOCKS})
            self.last = now
        if now["wall"] - self.begun > self.seconds:
            raise EnoughError
        if logs:
            super().log(step, values)
            self.calls.append(time.perf_counter() - now["wall"])


def main(build: Path, every: int) -> None:
    """Train until the time is over; print what a step took with and without."""
    settings = files.read_planned(VariantSettings, build / "plan/pals.yaml")
    phases = [phase.model_copy(update={"steps_per_epoch": 100_000}) for phase in settings.phases[:1]]
    logging = settings.run.model_copy(update={"log_every": every, "evaluations": 0, "checkpoint_every": 0})
    parts = assembly.assemble(settings.model_copy(update={"phases": phases, "run": logging}), 1, build)
    run.LiveRun = Alternating  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "DVC_ROOT": folder}
        try:
            nowhere, there = Checkpoints(Path(folder) / "checkpoints", "benchmark"), Path(folder) / "build"
            shutil.copytree(build / "plan", there / "plan")
            run.train(parts, there / "runs/pals/1", there / "logs/pals/1", nowhere)
        except EnoughError:
            print()
    for name in CLOCKS:
        without, logged = (
            1000 * statistics.median(step[name] for step in Alternating.steps[on]) for on in (False, True)
        )
        print(
            f"{name} time, median of {every} steps: {without:.2f} ms, with live log {logged:.2f} ms, "
            f"ratio {logged / without:.4f}"
        )
    counts = [len(Alternating.steps[on]) for on in (False, True)]
    print(f"{counts[0]} times, with live log {counts[1]}; `log`: {1e6 * statistics.median(Alternating.calls):.0f} µs")


if __name__ == "__main__":
    Alternating.seconds = float(sys.argv[1] if len(sys.argv) > 1 else 120)
    main(Path(sys.argv[2] if len(sys.argv) > 2 else "build"), int(sys.argv[3] if len(sys.argv) > 3 else 1))
