"""`dvc repro`, its trainings side by side: what `make grid` does."""

import contextlib
import sys

from mtbert import locking
from mtbert.errors import SettingsError, TrainingError
from mtbert.scale import cluster, packs, pipeline, runner
from mtbert.scale.trainings import Training, say, threads


def run(
    jobs: int | None = None,
    variants: str | None = None,
    address: str | None = None,
    gpus: float | None = None,
    storage: str | None = None,
) -> None:
    """Run the pipeline. Wait first for what else runs here, and say what that is.

    Args:
        jobs: trainings at a time; None for as many as a cluster has room for, and one on this machine.
        variants: to be set in params.yaml first: names with spaces between, or all; None for what it says.
        address: of a Ray cluster; None for this machine, without Ray.
        gpus: part of a GPU for each training, above 0 and at most 1; None for one on a cluster that has some, and
            here for as much as there is.
        storage: a folder that all nodes of the cluster share, for checkpoints; None for none.

    Raises:
        SettingsError: params.yaml launches each training on several processes, or no node has what a training needs.
        ClusterError: the cluster cannot be reached.
        TrainingError: trainings failed; the others are recorded, and nothing that needs them was run.
        SystemExit: a stage failed, which DVC has told; 130 where a signal stopped the trainings.
    """
    if gpus is not None and not 0 < gpus <= 1:
        raise SettingsError(f"--gpus is {gpus:g}; allowed: a part of one, such as 0.25, up to 1")
    with locking.alone(pipeline.LOCK, "grid"):
        waiting = pipeline.prepare(variants, [])
        if waiting:
            say(f"{len(waiting)} to train; their output is in {packs.OUTPUT}/")
            _train(waiting, jobs, address, gpus, storage)
        pipeline.dvc("repro")


def _train(
    waiting: list[Training], jobs: int | None, address: str | None, gpus: float | None, storage: str | None
) -> None:
    with contextlib.ExitStack() as stack:
        if address:
            stopped_by = stack.enter_context(cluster.joined(address, waiting, gpus, storage))
            stop = stack.enter_context(runner.heeded())  # after Ray, which takes SIGTERM over
            train, room = stopped_by(stop), min(jobs or len(waiting), len(waiting))
        else:
            stop = stack.enter_context(runner.heeded())
            shares = runner.shares(min(jobs or 1, len(waiting)), max(map(threads, waiting)), gpus)
            train, room = runner.Here(stop, shares, packs.OUTPUT, live=True), len(shares)
        failed = runner.run(waiting, train, room, stop, lambda training: pipeline.commit([training]))
    if failed:
        logs = "\n".join(f"  {training.name}: {packs.OUTPUT / training.name}.log" for training in failed)
        raise TrainingError(f"{len(failed)} of {len(waiting)} failed, the others are recorded\n{logs}")
    if stop.is_set():
        print("stopped; the same command goes on", file=sys.stderr)
        sys.exit(130)
