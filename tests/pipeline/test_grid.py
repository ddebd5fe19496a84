"""`make grid` beside `dvc repro`."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import yaml
from pipeline.stubs import Stubs, told, wait_for

from mtbert import files, locking, machine, repository
from mtbert.errors import SettingsError
from mtbert.grid import cluster, needs, run, sending
from mtbert.parcels import parcel


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
    """One training fails, another is killed, and the third trains."""
    project.forget("train@a-1", "train@b-2", "train@c-1")
    (project.root / "told/a-1.fail").touch()
    project.hold("b-2")
    with project.start_grid("--jobs", "2") as process:
        wait_for(lambda: project.process("b-2") is not None)
        training = project.process("b-2")
        assert training is not None
        training.kill()
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 1
    assert sorted(told(output)) == ["a-1: failed", "b-2: failed", "c-1: trained"]
    assert output.splitlines()[-3] == "error: 2 of 3 failed, the others are recorded"
    assert sorted(output.splitlines()[-2:]) == ["  a-1: build/grid/a-1.log", "  b-2: build/grid/b-2.log"]
    assert "the loss is not finite" in (project.root / "build/grid/a-1.log").read_text()
    assert (
        "it was killed, as a system does that runs out of memory" in (project.root / "build/grid/b-2.log").read_text()
    )
    assert project.recorded() == {"a-2", "b-1", "c-1", "c-2"}
    (project.root / "told/a-1.fail").unlink()
    project.go_on()


def test_stopped_half_way_all_ends_and_what_had_ended_is_recorded(project: Stubs):
    project.forget("train@a-1", "train@b-2", "train@c-1")
    project.hold("a-1", "c-1")
    with project.start_grid("--jobs", "2") as process:
        wait_for(lambda: project.process("c-1") is not None)  # in the place of b-2
        running = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    wait_for(lambda: not any(left.is_running() for left in running), 10)
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
    monkeypatch.setattr(repository, "DVC", (sys.executable, "-c", ""))
    with pytest.raises(SettingsError, match=r"params.yaml: launch is 'torchrun --nproc-per-node 4'"):
        run.run(2)
    project.edit(launch="python")


def test_the_longest_go_first_after_those_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("short/1", 10.0), ("long-one/1", 30.0), ("short/2", 20.0)):
        files.write_json(tmp_path / f"build/logs/{name}/0123456789ab/run.json", {"seconds": seconds})
    stages = ["train@short-3", "train@long-one-2", "train@new-1"]
    assert needs.longest_first(stages) == ["train@new-1", "train@long-one-2", "train@short-3"]


def test_each_worker_has_a_gpu_and_they_share_where_there_are_too_few(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, 6")
    assert [share["CUDA_VISIBLE_DEVICES"] for share in machine.shares(3)] == ["4", "6", "4"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert machine.shares(2) == [{}, {}]


@pytest.mark.parametrize(
    ("stages", "jobs", "cores", "threads"),
    [
        (["train@a-1", "train@a-2"], 2, 4, None),  # 2 x 2 fit
        (["train@a-1", "train@a-2"], 2, 2, 1),
        (["train@a-1", "train@a-2"], 1, 2, None),
        (["train@a-1"], 8, 2, None),  # one alone has all cores
        (["train@a-1", "train@big-1"], 2, 6, 3),  # the one with 4 does not fit
        (["train@a-1", "train@a-2", "train@a-3"], 8, 2, 1),
        ([], 2, 2, None),
    ],
)
def test_trainings_with_more_threads_than_cores_get_fewer_by_a_setting(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stages: list[str],
    jobs: int,
    cores: int,
    threads: int | None,
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    files.write_yaml(tmp_path / "build/plan/a.yaml", {"run": {"threads": 2}})
    files.write_yaml(tmp_path / "build/plan/big.yaml", {"run": {"threads": 4}})
    assert needs.fewer_threads(stages, jobs) == threads
    assert (f"run.threads becomes {threads} in params.yaml" in capsys.readouterr().out) == (threads is not None)


def test_the_number_of_threads_is_set_in_params_and_dvc_repro_then_finds_nothing_to_train(project: Stubs):
    before = (project.root / "params.yaml").read_text()
    project.edit(run=yaml.safe_load(before)["run"] | {"threads": 64})
    project.commit()
    assert project.grid("--jobs", "2")[0] == 0
    assert yaml.safe_load((project.root / "params.yaml").read_text())["run"]["threads"] == max(1, machine.cores() // 2)
    assert project.dvc("repro") == []
    (project.root / "params.yaml").write_text(before)


def test_a_second_grid_says_who_runs_and_waits(project: Stubs):
    project.forget("train@a-1")
    project.hold("a-1")
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(project.start_grid("--jobs", "2"))
        wait_for(lambda: project.process("a-1") is not None)
        second = stack.enter_context(project.start_grid("--jobs", "2"))
        assert second.stdout is not None
        told_first = second.stdout.readline() if second.poll() is None else ""
        project.go_on()
        outputs = [process.communicate(timeout=300)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    assert told_first.startswith(f"grid: process {first.pid} on ")
    assert told_first.endswith("is at it; waiting until that ends\n")
    assert [told(output) for output in outputs] == [["a-1: trained"], []]


def runs(process: psutil.Process) -> bool:
    """Whether it does, and is not one that has ended and whose new parent does not ask for it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def test_a_killed_grid_leaves_no_training_running_and_the_next_one_trains(project: Stubs):
    project.forget("train@a-1", "train@b-1")
    project.hold("a-1", "b-1")
    with project.start_grid("--jobs", "2") as killed:
        wait_for(lambda: project.process("a-1") is not None and project.process("b-1") is not None)
        left = [process for name in ("a-1", "b-1") if (process := project.process(name))]
        killed.kill()
    wait_for(lambda: not any(runs(process) for process in left), 60)
    assert len(left) == 2
    project.go_on()
    assert project.grid("--jobs", "2") == (0, ["a-1: trained", "b-1: trained"])


