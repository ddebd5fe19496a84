"""From raw text to tables, submission files and MLflow, as `dvc repro` does it, on a very small setting."""

import hashlib
import json
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from pipeline import tracked
from pipeline.small import Project, small

from mtbert.machine import locking

CATALOG = {
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
}
SECRETS = {
    "MLFLOW_TRACKING_PASSWORD": "s3cret-1",
    "MLFLOW_TRACKING_TOKEN": "s3cret-2",
    "AWS_ACCESS_KEY_ID": "s3cret-3",
    "AWS_SECRET_ACCESS_KEY": "s3cret-4",
    "AWS_SESSION_TOKEN": "s3cret-5",
    "HF_TOKEN": "s3cret-6",
}
VOTE = {"vote": {"paper": "pals-for-pals", "row": "PALs ensemble", "members": ["pals", "apart"]}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("whole") / "project", **small(CATALOG, ensembles=VOTE))
    made.output = made.run("-m", "dvc", "repro", MTBERT_LIVE="on", **SECRETS)  # type: ignore[attr-defined]
    assert made.output.returncode == 0, made.output.stdout[-6000:]  # type: ignore[attr-defined]
    return made


def runs_in_mlflow(root: Path) -> list[tuple[str, str]]:
    """(name, status) of every run that is not deleted."""
    return sorted(tracked.rows(root / "mlflow.db", "SELECT name, status FROM runs WHERE lifecycle_stage = 'active'"))


def test_the_report_has_every_row_that_ran(project: Project):
    folder = project.root / "build/report"
    page = (folder / "README.md").read_text()
    rows = ("Pals for PALs, table 1", "Fine-tuned BERT", "Original PALs", "SBERT PALs", "`vote`")
    assert [row for row in rows if row not in page] == []
    assert set(json.loads((folder / "summary.json").read_text())) == {"bert-sst", "pals", "apart", "vote"}
    assert (project.root / "build/submissions/vote/1/sst-test-output.csv").is_file()
    assert "Original PALs" in project.output.stdout  # type: ignore[attr-defined]


def test_dvc_warns_of_no_empty_folder(project: Project):
    assert "is empty" not in project.output.stdout  # type: ignore[attr-defined]
    assert (project.root / "build/merged/nothing.txt").is_file()


def test_dvc_shows_plots(project: Project):
    drawn = project.run("-m", "dvc", "plots", "show", "--json")
    assert drawn.returncode == 0, drawn.stdout
    assert "dev-scores" in drawn.stdout


def test_every_run_stands_in_mlflow_once_and_complete(project: Project):
    baselines = [f"{name} seed 0" for name in ("baseline-embeddings", "baseline-majority", "baseline-tfidf")]
    names = ["apart seed 1", *baselines, "bert-sst seed 1", "pals seed 1", "untrained-encoder seed 0", "vote seed 1"]
    assert runs_in_mlflow(project.root) == [(name, "FINISHED") for name in names]
    query = "SELECT DISTINCT key FROM metrics JOIN runs USING (run_uuid) WHERE name = 'pals seed 1'"
    found = {key for (key,) in tracked.rows(project.root / "mlflow.db", query)}
    assert {"final/dev/sst", "final/dev/overall_raw", "loss/sst", "learning_rate", "dev/sst"} <= found


def test_no_credentials_of_the_environment_are_kept(project: Project):
    root = project.root
    places = [*root.glob("build/**/*"), root / "dvc.lock", root / "mlflow.db"]
    written = [path for path in places if path.is_file()]
    assert len(written) > 50
    assert [path for path in written if b"s3cret" in path.read_bytes()] == []
    assert "s3cret" not in project.output.stdout  # type: ignore[attr-defined]


