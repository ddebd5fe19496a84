"""One process at a time, whatever becomes of the one before."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mtbert import files, locking

HOLD = """
import sys, time
from pathlib import Path
from mtbert import locking
with locking.alone(Path(sys.argv[1]), "training pals, seed 1"):
    print("has it", flush=True)
    time.sleep(60)
"""


def hold(file: Path) -> subprocess.Popen[str]:
    """A process that has the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    return process


def test_who_has_a_free_lock_need_not_wait_and_is_written_beside_it_until_the_end(tmp_path: Path):
    with locking.alone(tmp_path / "pals/0.lock", "training pals, seed 1") as waited:
        assert waited is False
        assert files.read_json(tmp_path / "pals/0.json")["pid"] == os.getpid()
    assert not (tmp_path / "pals/0.json").exists()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_it_waits_for_a_process_that_has_the_lock_and_goes_on_when_that_is_killed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], end: int
):
    tries = []

    def pause() -> None:
        tries.append(process.poll())
        if len(tries) == 3:
            process.send_signal(end)
            process.wait()

    lock = tmp_path / "0.lock"
    with hold(lock) as process, locking.alone(lock, "training pals, seed 1", pause) as waited:
        assert waited is True
    assert tries[:3] == [None] * 3  # alive, and not let in
    told = capfd.readouterr().err
    assert told.startswith(f"training pals, seed 1: process {process.pid} on ")
    assert told.count("is at it; waiting until that ends") == 1


def test_who_waits_can_give_up(tmp_path: Path):
    def pause() -> None:
        raise KeyboardInterrupt

    with hold(tmp_path / "0.lock") as process:
        with pytest.raises(KeyboardInterrupt), locking.alone(tmp_path / "0.lock", "training", pause):
            pass
        process.kill()


def test_a_holder_that_cannot_be_read_is_another_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with hold(tmp_path / "0.lock") as process:
        (tmp_path / "0.json").write_text("{")
        with locking.alone(tmp_path / "0.lock", "training", process.kill):
            pass
    assert capfd.readouterr().err == "training: another process is at it; waiting until that ends\n"


def test_different_locks_do_not_meet(tmp_path: Path):
    """As the processes of one torchrun have theirs."""
    with locking.alone(tmp_path / "0.lock", "rank 0"), locking.alone(tmp_path / "1.lock", "rank 1") as waited:
        assert waited is False
