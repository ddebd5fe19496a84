"""The command `mtbert`: what it lists, how fast it starts, how it ends."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mtbert
from mtbert import cli

LARGE = ("torch", "dvc", "mlflow", "pandas", "numpy", "transformers", "scipy")


def called(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mtbert", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


def test_every_subcommand_is_a_file_with_a_docstring_and_a_line_in_the_help():
    shown = called("--help").stdout
    folder = Path(mtbert.__file__).parent / "cli"
    files = {file.stem.replace("_", "-") for file in folder.glob("*.py")} - {"--init--"}
    assert files == set(cli.COMMANDS)
    for name, about in cli.COMMANDS.items():
        assert f"  {name} " in shown
        assert about.split()[0] in shown
        assert cli.loaded(name).help


def test_the_help_imports_nothing_large():
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mtbert", "--help"], capture_output=True, text=True, check=True
    )
    found = set(re.findall(r"\|\s+(\w+)$", shown.stderr, re.MULTILINE))
    assert "typer" in found
    assert found.isdisjoint(LARGE)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (
            ["predict", "nobody", "--task", "sst", "a film"],
            1,
            "error: there is no folder nobody, and nothing is trained",
        ),
        (["tables", "nowhere"], 1, "error: nowhere/plan/catalog.yaml is missing; `dvc repro plan` makes it"),
        (["predict"], 2, "Error: Missing argument 'model'"),
        (["predict", "pals"], 2, "pass either sentences or --file"),
        (["predict", "pals", "--task", "sst", "--all-tasks", "a"], 2, "pass either --task or --all-tasks"),
        (["predict", "pals", "--format", "xml", "a"], 2, "Invalid value for '--format'"),
        (["grid", "--jobs", "0"], 2, "Invalid value for '--jobs'"),
        (["predicct"], 2, "No such command 'predicct'. Did you mean 'predict'?"),
    ],
)
def test_it_ends_with_a_status_and_one_plain_fault(tmp_path: Path, arguments: list[str], status: int, said: str):
    ended = called(*arguments, cwd=tmp_path)
    assert ended.returncode == status
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not ended.stdout
