"""A clone of the project, and a walk through a page of the documentation: each block is done as the page says."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from shlex import quote

from pipeline import preloaded
from pipeline.pages import REPOSITORY, Block, Typed, answers, typed
from pipeline.small import heed_ctrl_c, wait_for
from pipeline.tracked import free_port, listens

from mtbert import files

PATIENCE = 900  # seconds: a machine may have much else to do
EXTRAS = ("run", "cluster", "onnx", "serve", "docs", "test")
SERVERS = ("make mlflow", "mlflow models serve", "mtbert serve")  # go on until they are stopped
UNSHOWN = ("build", ".dvc", "mlflow.db", "mlartifacts", ".venv")
REPORTED = re.compile(r"^dvc exp run (?!--|.* manifest\b).*variants=\[([^]]+)\]")
PROGRESS = re.compile(r"\d+%\|")
SESSION = """
import json, sys
names = {}
for statement in json.loads(sys.argv[1]):
    exec(compile(statement, "page", "single"), names)
    print("\\0", end="", flush=True)
"""


def clone(root: Path) -> Path:
    """The files that git has or would take, in a repository with one commit; its environment is ours.

    Its stage `speed` times one batch of each size, in place of the median of many, and `mtbert study` two steps.
    """
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (REPOSITORY / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, root / name)
    replace(root / "src/mtbert/inference/speed.py", "ROUNDS = {1: 20, BATCH: 5}", "ROUNDS = {1: 1, BATCH: 1}")
    replace(root / "src/mtbert/inference/speed.py", "WARM = 2 ", "WARM = 0 ")
    replace(root / "src/mtbert/study/costs.py", "TRIED, LEAST = 3.0, 4 ", "TRIED, LEAST = 0.0, 2 ")
    environment(root)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=root, check=True)
    return root


def environment(root: Path) -> None:
    """What `make setup` makes in a clone, all of it installed: links to the environment that the tests run in."""
    place, ours = root / ".venv", Path(sys.prefix)
    (place / "bin").mkdir(parents=True)
    for name in ("pyvenv.cfg", "lib"):
        (place / name).symlink_to(ours / name)
    for file in (ours / "bin").iterdir():
        (place / "bin" / file.name).symlink_to(file)
    preloaded.install(place / "bin")
    activate = place / "bin/activate"
    text = activate.read_text().replace(str(ours), str(place))
    activate.unlink()  # a link to the true one
    activate.write_text(text)
    for name in EXTRAS:
        stamp = place / "bin" / f".{name}"
        stamp.unlink(missing_ok=True)
        stamp.touch()


class Walk:
    """What a person does who reads a page with a shell in a clone."""

    def __init__(self, root: Path, **variables: str) -> None:
        self.root = root
        self.port = str(free_port())
        self._state = root.parent / f"{root.name}-shell"  # what the shell has exported, and where it is
        self._servers: list[subprocess.Popen[str]] = []
        self.stands_for = {"5001": self.port, "8000": str(free_port())}  # what a page names that is another thing here
        self.end_with = contextlib.ExitStack()  # what runs beside it
        away = ("DVC_", "MLFLOW_", "MTBERT_", "PYTEST_", "HF_", "PYTHONPATH", "MAKE", "MFLAGS")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(away)}
        path = f"{root / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
        mine = {"PATH": path, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1", "JOBS": "1", "PORT": self.port}
        quiet = {"DVC_NO_ANALYTICS": "true", "MLFLOW_DISABLE_TELEMETRY": "true", "HF_HUB_OFFLINE": "1"}
        who = {f"GIT_{role}_{key}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        self.variables = kept | mine | quiet | who | variables

    def block(self, block: Block, within: float) -> None:
        """Do what a block says; fails where the page is not right, or where nobody knows what a block says."""
        if block.language in ("python", "yaml") and "Write `" in block.before:
            write(self.root / block.named, block.text)
        elif block.language == "python" and "register it" in block.before:
            register(self.root / block.named, block.text)
        elif block.language == "yaml":
            into_params(self.root / "params.yaml", block.text)
        elif block.language == "python":
            self.shell(block, Typed("", f"python -c {quote(block.text)}"), within)
        else:
            for prompt, group in itertools.groupby(typed(block), key=lambda one: one.prompt):
                answer = self._session if prompt == ">>> " else self._commands
                answer(block, [*group], within)

    def _commands(self, block: Block, commands: list[Typed], within: float) -> None:
        for command in commands:
            self.shell(block, command, within)

    def shell(self, block: Block, command: Typed, within: float) -> None:
        """Give a command, and compare what it prints."""
        given = self._given(command)
        if given.startswith(SERVERS):
            self._serve(block, given)
        elif "press Ctrl-C" in given:
            self._interrupt(block, given)
        else:
            self._answered(block, command, given, within)

    def _given(self, command: Typed) -> str:
        """The command, with what stands here for what the page names; a file that is shown and not there is made."""
        given = self.here(command.text)
        if given.startswith("cat ") and not (file := self.root / given.removeprefix("cat ")).exists():
            write(file, "".join(f"{line}\n" for line in command.shown))
        return given

    def _answered(self, block: Block, command: Typed, given: str, within: float) -> None:
        status, printed = self.run(given)
        told = f"{block}: {given}\nended with status {status} and printed\n{printed[-6000:]}"
        assert status == 0, told
        if command.prompt:
            shown = [self.here(line) for line in command.shown]
            assert answers(shown, lines(printed), within), "\n".join([told, "but the page shows", *shown])
        if found := re.search(r"\b[0-9a-f]{64}\b", printed):
            self.stands_for["THE_DIGEST"] = found[0]
        if given.startswith("dvc queue start"):
            wait_for(lambda: not re.search(r"Queued|Running", self.run("dvc queue status")[1].partition("Worker")[0]))
        if asked := REPORTED.match(given):
            reported = json.loads((self.root / "build/report/summary.json").read_text())
            ensembles = files.read_yaml(self.root / "build/plan/catalog.yaml", "plan again")["ensembles"]
            assert sorted(asked[1].split(",")) == sorted(reported.keys() - ensembles.keys()), told

    def here(self, text: str) -> str:
        """The text of a page with what stands here for what it names."""
        for name, value in self.stands_for.items():
            text = text.replace(name, value)
        return text

    def run(self, command: str) -> tuple[int, str]:
        """The exit status of a command in the shell of this walk, and all that it printed."""
        with self._start(command) as process:
            printed, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, printed

    def done(self, command: str) -> str:
        """What a command printed that has to succeed."""
        status, printed = self.run(command)
        assert status == 0, f"{command}\n{printed[-6000:]}"
        return printed

    def _start(self, command: str) -> subprocess.Popen[str]:
        state = self._state
        before = f'. {state}; cd "$(cat {state}.cwd)"\n' if state.exists() else ""
        after = f"\nstatus=$?; export -p > {state}; pwd > {state}.cwd; exit $status"
        return subprocess.Popen(
            ["bash", "-c", before + command + after],
            cwd=self.root,
            env=self.variables,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=heed_ctrl_c,
        )

    def _serve(self, block: Block, command: str) -> None:
        """Start a server, and wait until it answers."""
        server = self._start(command)
        self._servers.append(server)
        port = int(command.partition("--port ")[2] or self.port)
        wait_for(lambda: server.poll() is not None or listens(port), PATIENCE)
        assert server.poll() is None, f"{block}: {command}\n{server.communicate()[0][-6000:]}"

    def _interrupt(self, block: Block, command: str) -> None:
        """Press Ctrl-C once the training has written a checkpoint."""
        with self._start(command) as process:
            wait_for(lambda: process.poll() is not None or [*self.root.glob("build/checkpoints/*/*/*.safetensors")])
            assert process.poll() is None, f"{block}: {command}\n{process.communicate()[0][-6000:]}"
            os.killpg(process.pid, signal.SIGINT)
            printed, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode != 0, printed

    def _session(self, block: Block, statements: list[Typed], within: float) -> None:
        """Type statements at Python's prompt."""
        given = json.dumps([one.text for one in statements])
        status, printed = self.run(f"python -c {quote(SESSION)} {quote(given)}")
        assert status == 0, f"{block}\n{printed}"
        for one, answer in zip(statements, printed.split("\0"), strict=False):
            told = f"{block}: {one.text}\nprinted\n{answer}"
            assert answers(one.shown, lines(answer), within), told

    def answer(self) -> str:
        """The page that this walk's server shows."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=60) as page:
            return page.read().decode()

    def end(self) -> None:
        """Stop what still runs."""
        self.end_with.close()
        for server in self._servers:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGTERM)
            server.communicate(timeout=60)


def lines(printed: str) -> list[str]:
    """What is left to read in a terminal: no progress, which is written over, no colours, and no empty lines."""
    told = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", printed).splitlines()
    return [line for line in told if line.strip() and not PROGRESS.search(line)]


def write(file: Path, text: str) -> None:
    """Write a file that a page shows as a whole."""
    assert not file.exists(), f"{file} is there already"
    file.write_text(text, encoding="utf-8")


def replace(file: Path, old: str, new: str) -> None:
    """Put something in the place of what a file has once."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new), encoding="utf-8")


