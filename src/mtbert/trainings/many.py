"""Trainings, and how many of them run at a time, here or elsewhere.

A machine that a pack was brought to imports this module, and no package beside those that trainings need.
"""

import contextlib
import ctypes
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import Field

from mtbert import files, layout
from mtbert.errors import TrainingError
from mtbert.machine import mps, starting
from mtbert.settings import Name, Section
from mtbert.trainings import gpu_memory

BUILD, SCRIPT = Path("build"), Path("stages/train.py")
OUTPUT = layout.outputs(BUILD)  # a file for each training
JOBS = 2  # trainings at a time on a CPU where no other number is set
POLL = 0.2  # seconds
REPORT_EVERY = 60.0  # seconds between two lines on how far trainings are
PATIENCE = 60.0  # seconds in which a training that is stopped has to write its checkpoint
PR_SET_PDEATHSIG = 1  # of Linux
# A state of a training's progress bar, such as `132/432 [01:10<02:39, 1.88step/s`.
STEPS = re.compile(r"(\d+)/(\d+) \[[\d:]+<([\d:?]+),[^\[]*step")
TAIL = 4096  # bytes at the end of an output that hold such a state


class Training(Section):
    """A variant and a seed."""

    variant: Name
    seed: int = Field(ge=0)

    @property
    def name(self) -> str:
        """Return the name, such as `pals-1`."""
        return f"{self.variant}-{self.seed}"

    @property
    def stage(self) -> str:
        """Return the name of its DVC stage, such as `train@pals-1`."""
        return layout.stage(self.run())

    def run(self, build: Path = BUILD) -> Path:
        """Return the folder of its run."""
        return layout.run(build, self.variant, self.seed)


say = partial(print, flush=True)  # at once, wherever the output goes
# Starts a training whose output goes to the file, on a GPU, as CUDA_VISIBLE_DEVICES names it, or on NO_GPU. What it
# returns has poll, terminate, wait and kill as a Popen has.
Starter = Callable[[Training, Path, str], Any]
NO_GPU = ""


class Memory(NamedTuple):
    """The memory that trainings share: bytes of each GPU, and what a variant needs of them at most."""

    total: float = math.inf
    needs: Mapping[str, float] = MappingProxyType({})

    def fits(self, training: Training, others: Sequence[Training]) -> bool:
        """Return whether a training fits beside others on one GPU; alone each is tried."""
        every = [training, *others]
        return len(every) == 1 or sum(self.needs.get(one.variant, 0.0) for one in every) <= self.total


class Running(NamedTuple):
    """A training that runs: its process, or what has the same methods, and its GPU."""

    process: Any
    gpu: str


class Progress(NamedTuple):
    """How far a training is, by what it prints.

    Attributes:
        steps, of: that are done, and all.
        left: seconds that its steps still take; None if nobody can say.
    """

    steps: int
    of: int
    left: float | None


def threads(training: Training) -> int:
    """Return the number of threads that its plan sets."""
    return layout.read_plan(layout.plan(BUILD, training.variant), "run")["run"]["threads"]


def teachers(training: Training) -> list[Training]:
    """Return the trainings, by its plan, whose models it learns from: of other variants and the same seed."""
    variants = layout.read_plan(layout.plan(BUILD, training.variant)).get("teachers", [])
    return [Training(variant=variant, seed=training.seed) for variant in variants]


class Answers:
    """What is made of the trainings that have ended while others go on: nothing."""

    def look(self, queue: "Queue") -> None:
        """Start what can be made by now; called every POLL seconds."""

    def states(self, queue: "Queue") -> list[str]:
        """Return what is being made, and when the next comes, in words."""
        return []


