"""From what params.yaml says to all trainings recorded: what `make grid` does."""

import shutil
import time

from mtbert import locking, repository
from mtbert.errors import TrainingError
from mtbert.grid import cluster, needs, sending
from mtbert.parcels.parcel import say


def run(jobs: int | None, variants: str | None = None, address: str | None = None, gpus: float | None = None) -> None:
    """`dvc repro`, its trainings side by side. Waits first for what else trains here, and says what that is.

    Args:
        jobs: how many at a time, at least 1; None for as many as the cluster has room for, and one on this machine.
        variants: names with spaces between, or `all` of the catalog, to be set in params.yaml; None for what it says.
        address: of a Ray cluster; None for this machine alone.
        gpus: part of a GPU for each training; None as `cluster.joined` has it.

    Raises:
        SettingsError: params.yaml launches each training on several processes, or no node has what a training needs.
        ClusterError: Ray is not installed, or not to be reached.
        TrainingError: trainings failed; the others are recorded, and nothing that needs them was run.
        SystemExit: a stage before or after them failed, which DVC has told.
    """
    cluster.check_installed()
    if address is None:
        jobs = jobs or 1
    with locking.alone(repository.LOCK, "grid", repository.pause):
        repository.wait_for_others()
        repository.dvc(*(["repro"] if variants is None else _with(f"variants=[{repository.names(variants)}]")), "init")
        repository.one_process_each()
        stages = repository.changed()
        if jobs and address is None and (threads := needs.fewer_threads(stages, jobs)):
            repository.dvc(*_with(f"run.threads={threads}"), "init")
            stages = repository.changed()
        if stages:
            at_a_time = f"{jobs} at a time" if jobs else "as many at a time as there is room for"
            say(f"{len(stages)} to train or restore, {at_a_time}; their output is in {sending.LOGS}/")
            if failed := _train(stages, jobs, address, gpus):
                logs = "\n".join(f"  {name}: {sending.LOGS / f'{name}.log'}" for name in failed)
                raise TrainingError(f"{len(failed)} of {len(stages)} failed, the others are recorded\n{logs}")
        repository.dvc("repro")


def _with(setting: str) -> list[str]:
    return repository.setting(setting)


def _train(stages: list[str], jobs: int | None, address: str | None, gpus: float | None) -> list[str]:
    """Record what is in place, restore what lies in DVC's run cache, train the others; those that failed."""
    for left in ("work", "returned"):
        shutil.rmtree(sending.LOGS / left, ignore_errors=True)
    began, recorder = time.monotonic(), sending.Recorder()
    recorder.waiting = sending.in_place(stages)
    here = [one.stage for one in recorder.waiting]
    recorder.finish()
    left = [stage for stage in stages if stage not in here]
    restored = repository.restore(left)
    seconds = time.monotonic() - began
    for count, stage in enumerate([*here, *restored], start=1):
        say(f"{stage.removeprefix('train@')}: restored after {seconds:.0f} s ({count} of {len(stages)})")
    waiting = [stage for stage in left if stage not in restored]
    if not waiting:
        return []
    with cluster.joined(address, jobs, gpus, waiting) as found:
        return sending.Sending(found, len(stages) - len(waiting), len(stages)).train(needs.longest_first(waiting))


def start(jobs: int | None, variants: str | None, address: str | None = None, gpus: float | None = None) -> None:
    """`run`, as a process whose work it is: a signal to stop is heeded between two steps."""
    repository.heed()
    run(jobs, variants, address, gpus)
