"""How much of a GPU's memory a training needs, computed before it runs, so that nobody has to try numbers of trainings.

The rule is simple, and gives more than is needed: benchmarks/results.json has what each variant of the papers needs.
"""

import contextlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import safe_open

from mtbert.layout import WEIGHTS
from mtbert.learning.samplers import SAMPLERS
from mtbert.models.heads import HEADS

GIB = 2**30
CONTEXT = 0.6 * GIB  # of CUDA, for each process
# Bytes of an encoder's weight, its gradient and two moments, in fp32; beside them what is added to an encoder.
BY_WEIGHT = 16 * 1.15
BY_KEPT = 4 * 1.15  # bytes of a weight in fp32, and of what is added, in each epoch that is kept
# Bytes that each number of a hidden state keeps in a layer for the backward pass, its attention included, on a CPU.
BY_STATE = 150
BY_EVALUATED = 24  # bytes that predictions take for each number of a hidden state, all layers together, as for BERT
PASSES = 2  # more forward passes for each objective
MPS = "nvidia-cuda-mps-control"
CLIENTS = 48  # of the service on one GPU, at most (NVIDIA's *Multi-Process Service*, on Volta and later)
PIPE, LOG = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
PLACE = "/tmp/nvidia-mps"  # of the service's pipes where PIPE is not set
VISIBLE = "CUDA_VISIBLE_DEVICES"
PROBE = "import torch; torch.zeros(1, device='cuda').item()"  # a program
PATIENCE = 30.0  # seconds for the service to start, for a program on it, and for its end


def weights(encoder: Path) -> int:
    """Return the number of an encoder's weights, of which nothing is read but the shapes."""
    with safe_open(encoder / WEIGHTS, "pt") as content:
        return sum(math.prod(content.get_slice(name).get_shape()) for name in content.offset_keys())


def needed(plan: Mapping[str, Any], count: int, config: Mapping[str, Any]) -> float:
    """Return the bytes that a training needs at most, by a rule that counts each sequence as if it had `max_tokens`.

    Counted are CUDA's context; the weights with gradients and moments; the weights of each epoch that is kept; and what
    the largest step keeps for its backward pass, or a batch of predictions where that is more. What recorded steps hold
    beside those that run kernel by kernel is not counted apart: a GPU's attention keeps less than a CPU's.

    Args:
        plan: a variant's settings.
        count: the encoder's weights.
        config: its config.json.
    """
    from mtbert.training import evaluation

    model = plan["model"]
    compares = any(HEADS.class_of(HEADS.choose(head)).compares for head in model["heads"].values())
    sequences = 2 if compares or model["pair_encoding"] == "bi" else 1
    state = sequences * model["max_tokens"] * config["hidden_size"]  # numbers of a hidden state of an example
    step = max(map(_rows, plan["phases"]), default=0) * config["num_hidden_layers"] * state * BY_STATE
    predictions = evaluation.GPU_BATCH * state * BY_EVALUATED
    return CONTEXT + count * (BY_WEIGHT + _kept(plan["run"]) * BY_KEPT) + max(step, predictions)


def _kept(run: Mapping[str, Any]) -> int:
    """Return how many epochs' weights are kept at most."""
    return 0 if run["keep"] == "last" else 1


def _rows(phase: Mapping[str, Any]) -> int:
    """Return the examples of a step that a backward pass goes through the encoder for, times its passes."""
    if set(phase["trainable"]) == {"heads"}:
        return 0
    batch_sizes = [phase["batch_sizes"].get(task, phase["batch_size"]) for task in phase["tasks"]]
    sampler: Any = SAMPLERS[phase["sampler"]["name"]].build  # a class
    examples = sum(batch_sizes) if sampler.several_tasks else max(batch_sizes)
    return examples * (1 + PASSES * len(phase["objectives"]))


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
