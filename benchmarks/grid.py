"""How the grid grows: what the sender of trainings does for each, by their number and by the nodes that they run on.

`python benchmarks/grid.py --trainings 99 201 399 --nodes 2 4 8`. Trainings are stubs (tests/pipeline/stubs.py), nodes
are simulated on this machine (tests/nodes.py), so how fast trainings end says nothing. What is told is the processor
time of the sender alone, that of DVC's recording, and the sender's largest memory.
"""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))
VARIANTS = 3  # of the stubs


def main() -> None:
    """Measure and print; `--address` is for the process that sends."""
    parser = argparse.ArgumentParser(description="How the grid grows with trainings and nodes")
    parser.add_argument("--trainings", type=int, nargs="+", default=[99, 201, 399], help="in threes")
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--address", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.address:
        print(json.dumps(sent(arguments.address)))
        return
    most, fewest = max(arguments.trainings), min(arguments.nodes)
    sizes = [(count, fewest) for count in arguments.trainings] + [(most, nodes) for nodes in arguments.nodes[1:]]
    lines = [measured(count, nodes) for count, nodes in sizes]
    print(pd.DataFrame(lines).to_string(index=False))


def measured(trainings: int, nodes: int) -> dict[str, Any]:
    """One line: a project of so many trainings, all of them sent to so many nodes of a core each."""
    from pipeline.stubs import Stubs  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder, cluster(nodes) as address:
        project = Stubs(Path(folder) / "project", seeds=[*range(1, trainings // VARIANTS + 1)])
        project.dvc("repro", "init")
        script = str(Path(__file__).resolve())
        done = project.run(script, "--address", address, PYTHONPATH="src", MTBERT_LIVE="off", CUDA_VISIBLE_DEVICES="")
        assert done.returncode == 0, done.stdout[-4000:]
        found = json.loads(done.stdout.splitlines()[-1])
        alone = children(lambda: project.dvc("commit", "--force", "train@a-1"))
    line = {"trainings": trainings, "nodes": nodes, **found, "dvc commit of one s": round(alone, 2)}
    print(line, flush=True)
    return line


@contextlib.contextmanager
def cluster(nodes: int) -> Iterator[str]:
    """Its address."""
    command = [sys.executable, str(TESTS / "nodes.py"), str(nodes), "--cores", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait()


def children(work: Any) -> float:
    """Processor seconds of the processes that some work starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sent(address: str) -> dict[str, Any]:
    """Send every training of the folder, and have them recorded at the end."""
    from mtbert import repository
    from mtbert.grid import cluster, sending

    sending.RECORD = float("inf")
    stages = repository.changed()
    with cluster.joined(address, None, None, stages) as found:
        began, wall = time.process_time(), time.perf_counter()
        out = sending.Sending(found, 0, len(stages))
        recording = children(lambda: _train(out, stages))
        seconds, wall = time.process_time() - began, time.perf_counter() - wall
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {
        "sender ms each": round(1000 * seconds / len(stages), 1),
        "recording ms each": round(1000 * recording / len(stages), 1),
        "sender MiB": round(most),
        "all s": round(wall, 1),
    }


def _train(out: Any, stages: list[str]) -> None:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        failed = out.train(stages)
    assert not failed, failed


if __name__ == "__main__":
    main()
