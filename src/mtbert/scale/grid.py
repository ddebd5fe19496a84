"""`dvc repro`, its trainings side by side: what `make grid` does."""

import os
from functools import partial

from mtbert import locking
from mtbert.errors import SettingsError
from mtbert.scale import cluster, pipeline, runner
from mtbert.scale.trainings import OUTPUT, say, threads


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
        TrainingError, KeyboardInterrupt: see `runner.run`; what was trained is recorded.
        SystemExit: a stage failed, which DVC has told.
    """
    if gpus is not None and not 0 < gpus <= 1:
        raise SettingsError(f"--gpus is {gpus:g}; allowed: a part of one, such as 0.25, up to 1")
    with locking.alone(pipeline.LOCK, "grid"):
        waiting = pipeline.prepare(variants, [])
        if waiting:
            say(f"{len(waiting)} to train; their output is in {OUTPUT}/")
        if waiting and address:
            with cluster.joined(address, waiting, gpus, storage) as train:
                room = min(jobs or len(waiting), len(waiting))
                runner.run(waiting, train, [{}] * room, OUTPUT, lambda one: pipeline.commit([one]))
        elif waiting:
            shares = runner.shares(min(jobs or 1, len(waiting)), max(map(threads, waiting)), gpus)
            live = partial(runner.here, environment={"DVC_ROOT": os.getcwd()})
            runner.run(waiting, live, shares, OUTPUT, lambda one: pipeline.commit([one]))
        pipeline.dvc("repro")
