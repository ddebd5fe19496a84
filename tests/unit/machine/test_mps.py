"""How several processes come to share a GPU."""

import os
from pathlib import Path

import pytest

from mtbert.machine import mps


@pytest.fixture(autouse=True)
def no_service_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv(mps.PIPE, raising=False)
    monkeypatch.setattr(mps, "PLACE", str(tmp_path / "nvidia-mps"))


def fake(folder: Path, status: int) -> None:
    """A service's program that notes how it is called."""
    program = folder / mps.MPS
    program.write_text(f'#!/bin/sh\necho "$@" "${mps.PIPE}" $(cat) >> {folder}/calls\necho no >&2; exit {status}\n')
    program.chmod(0o755)


def test_the_service_runs_as_long_as_the_trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 0)
    monkeypatch.setattr(mps, "PROBE", "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps.gpu_for_many() as fault:
        place = os.environ[mps.PIPE]
        assert fault == ""
    assert (tmp_path / "calls").read_text().split() == ["-d", place, place, "quit"]
    assert mps.PIPE not in os.environ
    assert not Path(place).exists()


def test_a_service_that_runs_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 0)
    (tmp_path / "control").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(mps, "PLACE", str(tmp_path))
    with mps.gpu_for_many() as fault:
        assert fault == ""
    monkeypatch.setenv(mps.PIPE, str(tmp_path))
    monkeypatch.setattr(mps, "PLACE", "/nowhere")
    with mps.gpu_for_many() as fault:
        assert fault == ""
    assert not (tmp_path / "calls").exists()


def test_a_place_that_is_named_and_has_no_service_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 0)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv(mps.PIPE, str(tmp_path))
    with mps.gpu_for_many() as fault:
        assert fault == f"{mps.PIPE} is {tmp_path}, where no service runs"


@pytest.mark.parametrize(
    ("start", "probe", "expected"),
    [
        ("exec sleep 60", "", f"{mps.MPS}: no answer in 1 s"),
        ("exit", "import time; time.sleep(60)", f"under {mps.MPS} no GPU can be used: no answer in 1 s"),
    ],
)
def test_what_does_not_answer_is_not_waited_for(tmp_path: Path, monkeypatch, start: str, probe: str, expected: str):
    program = tmp_path / mps.MPS
    program.write_text(f'#!/bin/sh\nif [ "$1" = "-d" ]; then {start}; else cat >> {tmp_path}/calls; fi\n')
    program.chmod(0o755)
    monkeypatch.setattr(mps, "PATIENCE", 1)
    monkeypatch.setattr(mps, "PROBE", probe)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps.gpu_for_many() as fault:
        assert fault == expected
    assert (tmp_path / "calls").read_text() == "quit\n"


def test_a_service_that_keeps_what_it_inherited_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / mps.MPS
    program.write_text(f'#!/bin/sh\nif [ "$1" = "-d" ]; then (sleep 4; touch {tmp_path}/ended) & fi\n')
    program.chmod(0o755)
    monkeypatch.setattr(mps, "PATIENCE", 10)
    monkeypatch.setattr(mps, "PROBE", "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps.gpu_for_many() as fault:
        assert fault == ""
        assert not (tmp_path / "ended").exists()


def test_the_service_serves_all_gpus_whichever_are_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / mps.MPS
    program.write_text(f'#!/bin/sh\necho "${{CUDA_VISIBLE_DEVICES-all}}" >> {tmp_path}/calls\n')
    program.chmod(0o755)
    monkeypatch.setattr(mps, "PROBE", "import os; assert os.environ['CUDA_VISIBLE_DEVICES'] == '2'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    with mps.gpu_for_many() as fault:
        assert fault == ""
    assert (tmp_path / "calls").read_text().split() == ["all", "all"]


def test_where_no_process_can_compute_under_the_service_it_ends_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake(tmp_path, 0)
    monkeypatch.setattr(mps, "PROBE", "raise RuntimeError('no device')")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps.gpu_for_many() as fault:
        assert fault == f"under {mps.MPS} no GPU can be used: RuntimeError: no device"
        assert mps.PIPE not in os.environ
    assert (tmp_path / "calls").read_text().split()[-1] == "quit"


def test_a_service_that_does_not_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    program = tmp_path / mps.MPS
    program.write_text('#!/bin/sh\nif [ "$1" != "-d" ]; then exec sleep 60; fi\n')
    program.chmod(0o755)
    monkeypatch.setattr(mps, "PROBE", "")
    monkeypatch.setattr(mps, "PATIENCE", 0.2)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps.gpu_for_many() as fault:
        assert fault == ""
    assert capsys.readouterr().err == f"warning: {mps.MPS} has clients after 0 s and goes on\n"


def test_where_the_service_does_not_start_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake(tmp_path, 1)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps.gpu_for_many() as fault:
        assert fault == f"{mps.MPS}: no"
    assert mps.PIPE not in os.environ


def test_where_there_is_no_service_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with mps.gpu_for_many() as fault:
        assert fault == f"{mps.MPS} is not installed"
