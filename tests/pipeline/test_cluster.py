"""`make grid ADDRESS=...` on a cluster of a head and two nodes."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from elsewhere import snapshot
from pipeline.small import SMALL, Project, small, wait_for
from pipeline.stubs import told

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.scale import cluster
from mtbert.scale.trainings import Training

HEAD = {"paper": "mine", "row": "mine", "tasks": ["sst"]}
PATIENCE = 1200  # seconds: a machine may have much else to do
STEPS = {"epochs": 1, "steps_per_epoch": 400, "batch_size": 4, "sampler": "round_robin"}


@contextlib.contextmanager
def nodes() -> Iterator[subprocess.Popen[str]]:
    """The process of a cluster of two nodes; its first line is the address."""
    script = [sys.executable, str(Path(__file__).parents[1] / "nodes.py"), "2"]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()
        process.wait(60)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two trainings with a checkpoint after every 20 of 400 steps."""
    profile = SMALL | {"encoder": {**SMALL["encoder"], "name": "tiny"}, "training": STEPS}
    profile["run"] = {**SMALL["run"], "checkpoint_every": 20}
    params = small({"plain": HEAD}, seeds=[1, 2], profiles={"sample": profile})
    params["run"] = params["run"] | {"checkpoint_every": None}
    return Project(tmp_path / "project", **params)


def begun(storage: Path) -> set[str]:
    """The seeds of trainings that have a checkpoint."""
    return {file.parts[-2] for file in storage.glob("checkpoints/plain/*/*.safetensors")}


def trainings() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            found += [process] if "stages/train.py" in process.cmdline() and "plain" in process.cmdline() else []
    return found


def held(storage: Path) -> set[str]:
    """As `begun`, and make each of these wait, so that none ends before another begins."""
    for process in trainings():
        with contextlib.suppress(psutil.Error):
            if process.cmdline()[-2] in begun(storage):
                process.suspend()
    return begun(storage)


def test_a_killed_grid_goes_on_and_a_lost_node_costs_the_steps_since_the_last_checkpoint(
    project: Project, tmp_path: Path
):
    """All end, with the bytes that `dvc repro` gives, and nothing is left to train."""
    storage, long = tmp_path / "storage", tmp_path / ("long" * 25)  # as a folder for Ray's sockets may not be
    long.mkdir()
    with nodes() as alive:
        assert alive.stdin
        assert alive.stdout
        address = alive.stdout.readline().strip()
        command = ["-m", "mtbert", "grid", "--address", address, "--storage", str(storage)]
        with project.start(*command, PYTHONPATH="src", TMPDIR=str(long)) as killed:
            wait_for(lambda: killed.poll() is not None or held(storage) == {"1", "2"}, PATIENCE)
            assert killed.poll() is None
            killed.send_signal(signal.SIGKILL)
        for process in trainings():
            process.resume()
        wait_for(lambda: not trainings(), 300)
        with project.start(*command, PYTHONPATH="src") as grid:
            wait_for(lambda: grid.poll() is not None or len(trainings()) == 2, PATIENCE)
            alive.stdin.write("kill a node\n")
            alive.stdin.flush()
            output, _ = grid.communicate(timeout=PATIENCE)
    assert grid.returncode == 0, output[-6000:]
    assert sorted(told(output)) == ["plain-1: trained", "plain-2: trained"]
    for seed in (1, 2):
        assert "going on from the checkpoint of step" in (project.root / f"build/grid/plain-{seed}.log").read_text()
        (about,) = (project.root / f"build/logs/plain/{seed}").glob("*/run.json")
        assert files.read_json(about)["resumed"] >= 1
    assert project.dvc("repro") == []
    brought = snapshot(project.root / "build/runs")
    project.dvc("repro", "--force", "--single-item", "train@plain-1")
    assert snapshot(project.root / "build/runs") == brought
    assert begun(storage) == set()


@pytest.mark.parametrize(
    ("address", "kind", "why"),
    [
        ("ray://10.0.0.1:10001", SettingsError, "allowed: what `ray start` printed, such as 10.0.0.1:6379"),
        ("127.0.0.1:1", cluster.ClusterError, "--address is 127.0.0.1:1, where no Ray can be joined: .*refused"),
    ],
)
def test_what_cannot_be_joined_is_told(address: str, kind: type[Exception], why: str):
    one = Training(variant="a", seed=1)
    with pytest.raises(kind, match=why), cluster.joined(address, [one], None, None):
        pass