def into_params(file: Path, text: str) -> None:
    """Add a section, or entries to `catalog` and `ensembles`, where `{}` stands until then."""
    sections = f"catalog:\n{text}" if text.startswith(" ") else text
    for name, entries in re.findall(r"^(\w+):\n((?: .*\n|\n)*)", sections, re.M):
        if name not in ("catalog", "ensembles"):
            replace(file, "\ncatalog:", f"\n{name}:\n{entries}catalog:")
        elif f"\n{name}: {{}}\n" in file.read_text(encoding="utf-8"):
            replace(file, f"\n{name}: {{}}\n", f"\n{name}:\n{entries}")
        else:
            replace(file, f"\n{name}:\n", f"\n{name}:\n{entries}")


def register(file: Path, line: str) -> None:
    """Import a module of the package that the file is, and put the line behind the last technique."""
    text = file.read_text(encoding="utf-8")
    (name,) = re.findall(r'^ *"(\w+)": Technique', line)
    last = [*re.finditer(r"^ .*Technique\(.*\n", text, re.M)][-1].end()
    text = text[:last] + line + text[last:]
    package = ".".join(file.parent.parts[file.parent.parts.index("src") + 1 :])
    file.write_text(text.replace(f"from {package} import ", f"from {package} import {name}, ", 1), encoding="utf-8")
