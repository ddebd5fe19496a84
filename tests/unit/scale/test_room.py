"""How many trainings a GPU holds, and how they come to share it."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from mtbert.config import resolve
from mtbert.config.params import Params
from mtbert.scale import room
from mtbert.training import evaluation

ROOT = Path(__file__).parents[3]
BERT_BASE, SHAPE = 109_482_240, {"num_hidden_layers": 12, "hidden_size": 768}
CATALOG = json.loads((ROOT / "benchmarks/results.json").read_text())["catalog"]["rows"]


@pytest.fixture(scope="module")
def paper() -> Params:
    return Params(ROOT / "params.yaml").put(("profile",), "paper").put(("pos", "tagger"), "shipped")


@pytest.mark.parametrize("row", CATALOG, ids=lambda row: row["variant"])
def test_the_rule_tells_at_least_what_a_variant_was_seen_to_need(
    paper: Params, row: dict, monkeypatch: pytest.MonkeyPatch
):
    """Of its steps, on a CPU: without CUDA's context, epochs that are kept, and predictions."""
    plan, _ = resolve.variant(paper, row["variant"])
    monkeypatch.setattr(evaluation, "GPU_BATCH", 0)
    needed = room.needed(plan | {"run": {"keep": "last"}}, BERT_BASE, SHAPE) - room.CONTEXT
    assert needed / room.GIB >= row["GiB"]


@pytest.mark.parametrize(
    ("run", "kept"),
    [
        ({"keep": "last", "selection": "whole"}, 0),
        ({"keep": "best", "selection": "whole"}, 4.6e9),
        ({"keep": "best", "selection": "half"}, 4.6e9),
    ],
)
def test_the_rule_counts_what_is_kept_and_predictions_where_no_step_needs_more(run: dict, kept: float):
    model = {"pair_encoding": "bi", "max_tokens": 512, "heads": {}}
    plan = {"model": model, "phases": [], "run": run}
    of_predictions = 256 * 2 * 512 * 768 * 24
    assert room.needed(plan, 10**9, SHAPE) == pytest.approx(0.6 * 2**30 + 18.4e9 + kept + of_predictions)


@pytest.fixture(autouse=True)
def no_service_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv(room.PIPE, raising=False)
    monkeypatch.setattr(room, "PLACE", str(tmp_path / "nvidia-mps"))


def test_weights_are_counted(tmp_path: Path):
    save_file({"a": torch.zeros(2, 3), "b": torch.zeros(4)}, tmp_path / "model.safetensors")
    assert room.weights(tmp_path) == 10


def fake(folder: Path, status: int) -> None:
    """A service's program that notes how it is called."""
    program = folder / room.MPS
    program.write_text(f'#!/bin/sh\necho "$@" "${room.PIPE}" $(cat) >> {folder}/calls\necho no >&2; exit {status}\n')
    program.chmod(0o755)


def test_the_service_runs_as_long_as_the_trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 0)
    monkeypatch.setattr(room, "PROBE", "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with room.gpu_for_many() as fault:
        place = os.environ[room.PIPE]
        assert fault == ""
    assert (tmp_path / "calls").read_text().split() == ["-d", place, place, "quit"]
    assert room.PIPE not in os.environ
    assert not Path(place).exists()


def test_a_service_that_runs_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 0)
    (tmp_path / "control").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(room, "PLACE", str(tmp_path))
    with room.gpu_for_many() as fault:
        assert fault == ""
    monkeypatch.setenv(room.PIPE, str(tmp_path))
    monkeypatch.setattr(room, "PLACE", "/nowhere")
    with room.gpu_for_many() as fault:
        assert fault == ""
    assert not (tmp_path / "calls").exists()


def test_a_place_that_is_named_and_has_no_service_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 0)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv(room.PIPE, str(tmp_path))
    with room.gpu_for_many() as fault:
        assert fault == f"{room.PIPE} is {tmp_path}, where no service runs"


@pytest.mark.parametrize(
    ("start", "probe", "expected"),
    [
        ("exec sleep 60", "", f"{room.MPS}: no answer in 1 s"),
        ("exit", "import time; time.sleep(60)", f"under {room.MPS} no GPU can be used: no answer in 1 s"),
    ],
)
def test_what_does_not_answer_is_not_waited_for(tmp_path: Path, monkeypatch, start: str, probe: str, expected: str):
    program = tmp_path / room.MPS
    program.write_text(f'#!/bin/sh\nif [ "$1" = "-d" ]; then {start}; else cat >> {tmp_path}/calls; fi\n')
    program.chmod(0o755)
    monkeypatch.setattr(room, "PATIENCE", 1)
    monkeypatch.setattr(room, "PROBE", probe)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with room.gpu_for_many() as fault:
        assert fault == expected
    assert (tmp_path / "calls").read_text() == "quit\n"


def test_a_service_that_keeps_what_it_inherited_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / room.MPS
    program.write_text(f'#!/bin/sh\nif [ "$1" = "-d" ]; then (sleep 4; touch {tmp_path}/ended) & fi\n')
    program.chmod(0o755)
    monkeypatch.setattr(room, "PATIENCE", 10)
    monkeypatch.setattr(room, "PROBE", "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with room.gpu_for_many() as fault:
        assert fault == ""
        assert not (tmp_path / "ended").exists()


def test_the_service_serves_all_gpus_whichever_are_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / room.MPS
    program.write_text(f'#!/bin/sh\necho "${{CUDA_VISIBLE_DEVICES-all}}" >> {tmp_path}/calls\n')
    program.chmod(0o755)
    monkeypatch.setattr(room, "PROBE", "import os; assert os.environ['CUDA_VISIBLE_DEVICES'] == '2'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    with room.gpu_for_many() as fault:
        assert fault == ""
    assert (tmp_path / "calls").read_text().split() == ["all", "all"]


def test_where_no_process_can_compute_under_the_service_it_ends_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake(tmp_path, 0)
    monkeypatch.setattr(room, "PROBE", "raise RuntimeError('no device')")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with room.gpu_for_many() as fault:
        assert fault == f"under {room.MPS} no GPU can be used: RuntimeError: no device"
        assert room.PIPE not in os.environ
    assert (tmp_path / "calls").read_text().split()[-1] == "quit"


def test_a_service_that_does_not_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    program = tmp_path / room.MPS
    program.write_text('#!/bin/sh\nif [ "$1" != "-d" ]; then exec sleep 60; fi\n')
    program.chmod(0o755)
    monkeypatch.setattr(room, "PROBE", "")
    monkeypatch.setattr(room, "PATIENCE", 0.2)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with room.gpu_for_many() as fault:
        assert fault == ""
    assert capsys.readouterr().err == f"warning: {room.MPS} has clients after 0 s and goes on\n"


def test_where_the_service_does_not_start_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 1)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with room.gpu_for_many() as fault:
        assert fault == f"{room.MPS}: no"
    assert room.PIPE not in os.environ


def test_where_there_is_no_service_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with room.gpu_for_many() as fault:
        assert fault == f"{room.MPS} is not installed"
