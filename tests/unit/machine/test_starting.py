"""How a process that imports large libraries starts and ends."""

import gc
import os

import pytest

from mtbert.machine import starting


def test_the_collector_rests_while_importing_and_leaves_alone_what_was_imported() -> None:
    gc.unfreeze()  # other tests of the same process may have frozen something
    with pytest.raises(ModuleNotFoundError), starting.quick_imports():
        raise ModuleNotFoundError
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
    with starting.quick_imports():
        assert not gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


def test_a_model_that_is_larger_than_the_machines_memory_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    starting.warn_about_memory([there // 16])
    assert capsys.readouterr().err == ""
    starting.warn_about_memory([there // 16, 1])
    assert capsys.readouterr().err.startswith("warning: ")
