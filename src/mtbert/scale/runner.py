"""The one way to train many: so many at a time, each by a function that trains one, here or on a cluster."""

import contextlib
import ctypes
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

from mtbert.errors import TrainingError
from mtbert.scale.trainings import BUILD, SCRIPT, Training, say

POLL = 0.2  # seconds
TELL = 30.0  # seconds between two lines of a training that runs
PATIENCE = 60.0  # seconds in which a training that is stopped has to write its checkpoint
KILLED = b"it was killed, as a system does that runs out of memory; fewer at a time (--jobs) need less\n"
OFF = {"MTBERT_LIVE": "off"}  # `track` logs the runs afterwards
PR_SET_PDEATHSIG = 1  # of Linux
Share = Mapping[str, str]  # what the environment of a training adds
# Trains one, writes its output to the file, ends early where the event is set; the exit status, None where it stopped.
Train = Callable[[Training, Path, Share, threading.Event], int | None]


def run(
    trainings: Sequence[Training],
    train: Train,
    shares: Sequence[Share],
    output: Path,
    done: Callable[[Training], None] = lambda _: None,
) -> None:
    """Train all, until Ctrl-C, SIGTERM or SIGHUP.

    Args:
        trainings: in the order in which they start.
        train: trains one, in a thread of its own.
        shares: one for each that trains at a time, at least one.
        output: the folder of a log for each.
        done: called in this thread for each that is trained.

    Raises:
        TrainingError: some failed, once the others have ended. KeyboardInterrupt: stopped, once all have ended.
    """
    free, failed = queue.SimpleQueue[Share](), list[str]()
    for share in shares:
        free.put(share)
    output.mkdir(parents=True, exist_ok=True)

    def one(training: Training) -> tuple[int | None, float]:
        share, began = free.get(), time.monotonic()
        status = None if stop.is_set() else train(training, output / f"{training.name}.log", share, stop)
        free.put(share)
        return status, time.monotonic() - began

    with _heeded() as stop, ThreadPoolExecutor(len(shares)) as pool:
        ends = {pool.submit(one, training): training for training in trainings}
        try:
            for count, end in enumerate(as_completed(ends), start=1):
                training, (status, seconds) = ends[end], end.result()
                if status is None:
                    continue
                what = "failed" if status else "trained"
                say(f"{training.name}: {what} after {seconds:.0f} s ({count} of {len(ends)})")
                if status:
                    failed.append(f"\n  {training.name}: {output / training.name}.log")
                else:
                    done(training)
        except BaseException:
            stop.set()
            raise
    if stop.is_set():
        say("the same command goes on")
        raise KeyboardInterrupt
    if failed:
        raise TrainingError(f"{len(failed)} of {len(trainings)} failed, the others are kept{''.join(failed)}")


@contextlib.contextmanager
def _heeded() -> Iterator[threading.Event]:
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


def here(
    training: Training,
    log: Path,
    share: Share,
    stop: threading.Event,
    folder: Path = Path(),
    build: Path = BUILD,
    environment: Share = OFF,
) -> int | None:
    """Train one on this machine, in a process that ends with this one; a stopped training resumes from its checkpoint.

    The first four are those of `Train`.

    Args:
        folder: where stages/train.py lies and runs.
        build: the build folder, relative to that.
        environment: what each training's environment adds.
    """
    say(f"{training.name}: started")
    paths = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH")]))  # a cluster's modules use it, too
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), training.variant, str(training.seed), str(build)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths, "DVC_STAGE": training.stage, **environment, **share},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the terminal is for this process alone, which stops all in order
            preexec_fn=end_with_parent,
        )
        tell = time.monotonic() + TELL
        while process.poll() is None and not stop.wait(POLL):
            if time.monotonic() > tell:
                tell += TELL
                lines = log.read_text("utf-8", errors="replace").split("\n")
                say(f"{training.name}: {next((line for line in reversed(lines) if line.strip()), '')}")
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()
            process.wait()
            return None
        if process.returncode == -signal.SIGKILL:
            output.write(KILLED)
    return process.returncode


def end_with_parent() -> None:
    """On Linux, have a new process stop where the thread that started it is gone, however that ended."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def shares(jobs: int, threads: int, part: float | None = None) -> list[Share]:
    """Return what each training at a time has: its GPU, shared where there are too few.

    Args:
        jobs: trainings at a time that were asked for.
        threads: of each. Scores depend on the number, so it stays as it is, and fewer train at a time where the cores
            have no room.
        part: of a GPU, from above 0 to 1, that each has; None for as much as there is.
    """
    if found := gpus():
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
