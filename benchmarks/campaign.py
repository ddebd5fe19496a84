"""Many trainings on one GPU in a limited time: `python benchmarks/campaign.py OUT BUILD [BUILD ...]`.

A build folder holds what trainings read: `plan`, `manifest`, `data`, `encoders`, `machine.json`, as in a pack. Its runs
are those that its plan selects, the first seed of all of them first. Some processes live on and train one after
the other, so that packages and CUDA start once in each. After `--limit` seconds nothing more is started; then its
merges and votes are made.

What comes back is evidence, in parts: OUT/part-0.tar and so on, each written when there are enough runs, so that
whoever is cut off has the parts before. At home each is unpacked, and joined:

    mtbert evidence part-0/small part-1/small --out reports/small/evidence

Beside the tables a part has the SHA-256 of each file of predictions, the log and the output of each training.
"""

import argparse
import contextlib
import copy
import gc
import io
import multiprocessing
import os
import queue
import signal
import sys
import tarfile
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 30.0  # seconds in which what runs at the limit may end, and a part may be written
PART = 150  # runs; eight files may come back


class Job(NamedTuple):
    """A training of a build folder."""

    build: Path
    variant: str
    seed: int

    @property
    def name(self) -> str:
        """Return its path in the archive."""
        return f"{self.build.name}/{self.variant}/{self.seed}"


def jobs_of(build: Path) -> list[Job]:
    """Return the trainings that a folder's plan selects, seed by seed."""
    from mtbert import layout

    catalog = layout.read_catalog(build, "variants", "seeds")
    selected = [name for name, entry in catalog["variants"].items() if entry["selected"]]
    return [Job(build, name, seed) for seed in catalog["seeds"] for name in selected]


class Finished(NamedTuple):
    """What is kept of a training.

    Attributes:
        model: its results, a `collect.ModelFolder`.
        log: run.json of its log.
        digests: the SHA-256 of each file of predictions, as `sha256sum` prints them.
        output: what it printed.
    """

    model: Any
    log: bytes
    digests: str
    output: str


def train(job: Job) -> Finished:
    """Train one; its weights are removed, unless a merge needs them."""
    from mtbert import files, layout
    from mtbert.provenance import manifests
    from mtbert.scores import collect
    from mtbert.scores.model_rows import source_of
    from mtbert.training import assembly, run
    from mtbert.training.checkpoints import Checkpoint
    from mtbert.variants.settings import VariantSettings

    build, variant, seed = job.build, job.variant, job.seed
    settings = layout.read_planned(VariantSettings, layout.plan(build, variant))
    parts = assembly.assemble(settings, seed, build)
    parts.made_from = manifests.of_training(build, variant, seed)
    checkpoint = Checkpoint(layout.checkpoint(build, variant, seed), parts.made_from.identity)
    folder = layout.run(build, variant, seed)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        run.train(parts, folder, layout.logs(build, variant, seed), checkpoint)
    note_machine(folder)
    source = source_of(build)
    collect.check(source, folder)
    model = collect.load(source, folder)
    if seed == source.catalog["seeds"][0]:
        collect.place([model], source)
    predictions = sorted((folder / "predictions").glob("*.parquet"))
    finished = Finished(
        model=model,
        log=(layout.log(folder) / layout.LOG).read_bytes(),
        digests="".join(f"{files.sha256(file)}  {job.name}/{file.name}\n" for file in predictions),
        output=output.getvalue(),
    )
    (folder / layout.EMBEDDINGS).unlink()
    if variant not in members_of_merges(source.catalog):
        (folder / layout.WEIGHTS).unlink()
    return finished


def note_machine(folder: Path) -> None:
    """Note in the folder of a model that it was made on this machine, and not where its build folder was begun."""
    from mtbert.trainings import packs

    packs.write_elsewhere(folder, packs.ran_on(folder))


def members_of_merges(catalog: Mapping[str, Any]) -> set[str]:
    """Return the variants whose weights a merge needs."""
    members: set[str] = set()
    for entry in catalog["ensembles"].values():
        if entry.get("merge"):
            members |= {*entry["members"]}
    return members