def test_what_was_placed_and_not_recorded_is_recorded_and_not_trained_again(project: Stubs):
    one = (project.root / "build/runs/a/1/scores").stat().st_ino
    project.forget("train@a-1")
    with contextlib.chdir(project.root):
        files.write_json(project.root / "build/grid/placed/a-1.json", parcel.of("a", 1).model_dump())
    assert project.grid("--jobs", "2") == (0, ["a-1: restored"])
    assert (project.root / "build/runs/a/1/scores").stat().st_ino == one
    assert "a-1" in project.recorded()


def test_a_note_of_a_run_from_other_settings_is_no_reason_to_record_it(project: Stubs):
    with contextlib.chdir(project.root):
        noted = parcel.of("a", 1)
        for one in (noted, noted.model_copy(update={"script": "0" * 64})):
            files.write_json(project.root / "build/grid/placed/a-1.json", one.model_dump())
            assert sending.in_place(["train@a-1", "train@a-2"]) == ([noted] if one == noted else [])


def test_ray_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        cluster.ClusterError, match=r"need Ray, which is not installed: pip install 'mtbert\[pipeline\]'"
    ):
        run.run(2)


@pytest.mark.parametrize(
    ("jobs", "gpus", "part"), [(4, 2, 0.5), (3, 2, 0.5), (2, 2, 1), (1, 4, 1), (2, 0, 0), (8, 2, 0.25)]
)
def test_gpus_are_shared_where_there_are_too_few(jobs: int, gpus: int, part: float):
    assert needs.part_of_gpu(jobs, gpus) == part


def test_a_ray_of_its_own_refuses_who_lacks_its_token_and_leaves_none_behind(project: Stubs, tmp_path: Path):
    """It listens on all of the machine's addresses; a token in ~/.ray would be demanded of `ray start` from then on."""
    project.forget("train@a-1")
    project.hold("a-1")
    with project.start_grid(RAY_AUTH_MODE="disabled", HOME=str(tmp_path)) as process:
        wait_for(lambda: project.process("a-1") is not None)
        servers = [one for one in psutil.Process(process.pid).children(recursive=True) if one.name() == "gcs_server"]
        port = next(one.laddr.port for one in servers[0].net_connections() if one.status == psutil.CONN_LISTEN)
        stranger = [sys.executable, "-c", f"import ray; ray.init(address='127.0.0.1:{port}')"]
        joined = subprocess.run(stranger, capture_output=True, text=True, check=False)
        project.go_on()
        process.communicate(timeout=300)
    assert joined.returncode == 1
    assert "Failed to connect to Ray cluster" in joined.stderr
    assert process.returncode == 0
    assert not (tmp_path / ".ray").exists()


def test_a_training_has_what_it_starts_to_log_live(project: Stubs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its own imports do not lead there, and the plan says what its run is called."""
    sent = {file.read_text() for file in (project.root / "told").glob("*.live")}
    assert sent == {f"{sending.LIVE} {sending.CATALOG}"}
    monkeypatch.chdir(Path(__file__).parents[2])
    for file in parcel.code(sending.LIVE):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, tmp_path / file)
    script = "import mtbert.tracking.store, mtbert.tracking.live as live; print(live.__file__)"
    environment = os.environ | {"PYTHONPATH": "src", "MLFLOW_DISABLE_TELEMETRY": "true"}
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert found.stdout == f"{tmp_path / sending.LIVE}\n", found.stderr


def test_a_grid_that_waits_can_be_stopped(project: Stubs):
    with locking.alone(project.root / repository.LOCK, "test"), project.start_grid("--jobs", "2") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"grid: process {os.getpid()} on ")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130


def test_a_training_is_told_from_an_editor_and_from_other_commands_of_dvc():
    assert repository.is_training(["/usr/bin/python3", "stages/train.py", "a", "1"])
    assert not repository.is_training(["vim", "stages/train.py"])
    assert repository.is_dvc(["/usr/bin/python3", "/home/me/.venv/bin/dvc", "repro", "train@a-1"])
    assert repository.is_dvc(["python", "-m", "dvc", "--wait-for-lock", "exp", "run", "-S", "pals.dim=12"])
    assert not repository.is_dvc(["python", "-m", "dvc", "exp", "show"])
    assert not repository.is_dvc(["git", "log", "dvc", "repro"][:2])
