"""One process at a time, whatever becomes of the one before."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mtbert.machine import locking

HOLD = """
import sys, time
from pathlib import Path
from mtbert.machine import locking
with locking.exclusive(Path(sys.argv[1]), "training pals, seed 1"):
    print("has it", flush=True)
    time.sleep(60)
"""


def hold(file: Path) -> subprocess.Popen[str]:
    """A process that has the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    return process


def test_it_waits_for_a_process_that_has_the_lock_and_goes_on_when_that_is_killed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    with hold(tmp_path / "0.lock") as process:
        threading.Timer(0.5, process.send_signal, [signal.SIGKILL]).start()
        began = time.monotonic()
        with locking.exclusive(tmp_path / "0.lock", "training pals, seed 1") as waited:
            assert waited is True
    assert time.monotonic() - began > 0.4
    assert capfd.readouterr().err.startswith("training pals, seed 1: already running")
