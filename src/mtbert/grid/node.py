"""What Ray runs: a training on some node, and beside the sender the keeper of what comes back of it.

Ray sends the code of this file itself, and a node has nothing of mtbert but the files of the training. So nothing but
the standard library and Ray is imported here.
"""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIECE = 32 * 2**20  # bytes of a file that travel at a time
POLL = 0.1  # seconds
BEAT = 1.0  # seconds between two reports to the keeper
PATIENCE = 50.0  # seconds in which a training that is stopped has to write its checkpoint
KEPT = 2  # checkpoints of a training
PARTIAL = ".partial"  # as mtbert.files has it
PR_SET_PDEATHSIG = 1  # of Linux


@dataclass(frozen=True)
class Sent:
    """A training as it goes out.

    Attributes:
        name: such as `pals-1`.
        place: of its run below `runs`, such as `pals/1`.
        command: behind the name of Python.
        environment: what it adds.
        there: what it adds on nodes other than the sender's.
        sender: the node of the one who sent it.
        root: the folder of the sender's repository, to work in where the sender is.
    """

    name: str
    place: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    there: Mapping[str, str]
    sender: str
    root: str


class Keeper:
    """Keeps what trainings send, in the sender's repository: output, checkpoints, and at last runs.

    Args:
        root: of the repository.
        logs: below it, the folder of the trainings' output; what came back lies in `returned` there.
    """

    def __init__(self, root: str, logs: str) -> None:
        self.root, self.logs = Path(root), Path(root, logs)
        self.stopping = False
        self.begun = dict[str, int]()
        self.heard = list[tuple[str, int, str]]()

    def begin(self, sent: Sent, node: str) -> tuple[bool, str | None]:
        """A training begins on a node, or once more on another: whether it is to, and the newest checkpoint."""
        tries = self.begun[sent.name] = self.begun.get(sent.name, 0) + 1
        self.heard.append((sent.name, tries, node))
        found = sorted(Path(self.root, "build/checkpoints", sent.place, "0").glob("*.safetensors"))
        return not self.stopping, found[-1].relative_to(self.root).as_posix() if found else None

    def news(self) -> list[tuple[str, int, str]]:
        """Who has begun since the last call, for the how many-th time, and on which node."""
        heard, self.heard = self.heard, []
        return heard

    def tell(self, name: str, output: bytes) -> bool:
        """Take more of a training's output; whether it is to stop."""
        with (self.logs / f"{name}.log").open("ab") as log:
            log.write(output)
        return self.stopping

    def take(self, path: str, offset: int, piece: bytes, size: int) -> None:
        """Take a piece of a file, which is whole or not there; of checkpoints the last are kept."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}{PARTIAL}")
        with partial.open("r+b" if offset else "wb") as handle:
            handle.seek(offset)
            handle.write(piece)
        if offset + len(piece) == size:
            partial.replace(file)
            if path.startswith("build/checkpoints/"):
                for old in sorted(file.parent.glob("*.safetensors"))[:-KEPT]:
                    old.unlink()

    def give(self, path: str, offset: int) -> bytes:
        """A piece of a file; nothing behind its end."""
        with (self.root / path).open("rb") as handle:
            handle.seek(offset)
            return handle.read(PIECE)

    def stop(self) -> None:
        """Have all trainings stop at their next report."""
        self.stopping = True


def train(sent: Sent, inputs: Mapping[str, list[Any]], keeper: Any) -> int | None:
    """Train in a folder of its own, from the newest checkpoint that the keeper has; what came of it goes there.

    Args:
        sent: the training.
        inputs: by path, the pieces of each file that it reads, in Ray's object store.
        keeper: the actor.

    Returns:
        The exit status; None where the training was stopped.
    """
    import ray

    apart = ThreadPoolExecutor(1)  # a task that waits in its main thread has its cores lent to another by Ray

    def got(reference: Any) -> Any:
        return apart.submit(lambda: ray.get(reference)).result()

    def ask(method: str, *arguments: Any) -> Any:
        return got(getattr(keeper, method).remote(*arguments))

    node = ray.get_runtime_context().get_node_id()
    wanted, checkpoint = ask("begin", sent, node)
    if not wanted:
        return None
    here = node == sent.sender
    work = Path(sent.root, "build/grid/work") if here else None
    if work:
        work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mtbert-", dir=work, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for path, pieces in inputs.items():
            _write(folder / path, (got(piece) for piece in pieces))
        if checkpoint:
            _write(folder / checkpoint, _given(checkpoint, ask))
        return _Training(sent, folder, ask, {} if here else sent.there).run(checkpoint)


def _write(file: Path, pieces: Iterator[bytes]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as handle:
        handle.writelines(pieces)


def _given(path: str, ask: Callable[..., Any]) -> Iterator[bytes]:
    offset = 0
    while piece := ask("give", path, offset):
        offset += len(piece)
        yield piece


class _Training:
    """A training while it runs on a node."""

    def __init__(self, sent: Sent, folder: Path, ask: Callable[..., Any], environment: Mapping[str, str]) -> None:
        self.sent, self.folder, self.ask = sent, folder, ask
        self.environment = {**os.environ, **sent.environment, **environment}
        self.output = folder / "output.log"
        self.told = 0  # bytes of the output

    def run(self, checkpoint: str | None) -> int | None:
        """To its end, or until the keeper says to stop."""
        stopped = False
        with self.output.open("wb") as output, self._process(output) as process:
            try:
                while not stopped and not self._ended(process, BEAT):
                    stopped = self._tell()
                    checkpoint = self._send_checkpoint(checkpoint)
            finally:
                self._stop(process)
        self._tell()
        if process.returncode == 0:
            self._send_run()
            return 0
        self._send_checkpoint(checkpoint)
        return None if stopped else process.returncode

    def _process(self, output: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *self.sent.command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )

    @staticmethod
    def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until:
            time.sleep(POLL)
        return process.poll() is not None

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """Have it write its checkpoint and end; kill it where it does not."""
        if process.poll() is None:
            process.terminate()
            if not self._ended(process, PATIENCE):
                process.kill()

    def _tell(self) -> bool:
        with self.output.open("rb") as handle:
            handle.seek(self.told)
            new = handle.read()
        self.told += len(new)
        return self.ask("tell", self.sent.name, new)

    def _send_checkpoint(self, sent: str | None) -> str | None:
        """Send the newest where it is another than the one that was `sent`; its name."""
        found = sorted((self.folder / "build/checkpoints" / self.sent.place / "0").glob("*.safetensors"))
        newest = found[-1].relative_to(self.folder).as_posix() if found else sent
        if newest and newest != sent:
            self._send(found[-1], newest)
        return newest

    def _send_run(self) -> None:
        for kind in ("runs", "logs"):
            for file in sorted((self.folder / "build" / kind / self.sent.place).rglob("*")):
                if file.is_file():
                    path = file.relative_to(self.folder / "build").as_posix()
                    self._send(file, f"build/grid/returned/{self.sent.name}/{path}")

    def _send(self, file: Path, path: str) -> None:
        size, offset = file.stat().st_size, 0
        with file.open("rb") as handle:
            while offset < size or not size:
                piece = handle.read(PIECE)
                self.ask("take", path, offset, piece, size)
                offset += len(piece)
                if not size:
                    return


def _end_with_parent() -> None:
    """Heed Ctrl-C again, which Ray's processes do not; on Linux be told to end where the worker of Ray is gone."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
