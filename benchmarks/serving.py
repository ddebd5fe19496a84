"""Load on `mtbert serve`, and on other servers side by side: `python benchmarks/serving.py FOLDER --mlflow MODEL`.

FOLDER is what `mtbert export VARIANT FOLDER --format onnx` wrote. Each client sends one made-up text after the other,
as long as those of SST's training set, and waits for each answer. All servers run all the time, and are asked in turn.
The plain handler of FastAPI computes each request by itself, one at a time as `mtbert serve` does, with one thread and
else onnxruntime's own settings. MODEL is the variant's folder in MLflow, the one with the file MLmodel, for
`mlflow models serve`.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from mtbert.errors import MtbertError
from mtbert.machine.program import report_errors
from mtbert.serving import description, graphs
from mtbert.serving.graphs import Graphs

LENGTHS = Path(__file__).with_name("lengths.json")
SHORTEST = 3  # tokens: [CLS], a word, [SEP]
TEXTS = 1000
TURNS = 5  # of each server
PATIENCE = 120.0  # seconds until a server has to be ready


def plain(folder: Path, port: int) -> None:
    """Serve with a handler that computes each request by itself."""
    import uvicorn
    from fastapi import FastAPI
    from onnxruntime import InferenceSession, SessionOptions  # type: ignore[attr-defined]
    from pydantic import BaseModel

    class Texts(BaseModel):
        texts: str

    model, options = Graphs(folder), SessionOptions()
    tasks = {name: task for name, task in model.description.tasks.items() if not task.is_pair}
    (graph,) = {task.graph for task in tasks.values()}
    options.intra_op_num_threads = 1
    model._sessions = {graph: InferenceSession(folder / f"{graph}.onnx", options)}
    app, one = FastAPI(), threading.Lock()

    @app.get("/ready")
    def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.post("/predict")
    def predict(request: Texts) -> dict[str, Any]:
        rows = model.encode("text", [[request.texts]])
        with one:  # else it would compute on all cores
            outputs = model.run(graph, [*tasks], rows)
        return {name: graphs.answers(task, outputs[name])[0] for name, task in tasks.items()}

    uvicorn.run(app, port=port, log_level="warning")


def texts(folder: Path) -> list[str]:
    """Return texts of words that are one piece each, as long as SST's."""
    from tokenizers import Tokenizer

    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha())
    counts = json.loads(LENGTHS.read_text(encoding="utf-8"))["cross"]["sst"]
    chance = random.Random(1)
    lengths = chance.choices(range(SHORTEST, len(counts)), counts[SHORTEST:], k=TEXTS)
    return [" ".join(chance.choices(words, k=length - 2)) for length in lengths]


class Protocol(NamedTuple):
    """What a server is asked: the path that tells whether it is ready, that of predictions, and the form of a body."""

    ready: str
    predict: str
    body: str

    def bodies(self, texts: Sequence[str]) -> list[bytes]:
        """Return the body of a request for each text."""
        return [(self.body % json.dumps(text)).encode() for text in texts]


OURS = Protocol("/ready", "/predict", '{"texts": %s}')
MLFLOW = Protocol("/ping", "/invocations", '{"dataframe_records": [{"text": %s}]}')


class Contestant:
    """A server, in a process of its own, which may have children."""

    def __init__(self, name: str, command: Sequence[str], port: int, protocol: Protocol) -> None:
        self.name, self.port, self.protocol = name, port, protocol
        started = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "--port", str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > started + PATIENCE:
                raise MtbertError(f"{name} did not start: {' '.join(command)}")
            time.sleep(0.02)
        self.seconds, self.cpu = time.monotonic() - started, self.cpu_seconds()

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as connection:
            request = f"GET {self.protocol.ready} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            connection.sendall(request.encode())
            return connection.recv(100).startswith(b"HTTP/1.1 200")
        return False

    def processes(self) -> list[psutil.Process]:
        """Return its process and the children."""
        process = psutil.Process(self.process.pid)
        return [process, *process.children(recursive=True)]

    def cpu_seconds(self) -> float:
        """Return the processor's time that it took so far."""
        times = [process.cpu_times() for process in self.processes()]
        return sum(one.user + one.system for one in times)

    def memory(self) -> float:
        """Return its resident memory in MiB."""
        return sum(process.memory_info().rss for process in self.processes()) / 2**20

    def end(self) -> None:
        """End all its processes."""
        _, *children = self.processes()
        for child in children:
            child.terminate()
        self.process.terminate()
        self.process.wait()
        psutil.wait_procs(children)


