"""Train the selected runs side by side: `python -m mtbert.grid --jobs 4`, at the repository's root.

DVC runs one stage after the other. Here each training is a `dvc repro` of that stage alone, several at a time. So DVC
itself decides what is up to date or lies in its run cache, and records each run as soon as it ends: its cache and
dvc.lock are as one `dvc repro` leaves them. DVC lets go of the repository while a command runs; `--wait-for-lock`
queues the moments before and after it.
"""

import argparse
import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from mtbert import errors, files, locking, outputs
from mtbert.errors import SettingsError, TrainingError

DVC = (sys.executable, "-m", "dvc")
PARAMS = Path("params.yaml")
EARLIER = Path("build/logs")  # of the trainings themselves: build/logs/<variant>/<seed>/<key>/run.json
PLAN = Path("build/plan")
LOGS = Path("build/grid")
LOCK = LOGS / "lock"
POLL = 0.1  # seconds
PATIENCE = 60.0  # seconds in which what was interrupted has to end

_signals: list[int] = []  # to stop; looked at between steps, so that nothing is started without being noted


def run(jobs: int, variants: str | None = None) -> None:
    """`dvc repro`, its trainings side by side. Waits first for what else trains here, and says what that is.

    Args:
        jobs: how many at a time, at least 1.
        variants: names with spaces between, or `all` of the catalog, to be set in params.yaml; None for what it says.

    Raises:
        SettingsError: params.yaml launches each training on several processes.
        TrainingError: trainings failed; the others are recorded, and nothing that needs them was run.
        SystemExit: a stage before or after them failed, which DVC has told.
    """
    with locking.alone(LOCK, "grid", _pause):
        _wait_for_others()
        dvc(*(["repro"] if variants is None else setting(f"variants=[{names(variants)}]")), "init")
        one_process_each()
        stages = changed()
        if threads := fewer_threads(stages, jobs):
            dvc(*setting(f"run.threads={threads}"), "init")
            stages = changed()
        if stages:
            print(f"{len(stages)} to train or restore, {jobs} at a time; their output is in {LOGS}/", flush=True)
            if failed := train(longest_first(stages), shares(min(jobs, len(stages)))):
                logs = "\n".join(f"  {_name(stage)}: {_log(stage)}" for stage in failed)
                raise TrainingError(f"{len(failed)} of {len(stages)} failed, the others are recorded\n{logs}")
        dvc("repro")


def setting(*overrides: str) -> list[str]:
    """The command of DVC that sets these in params.yaml; stages follow."""
    return ["exp", "run", *(part for override in overrides for part in ("-S", override))]


