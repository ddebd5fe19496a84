"""What a machine gives to a process."""

import os

import pytest

from mtbert.machine import starting


def test_a_model_that_is_larger_than_the_machines_memory_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    starting.warn_about_memory([there // 16])
    assert capsys.readouterr().err == ""
    starting.warn_about_memory([there // 16, 1])
    assert capsys.readouterr().err.startswith("warning: ")
