"""`make reproduce` beside `dvc repro`, on this machine."""

import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from pipeline.small import wait_for
from pipeline.stubs import Stubs, told

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.trainings import grid

NAMES = ["off", "12", "c"]  # which YAML may take for no names


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    """All trained, three at a time; the tests take it as the one before has left it."""
    made = Stubs(tmp_path_factory.mktemp("grid") / "project", catalog=NAMES)
    (long := tmp_path_factory.mktemp("long" * 25)).mkdir(exist_ok=True)  # longer than a socket's address may be
    outcome = made.grid("--jobs", "3", TMPDIR=str(long))
    assert outcome == (0, ["12-1: trained", "c-1: trained", "off-1: trained"])
    return made


def test_cache_and_lock_are_as_dvc_repro_leaves_them(project: Stubs, tmp_path: Path):
    one_by_one = Stubs(tmp_path / "project", catalog=NAMES)
    one_by_one.dvc("repro")
    locks = [yaml.safe_load((made.root / "dvc.lock").read_text()) for made in (project, one_by_one)]
    assert locks[0] == locks[1]
    assert project.cache() == one_by_one.cache()


def test_stopped_half_way_all_ends_and_what_had_ended_is_recorded(project: Stubs):
    project.forget("train@off-1", "train@12-1", "train@c-1")
    project.hold("off-1", "c-1")
    with project.start_grid("--jobs", "2", CUDA_VISIBLE_DEVICES="5") as process:
        wait_for(lambda: project.process("c-1") is not None)  # in the place of 12-1
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    assert {file.stem for file in (project.root / "told").glob("*.interrupted")} == {"off-1", "c-1"}
    assert project.recorded() == {"12-1"}
    project.go_on()


def test_the_whole_catalog_is_set_in_params_and_what_is_missing_made(project: Stubs):
    """Two were stopped above; the run cache has the third."""
    project.edit(variants=["c"])
    project.commit()
    (project.root / "build/runs/12/1/scores").unlink()
    with project.start_grid("--variants", "all") as process:
        output, _ = process.communicate()
    assert (process.returncode, sorted(told(output))) == (0, ["12-1: restored", "c-1: trained", "off-1: trained"])
    assert "dvc push" not in output  # there is no place to push to
    assert files.read_yaml(project.root / "params.yaml", aliases=True)["variants"] == NAMES
    assert project.git("for-each-ref", "refs/exps") == ""  # an experiment of it would have no scores
    assert (project.root / "build/runs/12/1/scores").exists()


def test_an_unknown_variant_is_refused_before_params_are_set(project: Stubs):
    before = (project.root / "params.yaml").read_bytes()
    with project.start_grid("--variants", "c d") as process:
        output, _ = process.communicate()
    assert (process.returncode, output) == (1, "error: unknown variant 'd'; known: off, 12, c\n")
    assert (project.root / "params.yaml").read_bytes() == before


def test_a_killed_grids_trainings_stop_and_the_next_one_trains_them(project: Stubs):
    project.forget("train@off-1", "train@12-1")
    project.hold("off-1")
    with project.start_grid() as killed:
        wait_for(lambda: project.process("off-1") is not None)
        training = project.process("off-1")
        killed.kill()
    assert isinstance(training, psutil.Process)
    training.wait(60)
    project.go_on()
    assert project.grid() == (0, ["12-1: trained", "off-1: trained"])
    assert {"12-1", "off-1"} <= project.recorded()


def test_beside_dvc_repro_it_is_told_who_runs(project: Stubs):
    project.forget("train@c-1")
    project.hold("c-1")
    with project.start("-m", "dvc", "repro", "train@c-1", PYTHONPATH="src") as repro:
        wait_for(lambda: project.process("c-1") is not None)
        with project.start_grid() as beside:
            output, _ = beside.communicate()
        project.go_on()
        repro.communicate()
    assert beside.returncode != 0
    assert f"(PID {repro.pid}): " in output
    assert "repro train@c-1" in output


def test_a_run_of_another_training_script_is_not_recorded(project: Stubs):
    project.append("stages/train.py", "\nCHANGED = 1\n")
    assert project.grid("--variants", "c") == (0, ["c-1: trained"])


@pytest.mark.parametrize("given", [{"gpus": 0.5}, {"storage": "/shared"}])
def test_what_a_grid_cannot_heed_is_refused(given: dict[str, Any]):
    with pytest.raises(SettingsError, match="--gpus"):
        grid.run(**given)