def fewer_threads(stages: Sequence[str], jobs: int) -> int | None:
    """How many threads each training has to have where so many at a time would have more than the cores; says so.

    None where they fit. It goes into params.yaml, not the environment, since scores depend on it: a later `dvc repro`
    then finds the same runs.
    """
    threads = max((_threads(stage) for stage in stages), default=1)
    fitting = max(1, cores() // max(1, min(jobs, len(stages))))
    if threads <= fitting:
        return None
    print(
        f"{min(jobs, len(stages))} trainings of {threads} threads are more than the {cores()} cores: run.threads "
        f"becomes {fitting} in {PARAMS}, so that what was trained with {threads} trains again; "
        f"`make grid JOBS={max(1, cores() // threads)}` would keep it",
        flush=True,
    )
    return fitting


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _threads(stage: str) -> int:
    """Of a training, as the plan has it."""
    return files.read_plan(PLAN / f"{_name(stage).rpartition('-')[0]}.yaml", "run")["run"]["threads"]


def _wait_for_others() -> None:
    """Until no DVC makes anything here; says what goes on. It may have been left by a start that was killed.

    A training whose DVC was killed is not waited for: the one that is started next to it does that, and takes its
    result (stages/train.py).
    """
    told = set[int]()
    while others := {process.pid: process for process in _running(_is_dvc)}:
        for pid in others.keys() - told:
            print(f"{_about(others[pid])}\n  waiting until it ends", flush=True)
        told |= others.keys()
        _pause()
    for training in _running(_is_training):
        print(f"{_about(training)}\n  left by a start that was killed; its result is taken over", flush=True)


def _running(wanted: Callable[[Sequence[str]], bool]) -> list[psutil.Process]:
    """The processes in this folder whose command is such a one."""
    here, found = os.getcwd(), list[psutil.Process]()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended, or is another user's
            if wanted(process.cmdline()) and process.cwd() == here:
                found.append(process)
    return found


def _is_dvc(command: Sequence[str]) -> bool:
    dvc = any(Path(part).name in ("dvc", "dvc.exe") for part in command[:3])
    return dvc and ("repro" in command or {"exp", "run"} <= set(command))


def _is_training(command: Sequence[str]) -> bool:
    python = bool(command) and Path(command[0]).name.startswith("python")  # and not an editor
    return python and any(part.endswith("stages/train.py") for part in command)


def _about(process: psutil.Process) -> str:
    try:
        since = time.strftime("%F %T", time.localtime(process.create_time()))
        return f"process {process.pid} runs here since {since}: {' '.join(process.cmdline())}"
    except psutil.Error:
        return f"process {process.pid} has just ended"


def names(variants: str) -> str:
    """Names with commas between, from names with spaces between or `all` of the catalog."""
    names = files.read_yaml(PARAMS)["catalog"] if variants == "all" else variants.split()
    return ",".join(names)


def one_process_each() -> None:
    """Raise SettingsError where params.yaml launches each training on several processes."""
    launch = files.read_yaml(PARAMS)["launch"]
    if launch.split()[0] in ("torchrun", "accelerate"):
        raise SettingsError(
            f"{PARAMS}: launch is {launch!r}, which gives each training several processes and GPUs of its own choice; "
            "side by side they take one each: launch: python, or `dvc repro` for one training after the other"
        )


def changed() -> list[str]:
    """The trainings that are not up to date, in the order of dvc.yaml."""
    done = subprocess.run([*DVC, "status", "--json", "train"], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return list(json.loads(done.stdout))


def longest_first(stages: Iterable[str]) -> list[str]:
    """By what the variant's earlier runs took at most; those never run come first."""

    def seconds(stage: str) -> float:
        variant = _name(stage).rpartition("-")[0]
        earlier = EARLIER.glob(f"{variant}/*/*/run.json")
        logs = [log for file in earlier if (log := outputs.log(file.parent))]  # without those that are damaged
        return max((log.seconds for log in logs), default=math.inf)

    return sorted(stages, key=seconds, reverse=True)


def shares(jobs: int) -> list[dict[str, str]]:
    """What each worker's environment adds: its GPU, of those that the environment names; of too few, some share one."""
    gpus = _gpus()
    return [{"CUDA_VISIBLE_DEVICES": gpus[job % len(gpus)]} if gpus else {} for job in range(jobs)]


def _gpus() -> list[str]:
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [gpu.strip() for gpu in chosen.split(",") if gpu.strip()]
    import torch  # takes seconds

    return [str(index) for index in range(torch.cuda.device_count())]


@dataclass
class Training:
    """One that runs."""

    stage: str
    share: dict[str, str]
    process: subprocess.Popen[bytes]
    since: float


def train(stages: Sequence[str], shares: Iterable[dict[str, str]]) -> list[str]:
    """Train with one worker for each share; those that failed. Nothing is left running where it is interrupted."""
    waiting, free, running, failed = list(stages), list(shares), list[Training](), list[str]()
    LOGS.mkdir(parents=True, exist_ok=True)
    try:
        while waiting or running:
            while waiting and free:
                running.append(_start(waiting.pop(0), free.pop(0)))
            _pause()
            for training in [training for training in running if training.process.poll() is not None]:
                running.remove(training)
                free.append(training.share)
                left = len(waiting) + len(running)
                if not _ended_well(training, f"{len(stages) - left} of {len(stages)}"):
                    failed.append(training.stage)
    finally:
        _stop([training.process for training in running])
    return failed


def _start(stage: str, share: dict[str, str]) -> Training:
    print(f"{_name(stage)}: started", flush=True)
    with _log(stage).open("wb") as log:
        process = _popen(["--wait-for-lock", "repro", "--single-item", stage], share, log)
    return Training(stage, share, process, time.monotonic())


def _ended_well(training: Training, count: str) -> bool:
    """Tell how a training ended."""
    seconds, status = time.monotonic() - training.since, training.process.returncode
    if status < 0:  # DVC was killed, and may have left its training behind
        _kill(training.process)
    trained = f"Running stage '{training.stage}'" in _log(training.stage).read_text("utf-8", errors="replace")
    how = "failed" if status else "trained" if trained else "restored"
    print(f"{_name(training.stage)}: {how} after {seconds:.0f} s ({count})", flush=True)
    return status == 0


def _name(stage: str) -> str:
    return stage.removeprefix("train@")


def _log(stage: str) -> Path:
    return LOGS / f"{_name(stage)}.log"


def dvc(*arguments: str) -> None:
    """Run a DVC command to its end, on the terminal; leave with its status where it fails."""
    process = _popen(arguments)
    try:
        while process.poll() is None:
            _pause()
    finally:
        _stop([process])
    if process.returncode:
        sys.exit(process.returncode)


def _pause() -> None:
    time.sleep(POLL)
    if _signals:
        print("stopping what runs", file=sys.stderr, flush=True)
        raise KeyboardInterrupt


def _popen(
    arguments: Sequence[str], share: dict[str, str] | None = None, log: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    """Start DVC in a session of its own: Ctrl-C at the terminal is for the grid alone, which stops all in order."""
    return subprocess.Popen(
        [*DVC, *arguments],
        env=os.environ | (share or {}),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT if log else None,
        start_new_session=True,
        preexec_fn=_heed_interrupts,
    )


def _heed_interrupts() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, which children inherit; `_stop` relies on it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Interrupt what DVC runs, not DVC, which writes dvc.lock in place: it ends by itself. Kill what does not."""
    told, until = set[psutil.Process](), time.monotonic() + PATIENCE
    try:
        while any(process.poll() is None for process in processes) and time.monotonic() < until:
            commands = {command for process in processes for command in _commands(process)}
            for command in commands - told:
                with contextlib.suppress(psutil.NoSuchProcess):
                    command.send_signal(signal.SIGINT)
            told |= commands
            time.sleep(POLL)
    finally:
        for process in processes:
            if process.poll() is None:
                _kill(process)
                process.wait()


def _commands(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """What DVC has started in its own session; MLflow's writers have theirs, and end with their training."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
        return [child for child in children if os.getpgid(child.pid) == process.pid]
    except (psutil.NoSuchProcess, ProcessLookupError):
        return []  # ended meanwhile; what is left is found the next time


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    """Read the arguments and run; exit status 1 where a training failed, 130 where it was stopped."""
    parser = argparse.ArgumentParser(description="`dvc repro`, its trainings side by side")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--variants", help="sets `variants` in params.yaml first: 'pals slap-smart', or all")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}; allowed: 1 and more")
    with errors.shown_plainly():
        start(arguments.jobs, arguments.variants)


def start(jobs: int, variants: str | None) -> None:
    """`run`, as a process whose work it is: a signal to stop is heeded between two steps."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            signal.signal(number, lambda number, _: _signals.append(number))
    run(jobs, variants)


if __name__ == "__main__":
    main()
