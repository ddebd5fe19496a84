"""What trains again, and what does not: the whole point of the pipeline. One project, changed step by step."""

from pathlib import Path

import pytest
from pipeline.conftest import CATALOG
from pipeline.small import Project

EVERY = ["apart-1", "bert-sst-1", "pals-1", "smart-1"]


@pytest.fixture(scope="module", autouse=True)
def committed(project: Project) -> None:
    """Each test starts from these settings and this code, all trained."""
    assert project.trained() == []
    project.commit()


@pytest.fixture(autouse=True)
def as_at_first(project: Project):
    yield
    project.git("checkout", "-q", "--force", "HEAD")


def to_train(project: Project) -> list[str]:
    """The trainings that `dvc repro` would start, once the stages before them have run."""
    project.dvc("repro", "init")
    return sorted(
        stage.removeprefix("train@") for stage in project.dvc("repro", "--dry", "train") if stage.startswith("train@")
    )


def test_a_setting_of_a_technique_trains_its_users_that_do_not_set_it_themselves(project: Project):
    assert project.trained("-S", "pals.dim=8") == ["apart-1", "pals-1"]
    project.git("checkout", "-q", "--force", "HEAD")
    assert project.trained() == []  # back to the earlier value: restored from the run cache
    assert "dim: 12" in (project.root / "build/runs/pals/1/settings.yaml").read_text()


def test_a_variants_own_setting_and_another_seed_train_that_variant(project: Project):
    project.edit(catalog=CATALOG | {"smart": CATALOG["smart"] | {"pals": {"dim": 8}}})
    assert to_train(project) == ["smart-1"]
    project.git("checkout", "-q", "--force", "HEAD")
    project.edit(seeds=[1, 2], variants=["bert-sst"], ensembles={})
    assert to_train(project) == ["bert-sst-2"]


def test_a_comment_and_an_edit_of_the_report_train_nothing(project: Project):
    for name in ("training/objectives/smart.py", "training/loop.py"):
        project.append(f"src/mtbert/{name}", "\n# edited\n")
    for name in ("report/beside.py", "tracking/live.py"):
        project.append(f"src/mtbert/{name}", "\nEDITED = 1\n")
    assert project.trained() == []


@pytest.mark.parametrize(("name", "trained"), [("objectives/smart.py", ["smart-1"]), ("loop.py", EVERY)])
def test_an_edit_of_a_technique_trains_its_users_and_one_of_the_loop_everything(
    project: Project, name: str, trained: list[str]
):
    project.append(f"src/mtbert/training/{name}", "\nEDITED = 1\n")
    assert to_train(project) == trained


def test_a_fault_in_the_settings_stops_before_anything(project: Project):
    file = Path(project.root, "params.yaml")
    file.write_text(file.read_text().replace("dim: 12", "dim: 13"))
    done = project.run("-m", "dvc", "repro", "train")
    assert done.returncode != 0
    assert ": pals: dim is 13 and heads 2, which does not divide it" in done.stdout
    assert "Running stage 'train" not in done.stdout


def test_a_setting_of_a_pretraining_trains_those_that_start_from_it(project: Project):
    ran = project.dvc("exp", "run", "-S", "pretrain.sbert.max_pairs=20", "train")
    assert [stage for stage in ran if "@" in stage] == ["pretrain@sbert", "train@apart-1"]
