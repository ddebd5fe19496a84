"""One run on several processes: the same losses, one that writes, no orphan."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import psutil
import pytest
import torch
from models import small_model

from mtbert import files
from mtbert.training import assembly

TESTS = Path(__file__).parents[1]
INTERLEAVED = {
    "sampler": {"name": "interleaved"}, "gradients": {"name": "pcgrad"}, "weighting": {"name": "dynamic"},
}  # fmt: skip

FULL = {"sampler": {"name": "interleaved"}}
EACH = {
    "one task a step": {},
    "gradient surgery on all tasks": INTERLEAVED,
    "famo, cagrad": FULL | {"gradients": {"name": "cagrad"}, "weighting": {"name": "famo"}},
    "random weights, gradnorm": FULL | {"gradients": {"name": "gradnorm"}, "weighting": {"name": "random"}},
    "dynamic average": FULL | {"weighting": {"name": "dynamic_average"}, "epochs": 3},
}
KILLED = {"dropout": 0.1, "steps_per_epoch": 4, "objectives": [{"name": "simcse"}]}


def command(processes: int, folder: Path, phases: dict[str, dict]) -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    started = launcher if processes > 1 else []
    return [sys.executable, *started, str(TESTS / "worker.py"), str(folder), json.dumps(phases)]


def environment() -> dict[str, str]:
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}


def run(processes: int, folder: Path, phases: dict[str, dict]) -> Path:
    subprocess.run(command(processes, folder, phases), env=environment(), check=True, capture_output=True, text=True)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Each training on two processes at half the batch, and on one at the full batch."""
    # 12 training examples in batches of 8 make a second batch of 4; 10 make one of 2
    folder = tmp_path_factory.mktemp("processes")
    two, one = ({name: phase | {"batch_size": size} for name, phase in EACH.items()} for size in (4, 8))
    return run(2, folder / "two", two | {"killed": KILLED}), run(1, folder / "one", one)


@pytest.mark.parametrize("name", EACH)
def test_two_processes_at_half_the_batch_are_one_at_the_full_batch(trained: tuple[Path, Path], name: str):
    def history(folder: Path) -> pd.DataFrame:
        return pd.read_csv(folder / name / "run/history.csv", index_col=["phase", "step", "name"])

    two, one = map(history, trained)
    pd.testing.assert_frame_equal(two, one, atol=1e-5, rtol=0)
    for split in ("sst-dev", "sts-test"):
        frames = [pd.read_parquet(folder / name / f"run/predictions/{split}.parquet") for folder in trained]
        pd.testing.assert_frame_equal(*frames, atol=1e-4, rtol=0)


def test_a_killed_process_ends_the_job_without_an_orphan_and_the_next_one_goes_on(
    trained: tuple[Path, Path], tmp_path: Path
):
    job = command(2, tmp_path, {"killed": KILLED})
    killed = subprocess.run([*job, "7"], env=environment(), capture_output=True, text=True)
    assert killed.returncode != 0
    assert "Signal 9 (SIGKILL) received by PID" in killed.stderr
    assert [
        process for process in psutil.process_iter(["cmdline"]) if str(tmp_path) in (process.info["cmdline"] or [])
    ] == []
    assert not (tmp_path / "killed/run").exists()
    run(2, tmp_path, {"killed": KILLED})
    for name in ("history.csv", "model.safetensors", "metrics.json"):
        assert (tmp_path / "killed/run" / name).read_bytes() == (trained[0] / "killed/run" / name).read_bytes(), name
    log = tmp_path / "killed/logs" / files.log_key(tmp_path / "killed/run") / "run.json"
    assert files.read_json(log)["resumed"] == 1


def test_an_objectives_own_weights_start_alike_on_every_process_and_its_noise_does_not(monkeypatch: pytest.MonkeyPatch):
    built = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        built.append(assembly._objective({"name": "simcse_linear"}, small_model(), 1, 7, torch.device("cpu")))
    assert torch.equal(*(objective.weight for objective in built))
    assert not torch.equal(*(torch.rand(4, generator=objective.generator) for objective in built))