def once(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does not load the same again."""
    loaded: dict[str, Any] = {}

    def load_once(*arguments: Any) -> Any:
        key = repr(arguments)
        if key not in loaded:
            loaded[key] = load(*arguments)
        return copy.copy(loaded[key])  # a training may choose other rows of dev

    return load_once


def work(waiting: Any, done: Any) -> None:
    """Train what waits, one after the other, until None comes; end after a fault that is not the training's own.

    After one of CUDA's, everything else that a process computes there fails, too.
    """
    import torch

    from mtbert.data import batches
    from mtbert.errors import MtbertError

    batches.load = once(batches.load)  # reading takes as long as 300 small steps
    while (job := waiting.get()) is not None:
        try:
            done.put((job, train(job), ""))
        except Exception as error:  # of any kind: it is printed, and the others go on
            done.put((job, None, traceback.format_exc()))
            if not isinstance(error, MtbertError):
                return
        gc.collect()
        torch.cuda.empty_cache()  # the others on this GPU can have what this one held


FORK = multiprocessing.get_context("fork")  # what was imported is imported in all


class Workers:
    """Processes that train, side by side; one that ends is replaced.

    Attributes:
        waiting, done: queues of jobs, and of what became of them.
    """

    def __init__(self, count: int) -> None:
        self.waiting, self.done = FORK.Queue(), FORK.Queue()
        self.processes = [self._started() for _ in range(count)]

    def _started(self) -> Any:
        process = FORK.Process(target=work, args=(self.waiting, self.done), daemon=True)
        process.start()
        return process

    def replace(self) -> int:
        """Start another in the place of each that has ended; return how many have died, each with its job."""
        died = 0
        for number, process in enumerate(self.processes):
            if not process.is_alive():
                died += process.exitcode != 0
                self.processes[number] = self._started()
        return died

    def stop(self) -> None:
        """End all, whatever they do."""
        for process in self.processes:
            process.terminate()


class Writer(NamedTuple):
    """A process that writes a part, and the runs of it."""

    process: Any
    runs: dict[Job, Finished]


class Returned:
    """What has come back, written in parts by processes of their own: nobody waits for them before the end.

    Attributes:
        count: how many trainings have ended well.
        failed: names of those that did not, and of parts that could not be written.
        writers: by the part that each writes.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.count = 0
        self.failed: list[str] = []
        self.fresh: dict[Job, Finished] = {}
        self.writers: dict[str, Writer] = {}

    def add(self, job: Job, finished: Finished | None, fault: str) -> None:
        """Keep a run, and write a part where there are enough; print a fault."""
        if finished is None:
            self.failed.append(job.name)
            print(f"{job.name} failed\n{fault}", flush=True)
            return
        self.count += 1
        self.fresh[job] = finished
        if len(self.fresh) >= PART:
            self.write()

    def write(self) -> None:
        """Begin to write what is not written."""
        if not self.fresh:
            return
        part = f"part-{len(self.writers)}"
        process = FORK.Process(target=write_undisturbed, args=(part, self.fresh, self.out))
        process.start()
        self.writers[part] = Writer(process, self.fresh)
        self.fresh = {}

    def wait(self) -> None:
        """Wait until all is written; write here what a process could not."""
        for part, writer in self.writers.items():
            writer.process.join(PATIENCE)
            if (self.out / f"{part}.tar").is_file():
                continue
            writer.process.kill()
            try:
                write_part(part, writer.runs, self.out)
            except Exception:  # of any kind: it is printed, and the other parts are written
                self.failed.append(part)
                print(f"{part} could not be written\n{traceback.format_exc()}", flush=True)


def write_undisturbed(part: str, fresh: Mapping[Job, Finished], out: Path) -> None:
    """Write runs to OUT/PART.tar in a process of its own, which Ctrl-C does not end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    write_part(part, fresh, out)


def write_part(part: str, fresh: Mapping[Job, Finished], out: Path) -> None:
    """Write runs to OUT/PART.tar."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, part)
        models_of: dict[Path, list[Any]] = {}  # by build folder
        for job, finished in fresh.items():
            models_of.setdefault(job.build, []).append(finished.model)
            log = folder / "logs" / job.name
            log.mkdir(parents=True)
            (log / "run.json").write_bytes(finished.log)
            (log / "output.txt").write_text(finished.output, encoding="utf-8")
        for build, models in models_of.items():
            write_tables(build, models, folder / build.name)
        digests = "".join(finished.digests for finished in fresh.values())
        (folder / "SHA256SUMS").write_text(digests, encoding="utf-8")
        pack(folder, out)


def write_tables(build: Path, models: Sequence[Any], folder: Path) -> None:
    """Write the evidence of models of a build folder."""
    from mtbert.scores import collect, evidence
    from mtbert.scores.model_rows import source_of

    evidence.write(evidence.compact(collect.as_results(source_of(build), models)), folder)


def pack(folder: Path, out: Path) -> None:
    """Write a folder to a tar file of its name, whole or not at all; the tables in it are compressed."""
    partial = out / f"{folder.name}.partial"
    with tarfile.open(partial, "w") as archive:
        archive.add(folder, folder.name)
    partial.rename(out / f"{folder.name}.tar")


def join(builds: Sequence[Path], out: Path) -> None:
    """Make all merges and votes of which the members are there, and write their evidence to a part of its own."""
    from mtbert import layout
    from mtbert.merging import run as merges
    from mtbert.scores import collect, ensembles
    from mtbert.scores.model_rows import source_of

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "joined")
        for build in builds:
            merged, votes = layout.merged(build), layout.votes(build)
            lines = [*merges.merge_all(build, merged), *ensembles.vote_all(build, votes)]
            print("\n".join(f"{build.name}: {line}" for line in lines), flush=True)
            source = source_of(build)
            for file in merged.glob("*/*/metrics.json"):
                note_machine(file.parent)
            finished = [*merged.glob("*/*/metrics.json"), *votes.glob("*/*/metrics.json")]
            models = [collect.load(source, file.parent) for file in finished]
            if models:
                collect.place(models, source)
                write_tables(build, models, folder / build.name)
        if folder.is_dir():
            pack(folder, out)