class Queue:
    """Trainings that wait, run and have failed.

    Args:
        wanted: all trainings, in order.
        start: starts one.
        gpus: a GPU, or NO_GPU, for each training at a time; several trainings may share one.
        output: the folder of what they print.
        done: is called for each that is trained.
        memory: for which a training waits; None where there is enough.
        answers: what is made of the trainings that have ended.
        teachers: by training, those that have to end before it begins; later ones go before it meanwhile.

    Attributes:
        waiting: those that have not begun, in order.
        free: those of `gpus` that no training has.
        running: those that run.
        begun: when each of them began, by `time.monotonic`.
        seconds: that each took which was trained.
        outputs: the file of what each prints.
        failed: a line for each that failed, with the file of what it printed.
    """

    def __init__(
        self,
        wanted: Sequence[Training],
        start: Starter,
        gpus: Sequence[str],
        output: Path,
        done: Callable[[Training], object],
        memory: Memory | None = None,
        answers: Answers | None = None,
        teachers: Mapping[Training, Sequence[Training]] = MappingProxyType({}),
    ) -> None:
        self.answers = answers or Answers()
        self.teachers = teachers
        self.start = start
        self.output = output
        self.done = done
        self.outputs = {training: output / f"{training.name}.log" for training in wanted}
        self.memory = memory or Memory()
        self.waiting = [*wanted]
        self.free = [*gpus]
        self.running: dict[Training, Running] = {}
        self.begun: dict[Training, float] = {}
        self.seconds: dict[Training, float] = {}
        self.failed: list[str] = []
        self.last_report = time.monotonic()

    def run(self) -> None:
        """Train all, one on each of `gpus` at a time, each once there is memory for it.

        Raises:
            TrainingError: some failed; all have ended. KeyboardInterrupt: Ctrl-C, SIGTERM or SIGHUP came; all have
                ended.
        """
        self.output.mkdir(parents=True, exist_ok=True)
        with _signals_noted() as signals:
            try:
                while self.running or (self.waiting and not signals):
                    while not signals and (gpu := self.next_gpu()) is not None:
                        self.start_next(gpu)
                    if signals:
                        self.stop()
                    time.sleep(POLL)
                    self.collect(stopped=bool(signals))
                    self.answers.look(self)
                    self.report()
            finally:
                self.stop()
        if self.failed:
            failed = f"{len(self.failed)} of {len(self.outputs)} failed, the others are kept"
            raise TrainingError(f"{failed}{''.join(self.failed)}")

    def next_gpu(self) -> str | None:
        """Return the free GPU where the fewest train, of those with memory for the next training; else None."""
        training = self._next()
        if training is None:
            return None
        gpus: dict[int, str] = {}  # by how many train there
        for gpu in self.free:
            others = [training for training, running in self.running.items() if running.gpu == gpu]
            if self.memory.fits(training, others):
                gpus.setdefault(len(others), gpu)
        return gpus[min(gpus)] if gpus else None

    def _next(self) -> Training | None:
        """Return the first that waits for no teacher; None where there is none."""
        not_ended = [*self.waiting, *self.running]
        for training in self.waiting:
            if not any(teacher in not_ended for teacher in self.teachers.get(training, ())):
                return training
        return None

    def start_next(self, gpu: str) -> None:
        """Start the first that waits for no teacher, on a free GPU."""
        training = self._next()
        if training is None:
            return
        self.waiting.remove(training)
        self.free.remove(gpu)
        self.outputs[training].unlink(missing_ok=True)
        self.begun[training] = time.monotonic()
        self.running[training] = Running(self.start(training, self.outputs[training], gpu), gpu)
        say(f"{training.name}: started")

    def collect(self, stopped: bool) -> None:
        """Take those that have ended out of the running ones; what fails after `stopped` is no failure."""
        for training, (process, gpu) in [*self.running.items()]:
            status = process.poll()
            if status is None:
                continue
            del self.running[training]
            self.free.append(gpu)
            if status == 0:
                say(f"{training.name}: trained")
                self.seconds[training] = time.monotonic() - self.begun[training]
                self.done(training)
            elif stopped:
                say(f"{training.name}: stopped")
            else:
                say(f"{training.name}: failed")
                self.failed.append(f"\n  {training.name}: {self.outputs[training]} (exit status {status})")

    def report(self) -> None:
        """Print a line on how far all are, every REPORT_EVERY seconds."""
        if time.monotonic() <= self.last_report + REPORT_EVERY or not self.running:
            return
        self.last_report = time.monotonic()
        parts = [f"{len(self.seconds)} of {len(self.outputs)} trained"]
        for training in self.running:
            far = self.progress(training)
            parts.append(f"{training.name} {far.steps:,} of {far.of:,} steps" if far else f"{training.name} begins")
        say("; ".join([*parts, *self.answers.states(self)]))

    def progress(self, training: Training) -> Progress | None:
        """Return how far a running training is; None before its first step, or while its output is elsewhere."""
        output = self.outputs[training]
        if not output.is_file():  # a node's comes once it has ended
            return None
        with output.open("rb") as handle:
            handle.seek(max(0, output.stat().st_size - TAIL))
            states = STEPS.findall(handle.read().decode("utf-8", errors="replace"))
        if not states:
            return None
        steps, of, left = states[-1]
        seconds = None if "?" in left else _seconds(left) - (time.time() - output.stat().st_mtime)
        return Progress(int(steps), int(of), None if seconds is None else max(0.0, seconds))

    def stop(self) -> None:
        """Have all that run write a checkpoint and end."""
        deadline = time.monotonic() + PATIENCE
        processes = [running.process for running in self.running.values()]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()


