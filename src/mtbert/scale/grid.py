"""What `make reproduce` does: `dvc repro`, its trainings side by side."""

from mtbert.command import locking
from mtbert.errors import SettingsError
from mtbert.scale import dvc, trainings
from mtbert.scale.trainings import OUTPUT, Training, say


def run(
    jobs: int | None = None,
    variants: str | None = None,
    address: str | None = None,
    gpus: float | None = None,
    storage: str | None = None,
) -> None:
    """Run `dvc repro`, its trainings side by side.

    Args: see `mtbert grid --help`.

    Raises:
        SettingsError: an argument would have no effect.
        ClusterError: the cluster cannot be reached.
        TrainingError, KeyboardInterrupt: see `trainings.run`; what was trained is recorded.
        SystemExit: a stage failed, and DVC has printed why.
    """
    if not address and (gpus or storage):
        raise SettingsError("--gpus and --storage are of a cluster, --address; here --jobs trainings share the GPUs")
    finished = list[Training]()
    with locking.exclusive(dvc.LOCK, "grid"):
        waiting = dvc.prepare(variants)
        if waiting:
            say(f"{len(waiting)} to train; their output is in {OUTPUT}/")
        try:
            if waiting and address:
                from mtbert.scale import cluster

                with cluster.joined(address, waiting, gpus, storage) as start:
                    trainings.run(waiting, start, [{}] * (jobs or len(waiting)), OUTPUT, finished.append)
            else:
                trainings.run_here(waiting, jobs, OUTPUT, finished.append)
        finally:
            dvc.commit(*finished)
        dvc.run("repro")