def campaign(jobs: list[Job], processes: int, limit: float, out: Path) -> list[str]:
    """Train all, so many at a time, until the limit; return the names of those that failed.

    Results are fetched while the processes live: one whose results nobody fetches never ends. What has come back is
    written however this ends.
    """
    returned = Returned(out)
    started = time.monotonic()
    workers = Workers(processes)
    try:
        fetch(jobs, processes, limit, workers, returned)
    finally:
        seconds = time.monotonic() - started
        workers.stop()
        returned.write()
        returned.wait()
    hourly = 3600 * returned.count / seconds
    print(
        f"{returned.count} of {len(jobs)} in {seconds:.0f} s, {processes} at a time: {hourly:.0f} an hour", flush=True
    )
    return returned.failed


def fetch(jobs: list[Job], processes: int, limit: float, workers: Workers, returned: Returned) -> None:
    """Hand out jobs, one for each that comes back, until the limit; wait for the last ones, but not for ever."""
    started = time.monotonic()
    remaining = [*jobs]
    running = 0
    while remaining or running:
        seconds = time.monotonic() - started
        if seconds > limit:
            remaining = []
        if seconds > limit + PATIENCE:
            return
        while remaining and running < processes:
            workers.waiting.put(remaining.pop(0))
            running += 1
        with contextlib.suppress(queue.Empty):
            returned.add(*workers.done.get(timeout=1))
            running -= 1
        for _ in range(workers.replace()):
            returned.failed.append("a training whose process died")
            print(returned.failed[-1], flush=True)
            running -= 1


def main() -> int:
    """Read the arguments, train; exit status 1 where a training failed."""
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("builds", type=Path, nargs="+")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--limit", type=float, default=480.0, help="seconds after which nothing more is started")
    parser.add_argument("--only", nargs="+", help="variants")
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
    jobs = [job for build in arguments.builds for job in jobs_of(build)]
    jobs = [job for job in jobs if not arguments.only or job.variant in arguments.only]
    arguments.out.mkdir(parents=True, exist_ok=True)
    import mtbert.training.assembly  # noqa: F401  imported once, before the processes are made
    from mtbert.machine import mps

    if Path("/dev/nvidiactl").exists():  # CUDA itself may not be asked before the processes are made
        os.environ.setdefault(mps.VISIBLE, "0")

    with mps.gpu_for_many() as fault:
        if fault:
            print(f"trainings take turns on a GPU, since they cannot share it: {fault}", flush=True)
        limit = started + arguments.limit - time.monotonic()
        failed = campaign(jobs, arguments.processes, limit, arguments.out)
    join(arguments.builds, arguments.out)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