@dataclass
class Load:
    """What clients saw of a server, over all its turns.

    Attributes:
        latencies: seconds of each request.
        memory: MiB of the server, twice a second.
        errors: answers that were not 200.
        seconds, cpu: of the clock, and of the server's processor time.
    """

    latencies: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    errors: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    async def turn(self, contestant: Contestant, texts: Sequence[str], clients: int, seconds: float) -> None:
        """Let so many clients ask for so many seconds."""
        bodies = itertools.cycle(contestant.protocol.bodies(texts))
        started, cpu = time.monotonic(), contestant.cpu_seconds()
        watching = asyncio.create_task(self._watch(contestant))
        end = started + seconds
        await asyncio.gather(*(self._ask(contestant, bodies, end) for _ in range(clients)))
        self.seconds += time.monotonic() - started
        self.cpu += contestant.cpu_seconds() - cpu
        watching.cancel()

    async def _ask(self, contestant: Contestant, bodies: Iterator[bytes], end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", contestant.port)
        head = f"POST {contestant.protocol.predict} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
        while time.monotonic() < end:
            body, started = next(bodies), time.monotonic()
            writer.write(b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body))
            answer = await reader.readuntil(b"\r\n\r\n")
            size = int(answer.lower().partition(b"content-length:")[2].split()[0])
            await reader.readexactly(size)
            self.latencies.append(time.monotonic() - started)
            self.errors += not answer.startswith(b"HTTP/1.1 200")
        writer.close()

    async def _watch(self, contestant: Contestant) -> None:
        while True:
            self.memory.append(contestant.memory())
            await asyncio.sleep(0.5)

    def row(self) -> dict[str, Any]:
        """Return the numbers of a table."""
        middle, slow, slowest = (1000 * np.quantile(self.latencies, share) for share in (0.5, 0.95, 0.99))
        count = len(self.latencies)
        return {
            "requests/s": count / self.seconds, "CPU ms a request": 1000 * self.cpu / count, "p50 ms": middle,
            "p95 ms": slow, "p99 ms": slowest, "errors": self.errors, "MiB first": self.memory[0],
            "MiB last": self.memory[-1], "MiB most": max(self.memory),
        }  # fmt: skip


def compared(servers: Sequence[Contestant], texts: Sequence[str], clients: int, seconds: float) -> list[Load]:
    """Return the load of each server; they are asked in turn, so that a busy machine is as busy for each."""
    loads = [Load() for _ in servers]
    for _ in range(TURNS):
        for server, seen in zip(servers, loads, strict=True):
            asyncio.run(seen.turn(server, texts, clients, seconds / TURNS))
    return loads


@contextlib.contextmanager
def contestants(folder: Path, mlflow_model: Path | None) -> Iterator[list[Contestant]]:
    """Start the servers, and end them."""
    own = [sys.executable, "-m", "mtbert", "serve", str(folder)]
    other = [sys.executable, __file__, str(folder), "--plain"]
    servers = [("mtbert serve", own, OURS), ("plain handler", other, OURS)]
    if mlflow_model:
        mlflow = [sys.executable, "-m", "mlflow", "models", "serve", "--env-manager", "local", "-m", str(mlflow_model)]
        servers.append(("mlflow", mlflow, MLFLOW))
    running: list[Contestant] = []
    try:
        for name, command, protocol in servers:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            running.append(Contestant(name, command, port, protocol))
        yield running
    finally:
        for contestant in running:
            contestant.end()


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mlflow", type=Path, metavar="MODEL", help="the same variant's folder in MLflow")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="keep results.json, and a table in README.md")
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.plain:
        plain(chosen.folder, chosen.port)
        return
    description.check(chosen.folder, description.read(chosen.folder))
    asked = texts(chosen.folder)
    rows: list[dict[str, Any]] = []
    with contestants(chosen.folder, chosen.mlflow) as servers:
        starts = [{"server": each.name, "s to start": each.seconds, "CPU s": each.cpu} for each in servers]
        for clients in chosen.clients:
            loads = compared(servers, asked, clients, chosen.seconds)
            for server, seen in zip(servers, loads, strict=True):
                rows.append({"server": server.name, "clients": clients} | seen.row())
    import record  # with torch, which would take memory and time from the servers

    tables = {"Start:": starts, f"Load, {chosen.seconds:g} s each:": rows}
    for title, table in tables.items():
        print(title, record.table(table), sep="\n\n", end="\n\n")
    if chosen.record:
        content = {"starts": starts, "load": rows, "seconds": chosen.seconds}
        record.keep(chosen.record, "serving", content, tables)


if __name__ == "__main__":
    with report_errors():
        main()
