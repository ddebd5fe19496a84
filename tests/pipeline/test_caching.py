"""What trains again, and what does not: the whole point of the pipeline. One project, changed step by step."""

from pathlib import Path

import pytest
from pipeline.small import Project, small

HEAD = {"paper": "mine", "row": "mine"}
CATALOG = {
    "plain": HEAD | {"tasks": ["sst"]},
    "pals": HEAD | {"tasks": ["sts"], "uses": ["pals"]},
    "smart": HEAD | {"tasks": ["sst"], "uses": ["pals", "smart"], "pals": {"dim": 6}},
    "sbert": HEAD | {"tasks": ["sst"], "uses": ["sbert"]},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Trained once; each test starts from these settings and this code."""
    made = Project(tmp_path_factory.mktemp("caching") / "project", **small(CATALOG))
    assert made.trained() == ["pals-1", "plain-1", "sbert-1", "smart-1"]
    made.commit()
    return made


@pytest.fixture(autouse=True)
def as_at_first(project: Project):
    yield
    project.git("checkout", "-q", "--force", "HEAD")


def test_a_setting_trains_the_users_that_do_not_set_it_themselves_and_what_was_before_trains_nothing(project: Project):
    """Neither do a comment, and an edit of report or tracking."""
    assert project.trained("-S", "pals.dim=8") == ["pals-1"]
    project.git("checkout", "-q", "--force", "HEAD")
    project.append("src/mtbert/learning/objectives/smart.py", "\n# edited\n")
    project.append("src/mtbert/training/loop.py", "\n# edited\n")
    project.append("src/mtbert/report/paper_tables.py", "\nEDITED = 1\n")
    project.append("src/mtbert/tracking/live.py", "\nEDITED = 1\n")
    assert project.trained() == []
    assert "dim: 12" in (project.root / "build/runs/pals/1/settings.yaml").read_text()


def test_an_edited_technique_and_another_pretraining_train_those_that_use_them(project: Project):
    project.append("src/mtbert/learning/objectives/smart.py", "\nEDITED = 1\n")
    ran = project.dvc("exp", "run", "-S", "pretrain.sbert.max_pairs=20", "train")
    assert sorted(stage for stage in ran if "train" in stage) == ["pretrain", "train@sbert-1", "train@smart-1"]


def test_longer_sequences_and_one_more_task_pretrain_nothing(project: Project):
    longer = project.dvc("exp", "run", "-S", "model.max_tokens=24", "train")
    assert "preprocess" in longer
    assert "pretrain" not in longer
    project.git("checkout", "-q", "--force", "HEAD")
    fewer = project.dvc("exp", "run", "-S", "variants=[plain,sbert]", "train")
    assert "preprocess" in fewer
    assert "pretrain" not in fewer


def test_an_edit_of_the_loop_trains_everything(project: Project):
    project.append("src/mtbert/training/loop.py", "\nEDITED = 1\n")
    assert project.trained("-S", "variants=[plain]") == ["plain-1"]


def test_a_fault_in_the_settings_stops_before_anything(project: Project):
    file = Path(project.root, "params.yaml")
    file.write_text(file.read_text().replace("dim: 12", "dim: 13"))
    done = project.run("-m", "dvc", "repro", "train")
    assert done.returncode != 0
    assert ": pals: dim is 13 and heads 2, which does not divide it" in done.stdout
    assert "Running stage 'train" not in done.stdout
