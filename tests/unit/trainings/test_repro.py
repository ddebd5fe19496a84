"""DVC's hint to push, which its program prints at the end of `dvc repro`."""

import inspect
import sys
from pathlib import Path

import pytest
from dvc import cli
from dvc.commands import repro as dvcs
from dvc.ui import ui

from mtbert.trainings import repro

HINT = "Use `dvc push` to send your updates to remote storage."
REMOTE = "['remote \"lab\"']\n    url = /lab\n"


def test_the_hint_is_what_dvc_prints():
    assert f'ui.write("{HINT}")' in inspect.getsource(dvcs)


@pytest.mark.parametrize(("config", "output"), [("", "Done\n"), (REMOTE, f"Done\n{HINT}\n")])
def test_the_hint_is_printed_only_where_a_remote_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str, output: str
):
    def program(arguments: list[str]) -> int:
        assert arguments == ["repro", "manifest"]
        ui.write("Done")
        ui.write(HINT)
        return 7

    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text(config)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "main", program)
    monkeypatch.setattr(ui, "write", ui.write)
    monkeypatch.setattr(ui, "_enabled", True)
    monkeypatch.setattr(sys, "argv", ["repro.py", "repro", "manifest"])
    with pytest.raises(SystemExit) as ended:
        repro.main()
    assert (ended.value.code, capsys.readouterr().out) == (7, output)
