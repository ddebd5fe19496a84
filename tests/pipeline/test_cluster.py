"""`make reproduce ADDRESS=...` on a cluster of a head and two nodes."""

import contextlib
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from elsewhere import snapshot
from pipeline.small import SMALL, Project, small, wait_for
from pipeline.stubs import told

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.trainings import cluster
from mtbert.trainings.many import Training

HEAD = {"paper": "mine", "row": "mine", "tasks": ["sst"]}
PATIENCE = 1200  # seconds: a machine may have much else to do
STEPS = {"epochs": 1, "epoch_length": "12 steps", "batch_size": 4, "sampler": "round_robin"}
# A training tells each checkpoint, and then goes on where no file holds it, or it was asked to stop.
HELD = """

import os, signal, time
_save = Checkpoint.save


def _save_and_wait(self, state):
    _save(self, state)
    with open({hold!r} + "-saved", "a") as told:
        print(self.directory.name, file=told)
    stop = signal.getsignal(signal.SIGTERM).__self__
    while os.path.exists({hold!r}) and stop.asked is None:
        time.sleep(0.05)


Checkpoint.save = _save_and_wait
"""


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
    """Two trainings with a checkpoint after every 4 of 12 steps, held by the file `hold`; and no stage after them."""
    profile = SMALL | {"encoder": {**SMALL["encoder"], "name": "tiny"}, "training": STEPS}
    profile["run"] = {**SMALL["run"], "checkpoint_every": 4}
    params = small({"plain": HEAD}, seeds=[1, 2], profiles={"sample": profile})
    params["run"] = params["run"] | {"checkpoint_every": None}
    made = Project(tmp_path / "project", **params)
    (tmp_path / "hold").touch()
    made.append("src/mtbert/training/checkpoints.py", HELD.format(hold=str(tmp_path / "hold")))
    stages = yaml.safe_load((made.root / "dvc.yaml").read_text())["stages"]
    kept = {
        name: stage
        for name, stage in stages.items()
        if name not in ("merge", "speed", "collect", "judge", "report", "track")
    }
    (made.root / "dvc.yaml").write_text(yaml.safe_dump({"stages": kept}, sort_keys=False))
    made.dvc("repro", "baselines", "manifest")
    made.preloaded = False  # processes are told by their command
    return made


def saved(told: Path) -> Counter[str]:
    """How many checkpoints each seed has written."""
    return Counter(told.read_text().split() if told.exists() else [])


def trainings() -> int:
    """The number of trainings that run."""
    found = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            found += "stages/train.py" in process.cmdline() and "plain" in process.cmdline()
    return found


def test_a_killed_grid_goes_on_and_a_lost_node_costs_the_steps_since_the_last_checkpoint(
    project: Project, tmp_path: Path
):
    """All end, with the bytes of a training here, and nothing is left to train."""
    told_of, both = tmp_path / "hold-saved", {"1", "2"}
    storage, long = tmp_path / "storage", tmp_path / ("long" * 25)  # as a folder for Ray's sockets may not be
    long.mkdir()
    with nodes() as alive:
        assert alive.stdin
        assert alive.stdout
        address = alive.stdout.readline().strip()
        command = ["-m", "mtbert", "grid", "--address", address, "--storage", str(storage)]
        with project.start(*command, PYTHONPATH="src", TMPDIR=str(long)) as killed:
            wait_for(lambda: killed.poll() is not None or saved(told_of).keys() == both, PATIENCE)
            assert killed.poll() is None
            killed.send_signal(signal.SIGKILL)
        wait_for(lambda: trainings() == 0, 300)
        before = saved(told_of)
        with project.start(*command, PYTHONPATH="src") as grid:
            wait_for(lambda: grid.poll() is not None or (saved(told_of) - before).keys() == both, PATIENCE)
            alive.stdin.write("kill a node\n")
            alive.stdin.flush()
            wait_for(lambda: grid.poll() is not None or trainings() == 1, PATIENCE)
            (tmp_path / "hold").unlink()
            output, _ = grid.communicate(timeout=PATIENCE)
    assert grid.returncode == 0, output[-6000:]
    assert sorted(told(output)) == ["plain-1: trained", "plain-2: trained"]
    assert "Running stage 'train@" not in output
    logs = [files.read_json(file) for file in (project.root / "build/logs/plain").glob("*/*/run.json")]
    assert sorted(log["resumed"] for log in logs) == [1, 2]
    brought = snapshot(project.root / "build/runs")
    shutil.rmtree(project.root / "build/runs/plain/1")
    project.run("stages/train.py", "plain", "1", PYTHONPATH="src")
    assert snapshot(project.root / "build/runs") == brought
    assert list(storage.glob("checkpoints/plain/*/*")) == []


@pytest.mark.parametrize(
    ("address", "kind", "why"),
    [
        ("ray://10.0.0.1:10001", SettingsError, "allowed: what `ray start` printed, such as 10.0.0.1:6379"),
        ("127.0.0.1:1", SettingsError, "--address is 127.0.0.1:1, where no Ray can be joined: .*refused"),
    ],
)
def test_what_cannot_be_joined_is_told(address: str, kind: type[Exception], why: str):
    one = Training(variant="a", seed=1)
    with pytest.raises(kind, match=why), cluster.joined(address, [one], None, None):
        pass
