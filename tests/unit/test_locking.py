"""One process at a time, whatever becomes of the one before."""

import os
import signal
import subprocess
import sys
import threading
import time
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
    with hold(tmp_path / "0.lock") as process:
        threading.Timer(0.5, process.send_signal, [end]).start()
        began = time.monotonic()
        with locking.alone(tmp_path / "0.lock", "training pals, seed 1") as waited:
            assert waited is True
    assert time.monotonic() - began > 0.4
    told = capfd.readouterr().err
    assert told.startswith(f"training pals, seed 1: process {process.pid} on ")
    assert told.count("is at it; waiting until that ends") == 1


def test_a_holder_that_cannot_be_read_is_another_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with hold(tmp_path / "0.lock") as process:
        (tmp_path / "0.json").write_text("{")
        threading.Timer(0.5, process.kill).start()
        with locking.alone(tmp_path / "0.lock", "training"):
            pass
    assert capfd.readouterr().err == "training: another process is at it; waiting until that ends\n"


def test_different_locks_do_not_meet(tmp_path: Path):
    """As the processes of one torchrun have theirs."""
    with locking.alone(tmp_path / "0.lock", "rank 0"), locking.alone(tmp_path / "1.lock", "rank 1") as waited:
        assert waited is False
