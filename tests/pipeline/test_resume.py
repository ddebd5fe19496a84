"""A run that is killed goes on where it was, and ends as one that was not, for every technique."""

import multiprocessing
import os
import signal
from multiprocessing import forkserver
from pathlib import Path

import pytest
import survivor
from runs import saved

from mtbert import files, layout

TESTS = Path(__file__).parents[1]
SAME = ("model.safetensors", "history.csv", "metrics.json", "predictions/sst-dev.parquet", "embeddings.safetensors")


@pytest.fixture(scope="module")
def server():
    """Forks a process that has imported everything, so that a training starts in a moment."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["survivor"])
    with pytest.MonkeyPatch.context() as patch:  # Python 3.11's server does not take over sys.path
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (TESTS, TESTS.parent / "src"))))
        forkserver.ensure_running()
    return context


def run(server, folder: Path, technique: str, *blows: tuple[int, str, int]) -> int | None:
    child = server.Process(target=survivor.train, args=(folder, technique, *blows))
    child.start()
    child.join(120)
    return child.exitcode


def trained(folder: Path) -> dict[int, str]:
    """The mean loss and the examples of each update, by step; of a step that was made again, the last time."""
    lines = (folder / "trained.txt").read_text().splitlines()
    return {int(line.split()[0]): line for line in lines}


def assert_same(folder: Path, whole: Path) -> None:
    for name in SAME:
        assert files.sha256(folder / "run" / name) == files.sha256(whole / "run" / name), name
    assert trained(folder) == trained(whole)
    assert sorted(trained(whole)) == list(range(1, 17))
    assert files.read_json(folder / "logs" / layout.log_key(folder / "run") / "run.json")["resumed"] > 0
    assert not (folder / "checkpoints").exists()


@pytest.mark.parametrize("technique", survivor.TECHNIQUES)
def test_kills_change_nothing(tmp_path: Path, server, technique: str):
    assert run(server, tmp_path / "whole", technique) == 0
    for step, where in survivor.DEATHS if technique == survivor.EVERYWHERE else [(11, "forward")]:
        assert run(server, tmp_path / "killed", technique, (step, where, signal.SIGKILL)) == -signal.SIGKILL, where
        assert not (tmp_path / "killed/run").exists()
    assert run(server, tmp_path / "killed", technique) == 0
    assert_same(tmp_path / "killed", tmp_path / "whole")


def test_stopping_saves_and_leaves_within_a_step(tmp_path: Path, server):
    assert run(server, tmp_path / "whole", survivor.EVERYWHERE) == 0
    stops = [
        (143, (3, "forward", signal.SIGTERM)),
        (130, (8, "evaluation of sts", signal.SIGINT)),
        (143, (11, "after the update", signal.SIGTERM), (11, "before it is renamed", signal.SIGINT)),
        (130, (16, "results", signal.SIGINT)),
    ]
    for status, *blows in stops:
        assert run(server, tmp_path / "stopped", survivor.EVERYWHERE, *blows) == status, blows
        step = blows[0][0]
        assert max(trained(tmp_path / "stopped")) == step
        assert saved(tmp_path / "stopped")["outcome"]["steps"] == step
    assert (tmp_path / "stopped/said.txt").read_text().count("stopped; the same command goes on from here") == 4
    assert run(server, tmp_path / "stopped", survivor.EVERYWHERE) == 0
    assert_same(tmp_path / "stopped", tmp_path / "whole")
    steps = [int(line.split()[0]) for line in (tmp_path / "stopped/trained.txt").read_text().splitlines()]
    assert steps == list(range(1, 17))  # none was made twice
