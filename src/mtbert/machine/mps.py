"""NVIDIA's Multi-Process Service, which lets several processes compute on a GPU at once."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

MPS = "nvidia-cuda-mps-control"
CLIENTS = 48  # of the service on one GPU, at most (NVIDIA's *Multi-Process Service*, on Volta and later)
PIPE, LOG = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
PLACE = "/tmp/nvidia-mps"  # of the service's pipes where PIPE is not set
VISIBLE = "CUDA_VISIBLE_DEVICES"
PROBE = "import torch; torch.zeros(1, device='cuda').item()"  # a program
PATIENCE = 30.0  # seconds for the service to start, for a program on it, and for its end


@contextlib.contextmanager
def gpu_for_many() -> Iterator[str]:
    """Let several processes compute on a GPU at once, where NVIDIA's Multi-Process Service can be started.

    Yield what keeps it from being started, or nothing; processes take turns then. One that runs already, as the pipe
    `control` tells, is used. It serves all GPUs, so that its clients number them as others do (NVIDIA's *Multi-Process
    Service*, on VISIBLE).
    """
    place = os.environ.get(PIPE, PLACE)
    control = shutil.which(MPS)
    if Path(place, "control").exists():
        yield ""
    elif control is None:
        yield f"{MPS} is not installed"
    elif PIPE in os.environ:
        yield f"{PIPE} is {place}, where no service runs"
    else:
        with _started(control) as fault:
            yield fault


@contextlib.contextmanager
def _started(control: str) -> Iterator[str]:
    """Start the service; yield why it cannot be used, or nothing; end it."""
    with tempfile.TemporaryDirectory(prefix="mps-") as folder:
        directories = {PIPE: folder, LOG: folder}
        of_service = {name: value for name, value in os.environ.items() if name != VISIBLE} | directories
        try:
            fault = _fault_of_start(control, of_service) or _fault_of_clients(directories)
            if not fault:
                os.environ.update(directories)
            yield fault
        finally:
            _quit(control, of_service)
            for name in directories:
                os.environ.pop(name, None)


def _fault_of_start(control: str, environment: Mapping[str, str]) -> str:
    """Start the service; return why it does not start, or nothing."""
    fault = _fault_of([control, "-d"], environment)
    return fault and f"{MPS}: {fault}"


def _fault_of_clients(directories: Mapping[str, str]) -> str:
    """Return why a process cannot compute on a GPU under the service, or nothing."""
    fault = _fault_of([sys.executable, "-c", PROBE], os.environ | directories)
    return fault and f"under {MPS} no GPU can be used: {fault}"


def _fault_of(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a command; return the last line that it prints where it fails, or nothing.

    Its output goes to a file, since a service that it leaves running would keep a pipe open. Ctrl-C does not reach it.
    """
    with tempfile.TemporaryFile("w+") as output:
        options = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output, "start_new_session": True}
        try:
            done = subprocess.run(command, env=environment, timeout=PATIENCE, **options)
        except subprocess.TimeoutExpired:
            return f"no answer in {PATIENCE:.0f} s"
        if done.returncode == 0:
            return ""
        output.seek(0)
        lines = output.read().strip().splitlines()
        return lines[-1] if lines else f"exit status {done.returncode}"


def _quit(control: str, environment: Mapping[str, str]) -> None:
    """End the service, which waits for its clients."""
    try:
        subprocess.run([control], input="quit\n", env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        print(f"warning: {MPS} has clients after {PATIENCE:.0f} s and goes on", file=sys.stderr)
