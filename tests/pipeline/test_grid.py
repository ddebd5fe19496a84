"""`make grid` beside `dvc repro`, on this machine."""

import contextlib
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from pipeline.small import wait_for
from pipeline.stubs import Stubs, told

from mtbert.errors import SettingsError
from mtbert.scale import grid


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
    assert {file.read_text() for file in (project.root / "told").glob("*.gpu")} == {"5", "7"}


def test_stopped_half_way_all_ends_and_what_had_ended_is_recorded(project: Stubs):
    project.forget("train@a-1", "train@b-2", "train@c-1")
    project.hold("a-1", "c-1")
    with project.start_grid("--jobs", "2", CUDA_VISIBLE_DEVICES="5") as process:
        wait_for(lambda: project.process("c-1") is not None)  # in the place of b-2
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    assert {file.stem for file in (project.root / "told").glob("*.interrupted")} == {"a-1", "c-1"}
    assert project.recorded() == {"a-2", "b-1", "b-2", "c-2"}
    project.go_on()


def test_the_whole_catalog_is_set_in_params_and_what_is_missing_made(project: Stubs):
    """Two were stopped above; the run cache has the third; the others are up to date."""
    project.edit(variants=["a"])
    project.commit()
    (project.root / "build/runs/b/1/scores").unlink()
    assert project.grid("--variants", "all") == (0, ["a-1: trained", "b-1: restored", "c-1: trained"])
    assert yaml.safe_load((project.root / "params.yaml").read_text())["variants"] == ["a", "b", "c"]
    assert (project.root / "build/runs/b/1/scores").exists()


def test_a_second_grid_and_one_beside_dvc_repro_say_who_runs_and_wait(project: Stubs):
    project.forget("train@a-1", "train@b-1")
    project.hold("a-1")
    with contextlib.ExitStack() as stack:
        repro = stack.enter_context(project.start("-m", "dvc", "repro", "train@a-1", PYTHONPATH="src"))
        wait_for(lambda: project.process("a-1") is not None)
        first = stack.enter_context(project.start_grid())
        assert first.stdout is not None
        line = first.stdout.readline()
        assert line.startswith(f"process {repro.pid} runs here: ")
        assert line.endswith("dvc repro train@a-1; waiting until it ends\n")
        second = stack.enter_context(project.start_grid())
        assert second.stdout is not None
        assert second.stdout.readline().startswith("grid: another process is at it")
        project.go_on()
        outputs = [process.communicate(timeout=300)[0] for process in (repro, first, second)]
    assert (repro.returncode, first.returncode, second.returncode) == (0, 0, 0), outputs
    assert [told(output) for output in outputs[1:]] == [["b-1: trained"], []]


def test_the_trainings_of_a_killed_grid_stop_and_the_next_one_trains_them(project: Stubs):
    project.forget("train@a-1", "train@b-1")
    project.hold("a-1")
    with project.start_grid() as killed:
        wait_for(lambda: project.process("a-1") is not None)
        training = project.process("a-1")
        killed.kill()
    assert isinstance(training, psutil.Process)
    training.wait(60)
    project.go_on()
    assert project.grid() == (0, ["a-1: trained", "b-1: trained"])
    assert {"a-1", "b-1"} <= project.recorded()
    assert project.dvc("repro") == []


def test_a_run_of_another_training_script_is_not_recorded(project: Stubs):
    project.append("stages/train.py", "\nCHANGED = 1\n")
    assert project.grid("--variants", "a") == (0, ["a-1: trained", "a-2: trained"])


@pytest.mark.parametrize("given", [{"gpus": 0.5}, {"storage": "/shared"}])
def test_what_a_grid_cannot_heed_is_refused(given: dict[str, Any]):
    with pytest.raises(SettingsError, match="--gpus"):
        grid.run(**given)


def test_a_variant_may_have_any_name_that_dvc_takes_and_a_temporary_folder_a_long_one(tmp_path: Path):
    (long := tmp_path / ("long" * 25)).mkdir()  # longer than the address of a socket may be
    names = ["off", "12", "no", "2024-01-01"]
    made = Stubs(tmp_path / "project", catalog=names)
    made.edit(variants=["off"])
    made.commit()
    trained = sorted(f"{name}-1: trained" for name in names)
    outcome = made.grid("--jobs", "4", "--variants", " ".join(names), CUDA_VISIBLE_DEVICES="5", TMPDIR=str(long))
    assert outcome == (0, trained)
    assert made.dvc("repro") == []
