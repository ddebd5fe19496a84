"""The process beside a training that logs it to MLflow: `python -m mtbert.tracking.writer`, with messages on stdin.

One JSON message on each line: first `settings` and `seed`, then any number of `step`, `values` and `time`, last
`finish` or `fail`. The end of the input without one of these means that the training was killed.
"""

import json
import os
import queue
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from mtbert import starting
from mtbert.tracking import naming, place, record
from mtbert.tracking.record import Place, Point

INTERVAL = 5.0  # seconds over which values are collected before they are sent; benchmarks/tracking.py measures the cost
PATIENCE = 120.0  # most seconds that ending the log may take once the training has ended
NICENESS = 5  # the training has priority on few cores

Message = dict[str, Any]
Inbox = queue.SimpleQueue[Message]


def main() -> None:
    """Log one run; an error of MLflow is printed in one line and ends the process with status 1."""
    os.nice(NICENESS)
    inbox: Inbox = queue.SimpleQueue()
    threading.Thread(target=_read, args=(inbox,), daemon=True).start()
    uri = ""
    try:
        uri = place.tracking_uri()
        _follow(inbox, uri)
    except Exception as error:  # any error ends only this log, and is printed without credentials
        _give_up(error, uri)


def _give_up(error: Exception, uri: str) -> NoReturn:
    at = f" at {place.shown(uri)}" if uri else ""
    print(
        f"warning: this run is not logged to MLflow{at} any further ({place.reason(error, uri)}); "
        f"the training goes on, and `{place.AGAIN}` brings the run in later",
        file=sys.stderr,
        flush=True,
    )
    os._exit(1)  # a normal exit would wait for the reader, which waits for the training


def _read(inbox: Inbox) -> None:
    """Keep the pipe empty, so that the training does not drop values."""
    for line in sys.stdin:
        if line.strip() and (message := _parsed(line)):
            inbox.put(message)
    inbox.put({"fail": "the training process was killed", "status": "KILLED"})
    time.sleep(
        PATIENCE
    )  # for a server that never completes its answer, when the training is no longer there to end this
    os._exit(1)


def _parsed(line: str) -> Message | None:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None  # cut where the pipe was full; history.csv has the values


def _follow(inbox: Inbox, uri: str) -> None:
    first = inbox.get()
    with starting.imports():
        from mtbert.tracking.store import (
            Machine,
            Store,
            patiently,
        )  # MLflow, which takes seconds: the inbox fills meanwhile

    changes = record.departures(Path(first["build"]), first["settings"]["variant"])
    card = record.card(first["settings"], first["seed"], changes)
    store = patiently(partial(Store, uri))
    run_id, machine = patiently(partial(store.begin, card)), Machine(uri)
    logged: set[Place] = set()
    while True:
        messages, last = _gather(inbox)
        points = [
            Point(naming.series(name), m["step"], value, m["time"])
            for m in messages
            for name, value in m["values"].items()
        ]
        patiently(partial(store.log, run_id, [*points, *machine.points()]))
        logged.update(point.place for point in points)
        if last is not None:
            break
    if "finish" in last:
        finished = record.of_run(*map(Path, last["finish"]))
        patiently(partial(store.complete, run_id, finished.run_key, finished.read(), logged))
    else:
        patiently(partial(store.end, run_id, last["status"], place.without_credentials(last["fail"], uri)))


def _gather(inbox: Inbox) -> tuple[list[Message], Message | None]:
    """Return the steps that arrive within the interval, and the message that ends the run, if it came."""
    steps: list[Message] = []
    until = time.monotonic() + INTERVAL
    while (left := until - time.monotonic()) > 0:
        try:
            message = inbox.get(timeout=left)
        except queue.Empty:
            break
        if "values" not in message:
            return steps, message
        steps.append(message)
    return steps, None


if __name__ == "__main__":
    main()
