"""Progress: one line that is written over on a terminal, lines of their own in a log."""

import io

import pytest

from mtbert.training import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, silent: bool = False) -> str:
    with progress.bar(4, initial=1, silent=silent, stream=stream) as bar:
        for step in range(3):
            bar.update()
            bar.set_postfix_str(f"sst {step}.000", refresh=False)
    return stream.getvalue()


def test_a_log_gets_a_line_at_the_start_at_the_end_and_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(io.StringIO()) == (
        "1 of 4 steps, 00:00 gone, ? left\n4 of 4 steps, 00:00 gone, 00:00 left, sst 2.000\n"
    )
    monkeypatch.setattr(progress, "EVERY", 0)
    lines = shown(io.StringIO()).splitlines()
    assert [line.split(",")[0] for line in lines[-4:]] == [f"{step} of 4 steps" for step in (2, 3, 4, 4)]
    assert "\r" not in "".join(lines)


def test_a_terminal_gets_a_bar_that_overwrites_itself() -> None:
    assert shown(Terminal()).startswith("\r")


def test_all_processes_but_the_first_are_silent() -> None:
    assert shown(io.StringIO(), silent=True) == ""
