"""Trainings packed, run where there is no DVC, no MLflow and no repository, and taken back: `dvc repro` trains none.

They are of profile `modern`, from a ModernBERT of random weights in a folder: so the pipeline is tested with another
architecture than BERT's, too.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import architectures
import pandas as pd
import pytest
import yaml
from elsewhere import snapshot
from pipeline.small import REPOSITORY, SMALL, Project, small

from mtbert import files, layout
from mtbert.pretrained import folders

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


def modern() -> dict[str, Any]:
    """The profile, with steps so few that a training takes seconds."""
    whole = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))["profiles"]["modern"]
    changes = {"encoder": {"name": "./models/mine"}, **{part: SMALL[part] for part in ("training", "run", "mlp")}}
    return whole | {part: whole.get(part, {}) | values for part, values in changes.items()}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two trainings, packed; `bare/sitecustomize.py` makes each Python that sees it a bare one."""
    chosen = small({"plain": HEAD}, seeds=[1, 2], profile="modern", profiles={"modern": modern()})
    made = Project(tmp_path_factory.mktemp("packs") / "project", **chosen)
    architectures.folder("modernbert", made.root / "models/mine")
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


def test_the_plan_the_card_and_each_runs_log_state_the_digest_of_a_folder_that_is_named_without_one(
    project: Project,
):
    build, digest = project.root / "build", folders.digest(project.root / "models/mine")
    assert files.read_yaml(build / "plan/encoder.yaml")["revision"] == digest
    assert files.read_json(build / "encoders/base/encoder.json")["source"] == f"a folder whose digest is {digest}"
    assert project.run("stages/train.py", "plain", "1", PYTHONPATH="src", MTBERT_LIVE="off").returncode == 0
    assert files.read_json(layout.log(layout.run(build, "plain", 1)) / layout.LOG)["encoder_revision"] == digest


def test_it_predicts(project: Project, tmp_path: Path):
    """By the run that the test above trained."""
    out = tmp_path / "predicted.csv"
    done = mtbert(project, "predict", "plain", "--seed", "1", "--out", str(out), "a fine film .", "a dull one .")
    assert done.returncode == 0, done.stdout
    assert pd.read_csv(out)["text"].tolist() == ["a fine film .", "a dull one ."]
    assert pd.read_csv(out).filter(like="probability").sum(axis=1).to_list() == pytest.approx([1.0, 1.0], abs=1e-5)


def test_dvc_sees_that_a_file_of_the_encoders_folder_has_changed(project: Project):
    assert project.dvc("repro", "encoder") == []
    with (project.root / "models/mine/tokenizer.json").open("a") as file:
        file.write(" ")
    assert project.dvc("repro", "encoder") == ["plan", "encoder"]
    revision = files.read_yaml(project.root / "build/plan/encoder.yaml")["revision"]
    assert revision == folders.digest(project.root / "models/mine")
    catalog = files.read_yaml(project.root / "build/plan/catalog.yaml")
    assert catalog["encoder"]["revision"] == revision
