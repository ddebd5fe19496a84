"""Send trainings out, follow them, and take what comes back: check it, place it, have DVC record it."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mtbert import files, inputs, repository
from mtbert.errors import DataError
from mtbert.grid import needs, node
from mtbert.grid.cluster import Cluster
from mtbert.outputs import Origin
from mtbert.parcels import parcel, running, unpacking
from mtbert.parcels.parcel import BUILD, SCRIPT, Parcel, say
from mtbert.tracking import live
from mtbert.tracking import place as tracked

LOGS = BUILD / "grid"
RETURNED = LOGS / "returned"
PLACED = LOGS / "placed"  # parcels whose runs are in place, until DVC has recorded them
LIVE = parcel.PACKAGE / "tracking/live.py"  # which imports MLflow's client late
CATALOG = needs.PLAN / "catalog.yaml"  # of which a run's name in MLflow says what departs from the defaults
TELL = 30.0  # seconds between two lines of a training that runs
RECORD = 300.0  # seconds between two times that DVC records: its start takes trainings some seconds of a core
TRIES = 5  # a training's, where nodes are lost
WATCH = 10.0  # seconds between two looks at which nodes are there


class Recorder:
    """Has DVC record in the background what was placed since it did so last."""

    def __init__(self) -> None:
        self.waiting: list[Parcel] = []
        self.recording: list[Parcel] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.after = time.monotonic() + RECORD

    def add(self, one: Parcel) -> None:
        """A run is in place."""
        files.write_json(_note(one), one.model_dump())
        self.waiting.append(one)

    def poll(self) -> None:
        """Begin where it is time."""
        if self.process is not None and self.process.poll() is not None:
            self._ended()
        if self.process is None and self.waiting and time.monotonic() > self.after:
            self._begin()

    def finish(self) -> None:
        """All of it; SystemExit where DVC could not, which it has told."""
        while self.process is not None or self.waiting:
            if self.process is None:
                self._begin()
            assert self.process is not None
            self.process.wait()
            self._ended()

    def _begin(self) -> None:
        self.recording, self.waiting = self.waiting, []
        self.process = repository.recording([one.stage for one in self.recording])

    def _ended(self) -> None:
        assert self.process is not None
        if self.process.returncode:
            raise SystemExit(self.process.returncode)
        for one in self.recording:
            _note(one).unlink(missing_ok=True)
        self.process, self.after = None, time.monotonic() + RECORD


def _note(one: Parcel) -> Path:
    return PLACED / f"{one.name}.json"


def in_place(stages: Sequence[str]) -> list[Parcel]:
    """Those whose runs an earlier grid has placed, from what lies here now, and that DVC has not recorded."""
    found = []
    for stage in stages:
        one = parcel.of(*repository.variant_and_seed(stage))
        try:
            if files.read_as(Parcel, _note(one), "make grid") == one:
                parcel.check_run(one, BUILD / "runs" / one.place, BUILD)
                found.append(one)
        except DataError:
            continue
    return found


class Sending:
    """Trainings that are out.

    Args:
        cluster: what is there for them.
        done: how many of all that are not up to date are done already.
        total: how many those are.
    """

    def __init__(self, cluster: Cluster, done: int, total: int) -> None:
        self.cluster, self.done, self.total = cluster, done, total
        self.recorder = Recorder()
        self.since: dict[str, float] = {}
        self.running: dict[Any, Parcel] = {}
        self.begun: dict[str, tuple[int, str]] = {}  # by name: for the how many-th time, and on which node
        self.lost = set[Any]()  # of those that run, whose node was gone at the last look
        self.failed: list[str] = []
        self.keeper, self.sender = _keeper()
        self.pieces: dict[str, list[Any]] = {}  # by path: references to what lies in Ray's object store
        self.code = parcel.code(LIVE)
        self.next_line = self.next_look = time.monotonic() + TELL

    def train(self, stages: Sequence[str]) -> list[str]:
        """Train them in that order; the names of those that failed. What is done is recorded, whatever happens."""
        waiting = list(stages)
        try:
            while waiting or self.running:
                while waiting and len(self.running) < self.cluster.limit:
                    one = parcel.of(*repository.variant_and_seed(waiting.pop(0)))
                    files.write_text(LOGS / f"{one.name}.log", "")
                    self._send(one)
                self._follow(repository.POLL)
                repository.pause(0)
        finally:
            self._stop()
            self.recorder.finish()
        return self.failed

    def _send(self, one: Parcel) -> None:
        import ray

        sent = node.Sent(
            one.name,
            one.place.as_posix(),
            (str(SCRIPT), one.variant, str(one.seed)),
            {"PYTHONPATH": "src", "DVC_ROOT": os.getcwd(), "DVC_STAGE": one.stage},
            _tracking_there(),
            self.sender,
            os.getcwd(),
        )
        task = ray.remote(node.train).options(
            num_cpus=needs.threads(one.stage), num_gpus=self.cluster.gpus, max_retries=TRIES - 1, name=one.name
        )
        paths = [path.as_posix() for path in (*parcel.needed(one.variant), CATALOG, *self.code)]
        self.running[task.remote(sent, {path: self._put(path) for path in paths}, self.keeper)] = one

    def _put(self, path: str) -> list[Any]:
        import ray

        if path not in self.pieces:
            self.pieces[path] = [ray.put(piece) for piece in _in_pieces(Path(path))]
        return self.pieces[path]

    def _follow(self, seconds: float) -> None:
        """What has begun, what has ended, how far the others are."""
        import ray

        ended, _ = ray.wait(list(self.running), timeout=seconds)
        for name, tries, where in ray.get(self.keeper.news.remote()):
            self.since.setdefault(name, time.monotonic())
            self.begun[name] = tries, where
            say(f"{name}: started" if tries == 1 else f"{name}: its node was lost; goes on elsewhere, try {tries}")
        for training in ended:
            self._end(training, self.running.pop(training))
        self.recorder.poll()
        if time.monotonic() > self.next_look:
            self.next_look += WATCH
            self._send_lost_again()
        if time.monotonic() > self.next_line:
            self.next_line += TELL
            self._tell_progress()

    def _send_lost_again(self) -> None:
        """Send again what ran on a node that is gone at two looks in a row.

        Ray does so itself, and at once, where a process is gone. Where a machine or its network is, Ray waits for seven
        minutes: it cannot ask more often (`grpc_client_keepalive_time_ms`) without being refused by its own servers.
        """
        import ray

        there = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        begun = {training: self.begun[one.name] for training, one in self.running.items() if one.name in self.begun}
        lost = {training for training, (tries, where) in begun.items() if where not in there and tries < TRIES}
        for training in lost & self.lost:
            ray.cancel(training, force=True)
            one = self.running.pop(training)
            del self.begun[one.name]
            self._send(one)
        self.lost = lost

    def _end(self, training: Any, one: Parcel) -> None:
        fault = _fault(training) or self._take(one)
        if fault:
            with (LOGS / f"{one.name}.log").open("a") as log:
                print(fault, file=log)
            self.failed.append(one.name)
        self.done += 1
        seconds = time.monotonic() - self.since.get(one.name, time.monotonic())
        say(f"{one.name}: {'failed' if fault else 'trained'} after {seconds:.0f} s ({self.done} of {self.total})")

    def _take(self, one: Parcel) -> str:
        """Check and place what came back; what is wrong with it."""
        back = RETURNED / one.name
        try:
            parcel.check_run(one, back / "runs" / one.place, BUILD)
        except DataError as error:
            return f"error: what came back is not used: {error}"
        take(one, back)
        self.recorder.add(one)
        shutil.rmtree(back)
        shutil.rmtree(BUILD / "checkpoints" / one.place, ignore_errors=True)
        return ""

    def _tell_progress(self) -> None:
        """The last line of each output: step, time gone and left, loss."""
        for one in self.running.values():
            lines = _end_of(LOGS / f"{one.name}.log").split("\n")
            if last := [line for line in lines if line.strip()][-1:]:
                say(f"{one.name}: {last[0].strip()}")

    def _stop(self) -> None:
        """Have what still runs write its checkpoint and end."""
        import ray

        if not self.running:
            return
        self.keeper.stop.remote()
        for training, one in self.running.items():
            if one.name not in self.since:  # it has not begun
                ray.cancel(training)
        ended, left = ray.wait(list(self.running), num_returns=len(self.running), timeout=repository.PATIENCE)
        for training in left:
            ray.cancel(training, force=True)
        for training in ended:
            one = self.running.pop(training)
            if not _fault(training):
                self._take(one)


def take(one: Parcel, back: Path) -> None:
    """Place a run that came back; one of another machine says so itself, as one of a pack does."""
    begun = files.read_as(Origin, BUILD / inputs.MACHINE, "dvc repro machine")
    if parcel.origin(files.log_directory(back, back / "runs" / one.place)) == begun:
        unpacking.place(one, back)
        return
    marked = back / "marked"
    for name, content in running.brought(one, back, begun, weights=True).items():
        (marked / name).parent.mkdir(parents=True, exist_ok=True)
        (marked / name).write_bytes(content if isinstance(content, bytes) else content.read_bytes())
    unpacking.place(one, marked)


def _keeper() -> tuple[Any, str]:
    """The actor that takes what trainings send, on the node that this process is on, and the name of that node."""
    import ray
    from ray import cloudpickle
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    cloudpickle.register_pickle_by_value(node)
    here = ray.get_runtime_context().get_node_id()
    beside = NodeAffinitySchedulingStrategy(here, soft=False)
    keeper = ray.remote(node.Keeper).options(num_cpus=0, scheduling_strategy=beside)
    return keeper.remote(os.getcwd(), str(LOGS)), here


def _in_pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as handle:
        while piece := handle.read(node.PIECE):
            yield piece


def _fault(training: Any) -> str:
    """What is wrong with how a training ended; nothing where it came to its end."""
    import ray
    from ray.exceptions import RayError

    try:
        status: Any = ray.get(training)
    except RayError as error:
        return f"error: {error}"
    if status is None:
        return "stopped"
    return running.how_it_ended(status) if status else ""


def _tracking_there() -> dict[str, str]:
    """What says to trainings on other nodes where their curves go: a server that was named, else nowhere."""
    uri = os.environ.get(tracked.URI)
    if uri and tracked.is_server(uri) and os.environ.get(live.OFF) != "off":
        return {tracked.URI: uri}
    return {live.OFF: "off"}


def _end_of(file: Path, size: int = 4096) -> str:
    with file.open("rb") as handle:
        handle.seek(max(0, file.stat().st_size - size))
        return handle.read().decode("utf-8", errors="replace")
