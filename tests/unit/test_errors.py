"""A fault of ours ends a script with its message alone; Ctrl-C with status 130; anything else is a traceback."""

import pytest

from mtbert.errors import (
    DataError,
    UnknownNameError,
    first_of,
    shown_plainly,
)


def test_a_fault_ends_the_script_with_its_message(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MTBERT_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as exit_, shown_plainly():
        raise DataError("qqp-train.csv:7: label is 2")
    assert exit_.value.code == "error: qqp-train.csv:7: label is 2"  # Python prints it and leaves with status 1


def test_the_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MTBERT_TRACEBACK", "1")
    with pytest.raises(DataError, match="label is 2"), shown_plainly():
        raise DataError("label is 2")


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MTBERT_TRACEBACK", raising=False)
    with pytest.raises(ZeroDivisionError), shown_plainly():
        raise ZeroDivisionError


def test_ctrl_c_is_status_130(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as exit_, shown_plainly():
        raise KeyboardInterrupt
    assert exit_.value.code == 130
    assert capsys.readouterr().err == "stopped; no half-written output was left behind\n"


def test_many_names_are_shortened():
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_known_names_need_be_no_text():
    assert str(UnknownNameError("profile", "samplr", [None, "sample"])) == (
        "unknown profile 'samplr'; did you mean sample? known: None, sample"
    )
