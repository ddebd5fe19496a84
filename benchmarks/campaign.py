"""Many trainings on one GPU in a limited time: `python benchmarks/campaign.py OUT BUILD [BUILD ...]`.

A build folder holds what trainings read: `plan`, `manifest`, `data`, `encoders`, `machine.json`, as in a pack. Its runs
are those that its plan selects, the first seed of all of them first. Some processes live on and train one after
the other, so that packages and CUDA start once in each. After `--limit` seconds nothing more is started.

What comes back is small: metrics, history, settings and log of each run, its predictions on dev as whole numbers or
float32, and the SHA-256 of each file of predictions. It is written in parts as it comes, as tar files: whoever is
cut off has the parts before.
"""

import argparse
import contextlib
import gc
import io
import itertools
import multiprocessing
import os
import queue
import shutil
import sys
import tarfile
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

SMALL = ("metrics.json", "history.csv", "settings.yaml")
PATIENCE = 30.0  # seconds after the limit in which what runs may end
PART = 100  # runs


class Job(NamedTuple):
    """A training of a build folder."""

    build: Path
    variant: str
    seed: int

    @property
    def name(self) -> str:
        """Return its place in the archive."""
        return f"{self.build.name}/{self.variant}/{self.seed}"


def jobs_of(build: Path) -> list[Job]:
    """Return the trainings that a folder's plan selects, seed by seed."""
    from mtbert import layout

    catalog = layout.read_catalog(build, "variants", "seeds")
    chosen = [name for name, entry in catalog["variants"].items() if entry["selected"]]
    return [Job(build, name, seed) for seed, name in itertools.product(catalog["seeds"], chosen)]


def train(job: Job) -> dict[str, bytes]:
    """Train one, and return what is kept of it; its folder is removed."""
    from mtbert import layout
    from mtbert.inputs import manifests
    from mtbert.settings import VariantSettings
    from mtbert.training import assembly, run
    from mtbert.training.checkpoints import Checkpoint

    build, variant, seed = job.build, job.variant, job.seed
    settings = layout.read_planned(VariantSettings, layout.plan(build, variant))
    parts = assembly.assemble(settings, seed, build)
    parts.code = manifests.read(layout.manifest(build, variant)).code
    own = Checkpoint(layout.checkpoint(build, variant, seed), manifests.identity(build, variant, seed))
    out, logs = layout.run(build, variant, seed), layout.logs(build, variant, seed)
    started = time.perf_counter()
    run.train(parts, out, logs, own)
    kept = kept_of(out, logs)
    kept["seconds"] = f"{time.perf_counter() - started:.1f}".encode()
    shutil.rmtree(out)
    return kept


def kept_of(run: Path, logs: Path) -> dict[str, bytes]:
    """Return what comes back of a run, by file name."""
    import numpy as np
    import pandas as pd

    from mtbert import files

    kept = {name: (run / name).read_bytes() for name in SMALL}
    kept["run.json"] = next(logs.rglob("run.json")).read_bytes()
    arrays, digests = dict[str, Any](), ""
    for file in sorted((run / "predictions").glob("*-dev.parquet")):
        predicted = pd.read_parquet(file)["prediction"].to_numpy()
        whole = predicted.astype(np.int8)
        arrays[file.stem] = whole if (whole == predicted).all() else predicted.astype(np.float32)
        digests += f"{files.sha256(file)}  {file.name}\n"
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    return kept | {"predictions.npz": packed.getvalue(), "SHA256SUMS": digests.encode()}


def work(waiting: Any, done: Any) -> None:
    """Train what waits, one after the other, until None comes."""
    while (job := waiting.get()) is not None:
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
                kept = train(job)
            done.put((job, kept | {"output": output.getvalue().encode()}, ""))
        except Exception:  # of any kind: it is told, and the others go on
            done.put((job, {}, traceback.format_exc()))
        gc.collect()


class Results:
    """What has come back: written in parts.

    Attributes:
        finished: how many trainings have.
        failed: names of those that did not.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.finished = 0
        self.failed: list[str] = []
        self.fresh: dict[str, dict[str, bytes]] = {}
        self.parts = 0

    def add(self, job: Job, kept: dict[str, bytes], fault: str) -> None:
        """Keep a run, and write a part where there are enough; tell a fault."""
        if fault:
            self.failed.append(job.name)
            print(f"{job.name} failed\n{fault}", flush=True)
            return
        self.finished += 1
        self.fresh[job.name] = kept
        if len(self.fresh) >= PART:
            self.write()

    def write(self) -> None:
        """Write what is not written."""
        if not self.fresh:
            return
        with tarfile.open(self.out / f"part-{self.parts}.tar.xz", "w:xz", preset=1) as archive:
            for name, kept in self.fresh.items():
                for file, content in kept.items():
                    member = tarfile.TarInfo(f"{name}/{file}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        self.parts += 1
        self.fresh = {}


def campaign(jobs: list[Job], processes: int, limit: float, out: Path) -> list[str]:
    """Train all, so many at a time, until the limit; return the names of those that failed.

    Results are fetched while the processes live: one whose results nobody fetches never ends.
    """
    context = multiprocessing.get_context("fork")  # what was imported is imported in all
    waiting, done = context.Queue(), context.Queue()
    workers = [context.Process(target=work, args=(waiting, done), daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    results, started = Results(out), time.monotonic()
    fetch(jobs, processes, limit, waiting, done, results)
    passed = time.monotonic() - started
    for worker in workers:
        worker.terminate()
    results.write()
    hourly = 3600 * results.finished / passed
    print(
        f"{results.finished} of {len(jobs)} in {passed:.0f} s, {processes} at a time: {hourly:.0f} an hour", flush=True
    )
    return results.failed


def fetch(jobs: list[Job], processes: int, limit: float, waiting: Any, done: Any, results: Results) -> None:
    """Hand out jobs, one for each that comes back, until the limit; wait for the last ones, but not for ever."""
    started, left, running = time.monotonic(), [*jobs], 0
    while left or running:
        passed = time.monotonic() - started
        if passed > limit:
            left = []
        if passed > limit + PATIENCE:
            return
        while left and running < processes:
            waiting.put(left.pop(0))
            running += 1
        with contextlib.suppress(queue.Empty):
            results.add(*done.get(timeout=1))
            running -= 1


def main() -> int:
    """Read the arguments, train; exit status 1 where a training failed."""
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

    return 1 if campaign(jobs, arguments.processes, arguments.limit, arguments.out) else 0


if __name__ == "__main__":
    sys.exit(main())
