"""Train many at a time, each by a function that trains one: the grid's, a pack's and the search's trainings."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mtbert.scale.node import end_with_parent
from mtbert.scale.trainings import BUILD, SCRIPT, Training, say

POLL = 0.2  # seconds
TELL = 30.0  # seconds between two lines of a training that runs
PATIENCE = 60.0  # seconds in which a training that is stopped has to write its checkpoint
KILLED = "it was killed, as a system does that runs out of memory; fewer at a time (--jobs) need less"
OFF = {"MTBERT_LIVE": "off"}  # `track` logs the runs afterwards
Train = Callable[[Training], int | None]  # the exit status; None where it was stopped


@contextlib.contextmanager
def heeded() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C, SIGTERM and SIGHUP set."""
    stop, before = threading.Event(), {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            before[number] = signal.signal(number, lambda *_: stop.set())
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(
    trainings: Sequence[Training],
    train: Train,
    at_a_time: int,
    stop: threading.Event,
    done: Callable[[Training], None] = lambda _: None,
) -> list[Training]:
    """Train, so many at a time, until all are done or `stop` is set; return those that failed.

    Args:
        trainings: in the order in which they start.
        train: trains one, in a thread of its own.
        at_a_time: at least 1.
        stop: tells `train` to stop.
        done: called in this thread for each that is trained.
    """
    failed = list[Training]()

    def timed(training: Training) -> tuple[int | None, float]:
        began = time.monotonic()
        return None if stop.is_set() else train(training), time.monotonic() - began

    with ThreadPoolExecutor(max(1, at_a_time)) as threads:
        ends = {threads.submit(timed, training): training for training in trainings}
        try:
            for count, end in enumerate(as_completed(ends), start=1):
                training, (status, seconds) = ends[end], end.result()
                if status is None:
                    continue
                what = "failed" if status else "trained"
                say(f"{training.name}: {what} after {seconds:.0f} s ({count} of {len(ends)})")
                if status:
                    failed.append(training)
                else:
                    done(training)
        except BaseException:
            stop.set()
            raise
    return failed


class Here:
    """Trains on this machine, in a process of its own; a stopped training resumes from its checkpoint.

    Args:
        stop: ends what runs, once each has written its checkpoint.
        shares: what is added to the environment, for each that runs at a time.
        output: the folder of a log for each training.
        folder: where `stages/train.py` lies and runs.
        build: the build folder, relative to that.
        live: whether this is the repository: trainings log to MLflow while they run, and go on to their end where this
            process is killed, for the next to record. Elsewhere they stop with it.
    """

    def __init__(
        self,
        stop: threading.Event,
        shares: Sequence[Mapping[str, str]],
        output: Path,
        folder: Path = Path(),
        build: Path = BUILD,
        live: bool = False,
    ) -> None:
        self.stop, self.output, self.folder, self.build, self.live = stop, output, folder, build, live
        paths = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH")]))  # a cluster's modules use it, too
        self.environment = {"PYTHONPATH": paths, "DVC_ROOT": os.getcwd()} if live else {"PYTHONPATH": paths, **OFF}
        self.shares = queue.SimpleQueue[Mapping[str, str]]()
        for share in shares:
            self.shares.put(share)

    def __call__(self, training: Training) -> int | None:
        """Train one; return its exit status, or None where it was stopped."""
        say(f"{training.name}: started")
        share, log = self.shares.get(), self.output / f"{training.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(SCRIPT), training.variant, str(training.seed), str(self.build)],
                cwd=self.folder,
                env={**os.environ, **self.environment, "DVC_STAGE": training.stage, **share},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at the terminal is for this process alone, which stops all in order
                preexec_fn=None if self.live else end_with_parent,  # Ray kills the children of a worker, not theirs
            )
            status = self._ended(process, training.name, log)
            if status == -signal.SIGKILL:
                output.write(f"{KILLED}\n".encode())
        self.shares.put(share)
        return status

    def _ended(self, process: subprocess.Popen[bytes], name: str, log: Path) -> int | None:
        """Wait for the end; tell how far it is, and have it write a checkpoint and end where that is asked."""
        tell = time.monotonic() + TELL
        while process.poll() is None:
            if self.stop.wait(POLL):
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)
                process.kill()
                process.wait()
                return None
            if time.monotonic() > tell:
                tell += TELL
                lines = log.read_text("utf-8", errors="replace").splitlines()
                say(f"{name}: {next((line for line in reversed(lines) if line.strip()), '')}")
        return process.returncode


def shares(jobs: int, threads: int, part: float | None = None) -> list[dict[str, str]]:
    """Return what the environment of each training at a time adds: its GPU, shared where there are too few.

    Args:
        jobs: trainings at a time that were asked for.
        threads: of each. Scores depend on the number, so it stays as it is, and fewer train at a time where the cores
            have no room.
        part: of a GPU, from above 0 to 1, that each has; None for as much as there is.
    """
    found = gpus()
    if found:
        room = jobs if part is None else min(jobs, len(found) * int(1 / part))
        return [{"CUDA_VISIBLE_DEVICES": found[job % len(found)]} for job in range(room)]
    room = max(1, min(jobs, cores() // max(1, threads)))
    if room < jobs:
        say(
            f"{room} at a time: {jobs} trainings of {threads} threads do not fit {cores()} cores; run.threads in "
            "params.yaml sets fewer, with which all train again"
        )
    return [{}] * room


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus() -> list[str]:
    """List the GPUs to choose from, as CUDA_VISIBLE_DEVICES names them."""
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [gpu.strip() for gpu in chosen.split(",") if gpu.strip()]
    import torch  # takes seconds

    return [str(index) for index in range(torch.cuda.device_count())]
