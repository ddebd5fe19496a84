"""A run that is killed goes on where it was, and ends as one that was not: 12 kills in one run, for every technique."""

import multiprocessing
import os
import signal
from multiprocessing import forkserver
from pathlib import Path

import pytest
import survivor

from mtbert import files

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


def run(server, folder: Path, technique: str, death: tuple[int, str] | None = None) -> int | None:
    child = server.Process(target=survivor.train, args=(folder, technique, death))
    child.start()
    child.join(120)
    return child.exitcode


def trained(folder: Path) -> dict[int, str]:
    """The examples of each update, by step; of a step that was made again, the last time."""
    lines = (folder / "trained.txt").read_text().splitlines()
    return {int(line.split()[0]): line for line in lines}


@pytest.mark.parametrize("technique", survivor.TECHNIQUES)
def test_twelve_kills_change_nothing(tmp_path: Path, server, technique: str):
    assert run(server, tmp_path / "whole", technique) == 0
    for death in survivor.DEATHS:
        if death[1] == "accumulation" and technique in survivor.NOT_BY_EXAMPLE:
            death = (11, "forward")
        assert run(server, tmp_path / "killed", technique, death) == -signal.SIGKILL, death
        assert not (tmp_path / "killed/run").exists()
    assert run(server, tmp_path / "killed", technique) == 0
    for name in SAME:
        assert files.sha256(tmp_path / "killed/run" / name) == files.sha256(tmp_path / "whole/run" / name), name
    assert trained(tmp_path / "killed") == trained(tmp_path / "whole")
    assert sorted(trained(tmp_path / "whole")) == list(range(1, 17))
    assert files.read_json(tmp_path / "killed/logs/run.json")["resumed"] > 0
    assert not (tmp_path / "killed/checkpoints").exists()