def test_what_another_process_has_just_finished_is_taken_over_and_else_is_trained(project: Project):
    """As a training whose DVC was killed, and which goes on beside the next start."""
    lock, run = project.root / "build/locks/bert-sst/1.lock", project.root / "build/runs/bert-sst/1"
    weights = run / "model.safetensors"

    def started_beside(end: Callable[[], None]) -> str:
        with locking.exclusive(lock, "test"):
            training = project.start("stages/train.py", "bert-sst", "1", PYTHONPATH="src", MTBERT_LIVE="off")
            assert training.stdout is not None
            first = training.stdout.readline()
            assert first.startswith("training bert-sst, seed 1: already running"), first
            end()
        rest, _ = training.communicate(timeout=120)
        assert training.returncode == 0, rest
        return rest

    before = (weights.stat().st_ino, weights.read_bytes())
    assert started_beside(lambda: None).startswith("dev: sst ")
    assert (weights.stat().st_ino, weights.read_bytes()) == before
    left = project.root / "build/checkpoints/bert-sst/1/checkpoint.safetensors"
    left.parent.mkdir(parents=True)
    left.touch()
    assert "steps on sst" in started_beside(weights.unlink)  # what it left is not whole
    assert weights.read_bytes() == before[1]
    assert not (project.root / "build/checkpoints/bert-sst/1").exists()


def test_ctrl_c_stops_at_once_and_leaves_a_checkpoint_alone(project: Project):
    plan = yaml.safe_load((project.root / "build/plan/bert-sst.yaml").read_text())
    plan["variant"], plan["phases"][0]["epoch_length"] = "long", "1000000 steps"
    (project.root / "build/plan/long.yaml").write_text(yaml.safe_dump(plan))
    manifest = json.loads((project.root / "build/manifest/bert-sst.json").read_text())
    manifest["settings"] = {key: value for key, value in plan.items() if key != "sources"}
    (project.root / "build/manifest/long.json").write_text(json.dumps(manifest))
    before = sorted(project.root.glob("build/*/*"))
    with project.start("stages/train.py", "long", "1", PYTHONPATH="src", MTBERT_LIVE="off") as training:
        assert training.stdout is not None
        told = ""
        while not re.search(r"[1-9]\d*/1000000 \[", told):  # a step is done; the line is not ended
            told += (character := training.stdout.read(1))
            assert character, "it ended"
        training.send_signal(signal.SIGINT)
        rest, _ = training.communicate(timeout=60)
    assert training.returncode == 130, rest
    assert "stopped; the same command goes on from here" in rest
    assert len(list(project.root.glob("build/checkpoints/long/1/*.safetensors"))) == 1
    assert sorted(project.root.glob("build/*/*")) == sorted(
        [*before, project.root / "build/checkpoints/long", project.root / "build/locks/long"]
    )
    for name in ("plan/long.yaml", "manifest/long.json"):
        (project.root / "build" / name).unlink()


def test_an_altered_object_of_the_cache_is_refused_and_mended_by_what_the_message_says(project: Project):
    """DVC restores it as if it were whole."""
    collect = ("stages/collect.py", "build", "build/aside")
    run, cache = project.root / "build/runs/bert-sst/1", project.root / ".dvc/cache/files/md5"
    whole = (run / "metrics.json").read_bytes()
    digest = hashlib.md5(whole, usedforsecurity=False).hexdigest()
    kept = cache / digest[:2] / digest[2:]
    kept.chmod(0o644)
    kept.write_bytes(whole.replace(b"0.", b"0.9", 1))
    kept.chmod(0o444)
    shutil.rmtree(run)
    assert project.dvc("repro", "train") == []  # nothing trains: DVC restores what it holds
    assert (run / "metrics.json").read_bytes() != whole
    refused = project.run(*collect, PYTHONPATH="src")
    assert refused.returncode == 1
    (command,) = re.findall(r"is not as it was written \(altered: metrics.json\); `([^`]+)`", refused.stdout)
    assert command == "rm -r build/runs/bert-sst/1 && chmod -R u+w .dvc/cache && dvc repro train@bert-sst-1"
    mended = project.run("-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1], shell=True))", command)
    assert mended.returncode == 0, mended.stdout
    assert project.run(*collect, PYTHONPATH="src").returncode == 0
    shutil.rmtree(run)
    assert project.dvc("repro", "train") == []
    assert (run / "metrics.json").read_bytes() == whole  # the cache, too, is whole again
