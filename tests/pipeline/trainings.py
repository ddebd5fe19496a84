"""The small training as tests of tracking run it, by name and seed.

As a script, in the folder to train in: trainings.py SEED..., all of them at once, each in a process of its own; they
print for how many seconds each waited for MLflow at its end.
"""

import multiprocessing
import os
import sys
import time
from pathlib import Path

from accelerate.state import AcceleratorState
from runs import checkpoints, parts, settings

from mtbert.tracking import LiveRun
from mtbert.training import run

finish = LiveRun.finish


def train(root: Path, name: str, seed: int = 1) -> Path:
    """Train below `root`; the run's directory."""
    chosen = settings(run={"log_every": 1}).model_copy(update={"variant": name, "profile": "sample"})
    directory = root / "build/runs" / name / str(seed)
    AcceleratorState._reset_state(reset_partial_state=True)  # it keeps the precision of a process's first training
    run.train(
        parts(chosen, seed), directory, root / "build/logs" / name / str(seed), checkpoints(root / name / str(seed))
    )
    return directory


def timed(self: LiveRun, *directories: Path) -> None:
    """In the place of `LiveRun.finish`: print what it took."""
    start = time.monotonic()
    finish(self, *directories)
    os.write(sys.stdout.fileno(), f"{time.monotonic() - start}\n".encode())  # whole lines: the others print, too


if __name__ == "__main__":
    LiveRun.finish = timed
    context = multiprocessing.get_context("fork")  # torch is imported once
    processes = [context.Process(target=train, args=(Path(), "small", int(seed))) for seed in sys.argv[1:]]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(any(process.exitcode for process in processes))
