"""Trainings packed, run where there is no DVC, no MLflow and no repository, and taken back: `dvc repro` trains none."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from elsewhere import snapshot
from pipeline.small import Project, small

HEAD = {"paper": "mine", "row": "mine", "tasks": ["sst"]}
# What a bare machine has not: an import of it fails there as it does where it is not installed.
BARE = """
import importlib.machinery, runpy, sys
REFUSED = ("accelerate", "datasets", "dvc", "matplotlib", "mlflow", "nltk", "ray", "sentence_transformers", "sklearn",
    "statsmodels", "transformers", "typer")
class Refuser:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)
    def exec_module(self, module):
        pass
sys.meta_path.insert(0, Refuser())
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two trainings, packed; `bare/sitecustomize.py` makes each Python that sees it a bare one."""
    made = Project(tmp_path_factory.mktemp("packs") / "project", **small({"plain": HEAD}, seeds=[1, 2]))
    packed = mtbert(made, "pack", "pack.tar")
    assert packed.returncode == 0, packed.stdout[-4000:]
    assert "pack.tar: 2 trainings" in packed.stdout
    return made


def mtbert(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As `.venv/bin/mtbert`, with the environment not activated."""
    return project.run("-m", "mtbert", *arguments, PYTHONPATH="src", MTBERT_LIVE="off", PATH="/usr/bin:/bin")


def run_there(there: Path, *arguments: str) -> str:
    """`python mtbert-pack/run.py` on the bare machine."""
    (there / "bare").mkdir(exist_ok=True)
    (there / "bare/sitecustomize.py").write_text(BARE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_", "MLFLOW_"))}
    done = subprocess.run(
        [sys.executable, "mtbert-pack/run.py", *arguments],
        cwd=there,
        env=kept | {"PYTHONPATH": str(there / "bare"), "OMP_NUM_THREADS": "1"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_what_was_trained_elsewhere_is_recorded_and_nothing_trains_here(project: Project, tmp_path: Path):
    with tarfile.open(project.root / "pack.tar") as tar:
        tar.extractall(tmp_path, filter="data")
    assert "2 of 2 runs" in run_there(tmp_path, "--jobs", "2", "--out", str(project.root / "light.tar"))
    unpacked = mtbert(project, "unpack", "light.tar")
    assert unpacked.returncode == 0, unpacked.stdout[-4000:]
    assert "2 runs in place and recorded" in unpacked.stdout
    assert not (project.root / "build/runs/plain/1/model.safetensors").exists()
    shutil.rmtree(project.root / "build/runs")
    assert project.trained() == []
    assert (project.root / "build/runs/plain/1/elsewhere.json").exists()  # by the run cache
    run_there(tmp_path, "--weights", "--out", str(project.root / "runs.tar"))
    assert mtbert(project, "unpack", "runs.tar").returncode == 0
    brought = snapshot(project.root / "build/runs")
    shutil.rmtree(project.root / "build/runs/plain/1")
    project.run("stages/train.py", "plain", "1", PYTHONPATH="src")
    assert snapshot(project.root / "build/runs") == brought  # the same bytes as from a training here
