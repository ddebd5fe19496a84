"""What MLflow's server costs beside a bare loop in Python: `python benchmarks/serving.py [ADDRESS]`.

ADDRESS is of a model in MLflow with task sst, such as models:/mtbert-sample-pals@best. The server is MLflow's own, a
process on this machine, asked over HTTP; the loop calls `predict` on the same model in this process. One sentence at a
time gives latencies; a thousand at once, and eight clients that ask for one each, give sentences a second.
"""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import record
import requests

import mtbert
from mtbert import tracking
from mtbert.command import plainly
from mtbert.errors import MtbertError

ADDRESS = "models:/mtbert-sample-pals@best"
WORDS = [
    "the",
    "plot",
    "is",
    "simple",
    "but",
    "the",
    "script",
    "is",
    "extremely",
    "dull",
    "and",
    "the",
    "music",
    "of",
    "the",
    "film",
    "is",
    "nice",
]
ALONE, MANY, CLIENTS = 200, 1000, 8
PATIENCE = 300.0  # seconds in which the server has to answer
Ask = Callable[[list[str]], Any]


def sentences(count: int) -> list[str]:
    """Of 4 to 17 words."""
    return [" ".join(WORDS[: 4 + number % (len(WORDS) - 3)]) for number in range(count)]


@contextlib.contextmanager
def server(address: str) -> Iterator[str]:
    """MLflow's server of that model while the block runs; MtbertError where it does not start."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = os.environ | {"MLFLOW_TRACKING_URI": tracking.tracking_uri(), "MLFLOW_DISABLE_TELEMETRY": "true"}
    variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", address, "--env-manager", "local"]
    process = subprocess.Popen(
        [*command, "-p", str(port)],
        env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        _wait(process, f"http://127.0.0.1:{port}/ping")
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(requests.ConnectionError):
            if requests.get(address, timeout=5).ok:
                return
        time.sleep(0.2)
    raise MtbertError("MLflow's server has not started")


def over_http(address: str) -> Ask:
    """What asks the server, over a connection that stays."""
    session = requests.Session()

    def ask(texts: list[str]) -> Any:
        content = {"dataframe_split": {"columns": ["text"], "data": [[text] for text in texts]}}
        answer = session.post(address, json=content | {"params": {"task": "sst"}}, timeout=PATIENCE)
        answer.raise_for_status()
        return answer.json()["predictions"]

    return ask


def alone(ask: Ask) -> dict[str, float]:
    """Milliseconds for a sentence: the median, and what nine in ten stay below."""
    took = []
    for text in sentences(ALONE):
        since = time.perf_counter()
        ask([text])
        took.append(1000 * (time.perf_counter() - since))
    return {"one, median ms": median(took), "one, ninth decile ms": quantiles(took, n=10)[-1]}


def rate(ask: Ask) -> dict[str, float]:
    """Sentences a second, a thousand in one request."""
    since = time.perf_counter()
    ask(sentences(MANY))
    return {"a thousand at once, sentences/s": MANY / (time.perf_counter() - since)}


def crowd(asks: list[Ask]) -> dict[str, float]:
    """Sentences a second of clients that ask for one at a time, all at once."""
    each = sentences(ALONE)

    def work(ask: Ask) -> None:
        for text in each:
            ask([text])

    since = time.perf_counter()
    with ThreadPoolExecutor(len(asks)) as threads:
        list(threads.map(work, asks))
    return {"eight clients, sentences/s": len(asks) * len(each) / (time.perf_counter() - since)}


def measure(address: str) -> list[dict[str, Any]]:
    """A row for the bare loop and one for the server."""
    model = mtbert.load(address)

    def bare(texts: list[str]) -> Any:
        return model.predict("sst", texts)

    bare(sentences(MANY))  # once before it counts, as below
    rows = [{"contestant": "loop in Python", **alone(bare), **rate(bare)}]
    with server(address) as place_of_it:
        ask = over_http(place_of_it)
        ask(sentences(MANY))
        clients = [over_http(place_of_it) for _ in range(CLIENTS)]
        rows.append({"contestant": "MLflow's server", **alone(ask), **rate(ask), **crowd(clients)})
    return rows


def main() -> None:
    """Read the arguments, measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="?", default=ADDRESS, help="of a model in MLflow")
    parser.add_argument("--record", type=Path, metavar="DIR", help="write results.json and README.md there")
    arguments = parser.parse_args()
    with plainly():
        rows = measure(arguments.address)
        print(record.table(rows))
        if arguments.record:
            record.keep(arguments.record, "serving", {"rows": rows}, {"**Serving.** One model of the sample.": rows})


if __name__ == "__main__":
    main()
