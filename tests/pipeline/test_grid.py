"""`make grid` beside `dvc repro`: the project's own dvc.yaml, its stages replaced by stubs that take no time.

What the stubs meet and do beyond writing outputs goes through the folder `told`, which DVC does not know.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from pipeline.small import Project, small

from mtbert import files, grid
from mtbert.errors import SettingsError

HEAD = {"paper": "mine", "row": "mine", "tasks": ["sst"]}
STUB = """
import os, sys, time
from pathlib import Path
stage, told = Path(sys.argv[0]).stem, Path("told")
outs = {
    "plan": [f"build/plan/{name}.yaml" for name in
             ("a", "b", "c", "encoder", "needs", "catalog", "pretrain-sbert", "pretrain-mlm")],
    "encoder": ["build/encoders/base/tokenizer.json"],
    "preprocess": ["build/data/rows"],
    "pretrain": [f"build/encoders/{sys.argv[1]}/weights"],
    "init": [f"build/init/{name}.json" for name in "abc"],
    "train": [f"build/{kind}/{'/'.join(sys.argv[1:])}/scores" for kind in ("runs", "logs")],
    "ensemble": ["build/ensembles/scores"],
    "report": ["build/submissions/file", "build/report/page", "reports/summary.json", "reports/curves.csv"],
    "track": [],
}[stage]
if stage == "train":
    name = "-".join(sys.argv[1:])
    (told / f"{name}.gpu").write_text(os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    (told / f"{name}.pid").write_text(str(os.getpid()))
    try:
        while (told / f"{name}.hold").exists():
            time.sleep(0.05)
    except KeyboardInterrupt:
        (told / f"{name}.interrupted").touch()
        sys.exit(130)
    if (told / f"{name}.fail").exists():
        sys.exit("error: the loss is not finite")
for out in map(Path, outs):
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("{}" if out.suffix == ".json" else f"of {sys.argv}")
"""


# As a shell starts what is to run in the background: deaf to Ctrl-C, and so are its children by inheritance.
IN_BACKGROUND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
runpy.run_module("mtbert.grid", run_name="__main__")
"""


class Stubs(Project):
    """A project of three variants."""

    def __init__(self, root: Path, **params: Any) -> None:
        super().__init__(root, **small(dict.fromkeys("abc", HEAD), **params))
        for script in (root / "stages").iterdir():
            script.write_text(STUB)
        (root / "told").mkdir()
        self.commit()

    def grid(self, *arguments: str, **environment: str) -> tuple[int, list[str]]:
        """Its exit status and what it told of trainings."""
        with self.start_grid(*arguments, **environment) as process:
            output, _ = process.communicate()
        return process.returncode, sorted(told(output))

    @contextlib.contextmanager
    def start_grid(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The grid while it runs; stopped where the block fails."""
        variables = {"PYTHONPATH": "src", "CUDA_VISIBLE_DEVICES": ""} | environment
        with self.start("-c", IN_BACKGROUND, *arguments, **variables) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.terminate()

    def recorded(self) -> set[str]:
        lock = yaml.safe_load((self.root / "dvc.lock").read_text())
        return {stage.removeprefix("train@") for stage in lock["stages"] if stage.startswith("train@")}

    def cache(self) -> set[str]:
        return {str(file.relative_to(self.root)) for file in (self.root / ".dvc/cache").rglob("*") if file.is_file()}

    def forget(self, *stages: str) -> None:
        """Take trainings out of dvc.lock and the run cache, as if they had never been."""
        file = self.root / "dvc.lock"
        lock = yaml.safe_load(file.read_text())
        lock["stages"] = {name: entry for name, entry in lock["stages"].items() if name not in stages}
        file.write_text(yaml.safe_dump(lock, sort_keys=False))
        commands = [f"stages/train.py {stage[6]} {stage[8]}" for stage in stages]
        for run in (self.root / ".dvc/cache/runs").glob("*/*"):
            if any(command in entry.read_text() for entry in run.iterdir() for command in commands):
                shutil.rmtree(run)

    def hold(self, *names: str) -> None:
        """Let these trainings not end, and forget their process ids."""
        for name in names:
            (self.root / f"told/{name}.hold").touch()
            (self.root / f"told/{name}.pid").unlink(missing_ok=True)

    def go_on(self) -> None:
        for file in (self.root / "told").glob("*.hold"):
            file.unlink()

    def process(self, name: str) -> psutil.Process | None:
        """A training's own process, once it runs."""
        file = self.root / f"told/{name}.pid"
        return psutil.Process(int(text)) if file.exists() and (text := file.read_text()) else None


def told(output: str) -> list[str]:
    """Lines on trainings, without their times."""
    lines = [line.partition(" after ")[0] for line in output.splitlines()]
    return [line for line in lines if line.split(": ")[-1] in ("trained", "restored", "failed")]


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    """All trained, four at a time; the tests take it as the one before has left it."""
    made = Stubs(tmp_path_factory.mktemp("grid") / "project", seeds=[1, 2])
    names = [f"{variant}-{seed}" for variant in "abc" for seed in (1, 2)]
    assert made.grid("--jobs", "4", CUDA_VISIBLE_DEVICES="5,7") == (0, [f"{name}: trained" for name in names])
    return made


def test_cache_and_lock_are_as_dvc_repro_leaves_them(project: Stubs, tmp_path: Path):
    one_by_one = Stubs(tmp_path / "project", seeds=[1, 2])
    one_by_one.dvc("repro")
    locks = [yaml.safe_load((made.root / "dvc.lock").read_text()) for made in (project, one_by_one)]
    assert locks[0] == locks[1]
    assert project.cache() == one_by_one.cache()
    assert project.dvc("repro") == []


def test_gpus_are_given_in_turn_and_shared(project: Stubs):
    assert {file.read_text() for file in (project.root / "told").glob("*.gpu")} == {"5", "7"}


def test_what_fails_is_named_and_the_others_are_recorded(project: Stubs):
    """One training fails, of another DVC itself is killed, and the third trains."""
    project.forget("train@a-1", "train@b-2", "train@c-1")
    (project.root / "told/a-1.fail").touch()
    project.hold("b-2")
    with project.start_grid("--jobs", "2") as process:
        wait_for(lambda: project.process("b-2") is not None)
        training = project.process("b-2")
        assert training is not None
        next(parent for parent in training.parents() if "repro" in parent.cmdline()).kill()
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert sorted(told(output)) == ["a-1: failed", "b-2: failed", "c-1: trained"]
    assert output.splitlines()[-3] == "error: 2 of 3 failed, the others are recorded"
    assert sorted(output.splitlines()[-2:]) == ["  a-1: build/grid/a-1.log", "  b-2: build/grid/b-2.log"]
    assert "the loss is not finite" in (project.root / "build/grid/a-1.log").read_text()
    assert project.recorded() == {"a-2", "b-1", "c-1", "c-2"}
    wait_for(lambda: not training.is_running(), 10)
    (project.root / "told/a-1.fail").unlink()
    project.go_on()


def test_stopped_half_way_all_ends_and_what_had_ended_is_recorded(project: Stubs):
    project.forget("train@a-1", "train@b-2", "train@c-1")
    project.hold("a-1", "c-1")
    with project.start_grid("--jobs", "2") as process:
        wait_for(lambda: project.process("c-1") is not None)  # in the place of b-2
        running = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert [left for left in running if left.is_running()] == []
    interrupted = {file.stem for file in (project.root / "told").glob("*.interrupted")}
    assert interrupted == {"a-1", "c-1"}
    assert project.recorded() == {"a-2", "b-1", "b-2", "c-2"}
    project.go_on()


def test_the_whole_catalog_is_set_in_params_and_what_is_missing_made(project: Stubs):
    """Two were stopped above; the run cache has the third; the others are up to date."""
    project.edit(variants=["a"])
    project.commit()
    (project.root / "build/runs/b/1/scores").unlink()
    assert project.grid("--jobs", "2", "--variants", "all") == (0, ["a-1: trained", "b-1: restored", "c-1: trained"])
    assert yaml.safe_load((project.root / "params.yaml").read_text())["variants"] == ["a", "b", "c"]
    assert (project.root / "build/runs/b/1/scores").exists()


def test_several_processes_a_training_are_refused(project: Stubs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(project.root)
    project.edit(launch="torchrun --nproc-per-node 4")
    monkeypatch.setattr(grid, "DVC", (sys.executable, "-c", ""))
    with pytest.raises(SettingsError, match=r"params.yaml: launch is 'torchrun --nproc-per-node 4'"):
        grid.run(2)


def test_the_longest_go_first_after_those_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for run, seconds in (("short/1", 10.0), ("long-one/1", 30.0), ("short/2", 20.0)):
        files.write_json(tmp_path / f"build/logs/{run}/run.json", {"seconds": seconds})
    stages = ["train@short-3", "train@long-one-2", "train@new-1"]
    assert grid.longest_first(stages) == ["train@new-1", "train@long-one-2", "train@short-3"]


def test_each_worker_has_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    assert grid.shares(3) == [{"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "3"}] * 3
    assert grid.shares(16)[0]["OMP_NUM_THREADS"] == "1"
