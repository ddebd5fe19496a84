"""What git and DVC's own commands do to finished runs: nothing trains that has been trained here.

The project's own dvc.yaml, its stages replaced by stubs.
"""

import hashlib
import subprocess
from pathlib import Path

import pytest
import yaml
from pipeline.stubs import Stubs

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.org")
ELSEWHERE = tuple(
    f"build/{name}" for name in ("machine.json", "manifest", "runs", "results", "judged", "report", "submissions")
)


def another_machine(lock: Path) -> None:
    """Make dvc.lock what a machine would have left whose scores differ."""
    content = yaml.safe_load(lock.read_text())
    for stage in content["stages"].values():
        for entry in stage.get("deps", []) + stage.get("outs", []):
            if entry["path"].startswith(ELSEWHERE):
                digest, kind, _ = entry["md5"].partition(".dir")
                entry["md5"] = hashlib.md5(digest.encode()).hexdigest() + kind
    lock.write_text(yaml.safe_dump(content, sort_keys=False))


def trained(ran: list[str]) -> list[str]:
    return [stage for stage in ran if stage.startswith(("train@", "pretrain"))]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    """Trained once, with the dvc.lock of another machine committed."""
    made = Stubs(tmp_path_factory.mktemp("git") / "project", variants=["a"])
    assert trained(made.dvc("repro")) == ["pretrain", "train@a-1"]
    assert made.git("status", "--porcelain", ".", ":!told") == "?? dvc.lock\n"
    another_machine(made.root / "dvc.lock")
    made.commit()
    return made


def test_after_git_has_put_another_lock_back_nothing_trains(project: Stubs):
    lock = project.root / "dvc.lock"
    assert trained(project.dvc("repro")) == []
    own = lock.read_bytes()
    for command in (("checkout", "."), ("stash",)):
        project.git(*IDENTITY, *command)
        assert lock.read_bytes() != own
        assert trained(project.dvc("repro")) == []
        assert lock.read_bytes() == own


def test_stashed_settings_come_back_over_the_lock_that_dvc_wrote_meanwhile(project: Stubs):
    """It has one digest of all of build/runs, of seed 2 as well, which is not selected while the settings are away."""
    assert trained(project.dvc("exp", "run", "-S", "seeds=[1,2]")) == ["train@a-2"]
    project.git(*IDENTITY, "stash")
    assert trained(project.dvc("repro")) == []
    with pytest.raises(subprocess.CalledProcessError):
        project.git("stash", "pop")
    project.git("checkout", "dvc.lock")
    project.git("stash", "pop")
    assert trained(project.dvc("repro")) == []
    project.git("checkout", ".")


def test_what_dvc_checkout_takes_away_comes_back_untrained(project: Stubs):
    """DVC takes away what differs from dvc.lock; where that is another machine's, its cache cannot give it back."""
    run = project.root / "build/runs/a/1/scores"
    before = run.read_bytes()
    project.git("checkout", ".")
    assert "Checkout failed" in project.run("-m", "dvc", "checkout").stdout
    assert (project.root / "build/machine.json").exists()
    assert trained(project.dvc("repro")) == []
    assert run.read_bytes() == before


def test_a_repository_without_the_official_data_is_whole(project: Stubs):
    assert "Data and pipelines are up to date" in project.run("-m", "dvc", "status").stdout


def test_logs_and_what_dvc_draws_are_no_affair_of_git(project: Stubs):
    for name in ("build/logs/a/1/0123456789ab/run.json", "dvc_plots/index.html"):
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).touch()
        project.git("check-ignore", "-q", name)


def test_a_folder_of_any_name_is_one_word_to_the_shell(project: Stubs):
    folder = "two words; touch x $(touch x)"
    (project.root / "data" / folder).mkdir()
    (project.root / "data" / folder / "file").touch()
    before = (project.root / "params.yaml").read_text()
    project.edit(data_dir=f"data/{folder}")
    done = project.run("-m", "dvc", "repro", "preprocess")
    (project.root / "params.yaml").write_text(before)
    assert done.returncode == 0, done.stdout
    assert f"stages/preprocess.py 'data/{folder}' build/encoders/base" in done.stdout
    assert (project.root / "told/preprocess").read_text().splitlines()[1] == f"data/{folder}"
    assert not (project.root / "x").exists()
