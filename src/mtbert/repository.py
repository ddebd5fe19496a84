"""DVC in this repository, as `grid`, `pack` and `unpack` use it: its commands, and what is not up to date.

DVC's commands run in sessions of their own: Ctrl-C at the terminal is for this process alone, which stops all in order.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from mtbert import files
from mtbert.errors import SettingsError

DVC = (sys.executable, "-m", "dvc")
BIN = str(Path(sys.executable).parent)  # stages start `python`, which has to be this one, activated or not
MANY = (sys.executable, "-m", "mtbert.recording")
PARAMS = Path("params.yaml")
LOCK = Path("build/grid/lock")
POLL = 0.1  # seconds
PATIENCE = 60.0  # seconds in which what was interrupted has to end

_signals: list[int] = []  # to stop; looked at between steps, so that nothing is started without being noted


def heed() -> None:
    """Have SIGINT, SIGTERM and SIGHUP stop this process between two steps, at `pause`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            signal.signal(number, lambda number, _: _signals.append(number))


def pause(seconds: float = POLL) -> None:
    """Sleep; KeyboardInterrupt where a signal to stop has come."""
    time.sleep(seconds)
    if _signals:
        print("stopping what runs", file=sys.stderr, flush=True)
        raise KeyboardInterrupt


def setting(*overrides: str) -> list[str]:
    """The command of DVC that sets these in params.yaml; stages follow."""
    return ["exp", "run", *(part for override in overrides for part in ("-S", override))]


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
    done = subprocess.run([*DVC, "status", "--json", "train"], stdout=subprocess.PIPE, check=False, env=environment())
    if done.returncode:
        sys.exit(done.returncode)
    return list(json.loads(done.stdout))


def variant_and_seed(stage: str) -> tuple[str, int]:
    """Of a training, by the name that DVC has for it."""
    variant, _, seed = stage.removeprefix("train@").rpartition("-")
    return variant, int(seed)


def environment() -> dict[str, str]:
    """This process's, with its own `python` first."""
    return os.environ | {"PATH": os.pathsep.join([BIN, *filter(None, [os.environ.get("PATH")])])}


def dvc(*arguments: str) -> None:
    """Run a DVC command to its end, on the terminal; leave with its status where it fails."""
    _to_its_end(_popen([*DVC, *arguments]))


def record(stages: Sequence[str]) -> None:
    """Have DVC record trainings whose runs lie in place, all at once: dvc.lock, its cache, its run cache."""
    if stages:
        _to_its_end(recording(stages))


def recording(stages: Sequence[str]) -> subprocess.Popen[bytes]:
    """`record`, begun; to be waited for."""
    return _popen([*MANY, "record", *stages])


def restore(stages: Sequence[str]) -> list[str]:
    """Have DVC restore those of these trainings that lie in its run cache; their names."""
    if not stages:
        return []
    process = _popen([*MANY, "restore", *stages], subprocess.PIPE)
    try:
        output, _ = process.communicate()
    finally:
        _stop(process)
    if process.returncode:
        sys.exit(process.returncode)
    return output.decode().split()


def _to_its_end(process: subprocess.Popen[bytes]) -> None:
    try:
        while process.poll() is None:
            pause()
    finally:
        _stop(process)
    if process.returncode:
        sys.exit(process.returncode)


def _popen(command: Sequence[str], output: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        env=environment(),
        start_new_session=True,
        preexec_fn=_heed_interrupts,
    )


def _heed_interrupts() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, which children inherit; `_stop` relies on it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt what DVC runs, not DVC, which writes dvc.lock in place: it ends by itself. Kill what does not."""
    told, until = set[psutil.Process](), time.monotonic() + PATIENCE
    try:
        while process.poll() is None and time.monotonic() < until:
            commands = set(_commands(process))
            for command in commands - told:
                with contextlib.suppress(psutil.NoSuchProcess):
                    command.send_signal(signal.SIGINT)
            told |= commands
            time.sleep(POLL)
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _commands(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """What DVC has started in its own session; MLflow's writers have theirs, and end with their training."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
        return [child for child in children if os.getpgid(child.pid) == process.pid]
    except (psutil.NoSuchProcess, ProcessLookupError):
        return []  # ended meanwhile; what is left is found the next time


def wait_for_others() -> None:
    """Until nothing is made here, by DVC or by a training that it left when it was killed; says what goes on."""
    told = set[int]()
    while others := {process.pid: process for process in _running(lambda one: is_dvc(one) or is_training(one))}:
        for pid in others.keys() - told:
            print(f"{_about(others[pid])}\n  waiting until it ends", flush=True)
        told |= others.keys()
        pause()


def _running(wanted: Callable[[Sequence[str]], bool]) -> list[psutil.Process]:
    """The processes in this folder whose command is such a one."""
    here, found = os.getcwd(), list[psutil.Process]()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended, or is another user's
            if wanted(process.cmdline()) and process.cwd() == here:
                found.append(process)
    return found


def is_dvc(command: Sequence[str]) -> bool:
    """Whether it is a DVC that makes something."""
    dvc = any(Path(part).name in ("dvc", "dvc.exe") for part in command[:3])
    return dvc and ("repro" in command or {"exp", "run"} <= set(command))


def is_training(command: Sequence[str]) -> bool:
    """Whether it trains, and is no editor."""
    python = bool(command) and Path(command[0]).name.startswith("python")
    return python and any(part.endswith("stages/train.py") for part in command)


def _about(process: psutil.Process) -> str:
    try:
        since = time.strftime("%F %T", time.localtime(process.create_time()))
        return f"process {process.pid} runs here since {since}: {' '.join(process.cmdline())}"
    except psutil.Error:
        return f"process {process.pid} has just ended"
