"""What tests of the pipeline start from, each made once."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from pipeline.small import SECRETS, Project, small

CATALOG: dict[str, Any] = {
    "bert-sst": {"paper": "pals-for-pals", "row": "Fine-tuned BERT", "tasks": ["sst"]},
    "pals": {"paper": "pals-for-pals", "row": "Original PALs", "uses": ["pals"]},
    "apart": {
        "paper": "pals-for-pals",
        "row": "SBERT PALs",
        "uses": ["pals", "sbert"],
        "model": {
            "pair_encoding": "bi",
            "pooling": {"sst": "cls", "qqp": "mean", "sts": "mean"},
            "heads": {"qqp": "squared_cosine", "sts": "squared_cosine"},
        },
    },
    "smart": {
        "paper": "pals-for-pals",
        "row": "SMART PALs",
        "tasks": ["sst"],
        "uses": ["pals", "smart"],
        "pals": {"dim": 6},
    },
}
VOTE = {"vote": {"paper": "pals-for-pals", "row": "PALs ensemble", "members": ["pals", "apart"]}}


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without runs, to copy: creation takes seconds."""
    from mtbert.tracking import store

    file = tmp_path_factory.mktemp("empty") / "mlflow.db"
    store.create(file, f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def trained_project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A project after `dvc repro`, to copy; what that printed lies in `output`. All workers of xdist share it."""
    base = tmp_path_factory.getbasetemp()
    base = base if worker_id == "master" else base.parent
    root = base / "trained/project"
    with FileLock(base / "trained.lock"):
        if not (root.parent / "output").exists():
            made = Project(root, **small(CATALOG, ensembles=VOTE))
            done = made.run("-m", "dvc", "repro", MTBERT_LIVE="on", **SECRETS)
            assert done.returncode == 0, done.stdout[-6000:]
            (root.parent / "output").write_text(done.stdout)
    return root


@pytest.fixture(scope="module")
def project(trained_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of that project for the tests of one file."""
    root = tmp_path_factory.mktemp("copy") / "project"
    shutil.copytree(trained_project, root, symlinks=True)
    return Project.at(root)
