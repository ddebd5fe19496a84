"""The wheel, installed where nothing else is but the packages that it asks for: it predicts, compares and exports."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mtbert.machine import program

ROOT = Path(__file__).parents[2]
MODELS = {"pals": "crossed", "sbert-pals": "apart-in-fp32"}  # of the page, and those that are trained here
COMMANDS = """
import json, sys
from mtbert import cli
for command in json.loads(sys.argv[1]):
    cli.app(command, standalone_mode=False)
"""  # one process, since each imports torch for seconds
PAIRS = "id,text,text_pair,label\na,players play .,apes chase cats .,0\nb,a man eats .,a man eats cakes .,4\n"


def closure(asked: list[str]) -> set[str]:
    """The installed packages that requirements come to."""
    found: dict[tuple[str, frozenset[str]], None] = {}
    waiting = [Requirement(one) for one in asked]
    while waiting:
        one = waiting.pop()
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in found:
            continue
        try:
            more = [Requirement(text) for text in metadata.requires(one.name) or []]
        except metadata.PackageNotFoundError:  # of another platform
            continue
        found[key] = None
        waiting += [r for r in more if not r.marker or any(r.marker.evaluate({"extra": e}) for e in {*one.extras, ""})]
    return {name for name, _ in found}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment with the wheel, and of what it and its extra `onnx` ask for a link to ours."""
    root = tmp_path_factory.mktemp("installed")
    source = root / "source"
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        source.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src/mtbert", source / "src/mtbert", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(root), str(source)]
    subprocess.run(build, check=True, cwd=root)
    (wheel,) = root.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root / "env")], check=True)
    python = root / "env/bin/python"
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = (root / "env/lib").glob("python*/site-packages")
    (about,) = metadata.distributions(name="mtbert", path=[str(site)])
    asked = [Requirement(text) for text in about.requires or []]
    needed = [str(one).partition(";")[0] for one in asked if not one.marker or one.marker.evaluate({"extra": "onnx"})]
    for name in closure(needed):
        link(metadata.distribution(name), site)
    return root / "env"


def link(package: metadata.Distribution, site: Path) -> None:
    """Put a package's files into another environment."""
    for top in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(package.locate_file(top))).resolve())


def typed(environment: Path, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command prints that is typed in a folder, with that environment alone."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [str(environment / "bin" / command[0]), *command[1:]], cwd=folder, env=variables | {"HF_HUB_OFFLINE": "1"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_what_the_page_of_using_models_types_runs_without_a_clone(installed: Path, build: Path, tmp_path: Path) -> None:
    (tmp_path / "build").symlink_to(build)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    page = (ROOT / "docs/using.md").read_text(encoding="utf-8")
    commands = [shlex.split(line) for line in re.findall(r"^    \$ mtbert (.*)$", page, re.M)]
    commands = [[MODELS.get(word, word) for word in command] for command in commands]
    walked = [command for command in commands if {*MODELS.values()} & {*command}]
    assert len(walked) >= 7
    ended = typed(installed, ["python", "-c", COMMANDS, json.dumps(walked)], tmp_path)
    assert ended.returncode == 0, ended.stderr[-2000:]
    scored = (tmp_path / "scored.csv").read_text()
    assert scored.startswith("id,text,text_pair,label,prediction,lowest,highest,cut\n")
    assert (tmp_path / "out/graphs/pairs.onnx").is_file()


def test_files_are_compared_without_a_clone(installed: Path, tmp_path: Path) -> None:
    rows = [(number, number % 2, number % 3 > 0, 1) for number in range(30)]
    for name, column in (("ours", 2), ("theirs", 3)):
        lines = [f"{row[0]},{row[1]},{int(row[column])}" for row in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,label,prediction", *lines]))
    ended = typed(installed, ["mtbert", "compare", "ours.csv", "theirs.csv"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("accuracy on 30 rows\n")


def test_what_trains_says_which_package_it_lacks(installed: Path, tmp_path: Path) -> None:
    command = [
        "python",
        "-c",
        "from mtbert.machine import program\nwith program.report_errors(): import mtbert.report.page",
    ]
    ended = typed(installed, command, tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: this command needs the package ")
    assert ended.stderr.endswith(f"which is not installed; {program.INSTALL}\n")


def test_on_a_system_without_unix_s_modules_a_model_predicts(installed: Path, build: Path, tmp_path: Path) -> None:
    """A pretence of Windows: nobody has tried the true one."""
    code = (
        "import os, signal, sys\n"
        "for name in ('resource', 'fcntl', 'pwd', 'grp', 'termios'): sys.modules[name] = None\n"
        "del os.sysconf, os.sched_getaffinity, signal.SIGHUP, signal.SIGKILL\n"
        "from mtbert.training import logs, run\n"
        "from mtbert.machine import starting\n"
        "assert (logs.peak_memory_mb(), starting.memory()) == (None, 0)\n"
        "sys.argv = ['mtbert', 'predict', 'build/runs/crossed/1', '--task', 'sst', 'the music is wonderful .']\n"
        "from mtbert import cli\n"
        "cli.main()\n"
    )
    (tmp_path / "build").symlink_to(build)
    ended = typed(installed, ["python", "-c", code], tmp_path)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "the music is wonderful ." in ended.stdout