def _seconds(clock: str) -> float:
    """Return the seconds of 02:39 or 1:02:39."""
    seconds = 0
    for part in clock.split(":"):
        seconds = 60 * seconds + int(part)
    return float(seconds)


@contextlib.contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Yield a list to which Ctrl-C, SIGTERM and SIGHUP add their numbers; KeyboardInterrupt at the end if one came.

    A signal that is ignored stays so.
    """
    received: list[int] = []
    handlers: dict[int, Any] = {}  # those of before
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if handler != signal.SIG_IGN:  # nohup ignores SIGHUP
            handlers[number] = handler
            signal.signal(number, lambda number, _: received.append(number))
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        say("the same command goes on")
        raise KeyboardInterrupt


def run_here(
    wanted: Sequence[Training],
    jobs: int | None,
    output: Path,
    done: Callable[[Training], object] = lambda _: None,
    answers: Answers | None = None,
) -> None:
    """Train all as processes that end with this one, a stopped one from where it was.

    At most `jobs` run at a time; where it is None, as many as cores and the GPUs' memory allow, or on a CPU JOBS.
    """
    paths = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH")]))  # a cluster's modules use it, too

    def start(training: Training, file: Path, gpu: str) -> subprocess.Popen[bytes]:
        visible = {} if gpu == NO_GPU else {mps.VISIBLE: gpu}
        with file.open("wb") as handle:
            return subprocess.Popen(
                [sys.executable, str(SCRIPT), training.variant, str(training.seed)],
                env={**os.environ, "PYTHONPATH": paths, "DVC_STAGE": training.stage, **visible},
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at the terminal is for this process alone, which stops all in order
                preexec_fn=end_with_parent,
            )

    if not wanted:
        return
    most_threads = max(map(threads, wanted))
    devices = gpus()
    memory = None
    if jobs is None and devices:
        jobs = len(devices) * max(1, min(mps.CLIENTS, starting.cores() // most_threads // len(devices)))
        memory = _memory_of(wanted, len(devices))
        most = min(jobs, len(wanted))
        say(f"as many at a time as the memory of the GPUs holds, at most {most}; --jobs sets another number")
    count = min(jobs or JOBS, len(wanted))
    most_clients = len(devices) * mps.CLIENTS
    if devices and count > most_clients:
        say(f"{most_clients} at a time: no more than {mps.CLIENTS} can share a GPU")
        count = most_clients
    share_gpus = len(devices) > 0 and count > len(devices)
    # Signals are noted first, so that none leaves the service running.
    with _signals_noted() as signals, mps.gpu_for_many() if share_gpus else contextlib.nullcontext("") as fault:
        if signals:
            return
        if fault:
            say(f"trainings take turns on a GPU, since they cannot share it: {fault}")
        at_a_time = gpus_of(count, most_threads, devices)
        taught = {each: teachers(each) for each in wanted}
        Queue(wanted, start, at_a_time, output, done, memory, answers, taught).run()


def _memory_of(wanted: Sequence[Training], gpus: int) -> Memory:
    """Return the memory of the smallest GPU, and what the variants of these trainings need of it."""
    import torch

    total = min(torch.cuda.get_device_properties(number).total_memory for number in range(gpus))
    return Memory(total, {variant: _needed(variant) for variant in {training.variant for training in wanted}})


def _needed(variant: str) -> float:
    """Return the bytes of a GPU that a variant needs at most."""
    plan = layout.read_plan(layout.plan(BUILD, variant), "model", "phases", "run")
    encoder = layout.encoder(BUILD, plan["model"]["encoder"])
    return gpu_memory.needed(plan, gpu_memory.weights(encoder), files.read_json(encoder / "config.json"))


def end_with_parent() -> None:
    """On Linux, have a new process stop where the thread that started it is gone, however that ended."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def gpus_of(jobs: int, threads: int, gpus: Sequence[str]) -> list[str]:
    """Return the GPU of each training at a time, one for several where there are too few; else NO_GPU.

    Without a GPU fewer than `jobs` train at a time where the cores have no room: scores depend on their `threads`.
    """
    if gpus:
        return [gpus[job % len(gpus)] for job in range(jobs)]
    cores = starting.cores()
    count = max(1, min(jobs, cores // threads))
    if count < jobs:
        say(f"{count} at a time: {jobs} trainings of {threads} threads (run.threads) do not fit {cores} cores")
    return [NO_GPU] * count


def gpus() -> list[str]:
    """List the GPUs to choose from, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.cuda.device_count()  # of those that may be used: none for -1, or with a build for CPUs
    named = os.environ.get(mps.VISIBLE)
    names = [*map(str, range(count))] if named is None else [name.strip() for name in named.split(",")]
    return names[:count]
