"""`make grid` on a cluster of a head and two nodes, of which one is lost."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from elsewhere import snapshot
from pipeline.small import SMALL, Project, small
from pipeline.stubs import told, wait_for

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.grid import cluster

HEAD = {"paper": "mine", "row": "mine", "tasks": ["sst"]}
STEPS = {"epochs": 1, "steps_per_epoch": 400, "batch_size": 4, "sampler": "round_robin"}


@contextlib.contextmanager
def nodes(cores: int) -> Iterator[subprocess.Popen[str]]:
    """The process of a cluster of two nodes; its first line is the address."""
    script = [str(Path(__file__).parents[1] / "nodes.py"), "2", "--cores", str(cores)]
    with subprocess.Popen(
        [sys.executable, *script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()
        process.wait(60)


def made(root: Path, seeds: list[int]) -> Project:
    catalog = {"plain": HEAD, "pals": HEAD | {"uses": ["pals"]}}
    profile = SMALL | {"encoder": {**SMALL["encoder"], "name": "tiny"}, "training": STEPS}
    profile["run"] = {**SMALL["run"], "checkpoint_every": 20}
    params = small(catalog, seeds=seeds, profiles={"sample": profile})
    params["run"] = params["run"] | {"checkpoint_every": None}
    return Project(root, **params)


@pytest.mark.parametrize(("how", "cores", "seeds"), [("lost", 2, [1, 2, 3, 4]), ("cut", 1, [1])])
def test_a_lost_node_costs_the_steps_since_the_last_checkpoint(how: str, cores: int, seeds: list[int], tmp_path: Path):
    """All end, with the bytes that `dvc repro` gives, and nothing is left to train."""
    project = made(tmp_path / "project", seeds)
    environment = {"PYTHONPATH": "src", "MTBERT_LIVE": "off", "RAY_ADDRESS": "127.0.0.1:1"}
    with nodes(cores) as cluster:
        assert cluster.stdin
        assert cluster.stdout
        address = cluster.stdout.readline().strip()
        with project.start("-m", "mtbert.grid", "--address", address, **environment) as grid:
            wait_for(lambda: grid.poll() is not None or len(begun(project)) == 2 * cores, 300)
            before = begun(project)
            cluster.stdin.write(f"{how}\n")
            cluster.stdin.flush()
            output, _ = grid.communicate(
                timeout=300
            )  # Ray alone would take seven minutes to see that a node is cut off
    assert grid.returncode == 0, output[-6000:]
    names = [f"{variant}-{seed}" for variant in ("pals", "plain") for seed in seeds]
    assert sorted(told(output)) == [f"{name}: trained" for name in names]
    again = re.findall(r"^(\S+): its node was lost; goes on elsewhere, try 2$", output, re.M)
    assert len(again) == cores
    for name in again:
        log = (project.root / f"build/grid/{name}.log").read_text()
        (step,) = re.findall(r"^going on from the checkpoint of step (\d+)$", log, re.M)
        assert int(step) >= before[name]
        (about,) = (project.root / "build/logs" / name.replace("-", "/")).glob("*/run.json")
        assert files.read_json(about)["resumed"] == 1
    assert "up to date" in project.run("-m", "dvc", "status").stdout
    assert project.dvc("repro") == []
    brought = snapshot(project.root / "build/runs")
    project.dvc("repro", "--force", "--single-item", *(f"train@{name}" for name in again))
    assert snapshot(project.root / "build/runs") == brought
    assert list((project.root / "build/checkpoints").glob("*/*/*")) == []


def begun(project: Project) -> dict[str, int]:
    """The step of the newest checkpoint that has come back, by training."""
    found = sorted((project.root / "build/checkpoints").glob("*/*/0/*.safetensors"))
    return {f"{file.parts[-4]}-{file.parts[-3]}": int(file.name.partition("-")[0]) for file in found}


@pytest.mark.parametrize(
    ("address", "gpus", "kind", "why"),
    [
        ("ray://10.0.0.1:10001", None, SettingsError, "start the grid on a machine of the cluster"),
        ("127.0.0.1:1", None, cluster.ClusterError, "--address is 127.0.0.1:1, where no Ray can be joined: .*refused"),
        (None, 1.5, SettingsError, "--gpus is 1.5; allowed: a part of one, such as 0.25, or a whole number"),
    ],
)
def test_what_cannot_be_joined_is_told(address: str | None, gpus: float | None, kind: type[Exception], why: str):
    with pytest.raises(kind, match=why), cluster.joined(address, None, gpus, ["train@a-1"]):
        pass
