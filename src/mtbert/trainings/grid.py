"""What `make reproduce` does: `dvc repro`, its trainings side by side, with an answer after each seed."""

from collections.abc import Collection, Sequence

from mtbert import tasks
from mtbert.errors import SettingsError
from mtbert.machine import locking
from mtbert.trainings import dvc, many
from mtbert.trainings.interim_answers import InterimAnswers
from mtbert.trainings.many import BUILD, OUTPUT, Training, say


def run(
    jobs: int | None = None,
    variants: str | None = None,
    address: str | None = None,
    gpus: float | None = None,
    storage: str | None = None,
) -> None:
    """Run `dvc repro`: baselines first, then trainings side by side, seed by seed, an answer after each seed.

    Args: see `mtbert grid --help`.

    Raises:
        SettingsError: an argument would have no effect, or the cluster cannot be reached.
        TrainingError, KeyboardInterrupt: see `many.Queue.run`; what was trained is recorded.
        SystemExit: a stage failed, and DVC has printed why.
    """
    if not address and (gpus or storage):
        raise SettingsError("--gpus and --storage are of a cluster, --address; here --jobs trainings share the GPUs")
    finished = list[Training]()
    with locking.exclusive(dvc.LOCK, "grid"):
        waiting = dvc.prepare(variants)
        seeds = dict.fromkeys(training.seed for training in dvc.listed())
        answers = InterimAnswers([*seeds], tasks.number_of_folds(tasks.read_build(BUILD)))
        if waiting:
            dvc.run("repro", "baselines")  # which prints what they score
            say(f"{len(waiting)} to train; their output is in {OUTPUT}/")
        try:
            if waiting and address:
                from mtbert.trainings import cluster

                _check_teachers(waiting)
                with cluster.joined(address, waiting, gpus, storage) as start:
                    at_a_time = [many.NO_GPU] * (jobs or len(waiting))
                    many.Queue(waiting, start, at_a_time, OUTPUT, finished.append, answers=answers).run()
            else:
                many.run_here(waiting, jobs, OUTPUT, finished.append, answers)
        finally:
            answers.close()
            dvc.commit(*finished)
        dvc.run("repro")


def train(variants: Collection[str]) -> None:
    """Train what is not up to date of these variants, which params.yaml lists, and no other; raises as `run` does."""
    finished = list[Training]()
    with locking.exclusive(dvc.LOCK, "grid"):
        waiting = [training for training in dvc.prepare() if training.variant in variants]
        if waiting:
            say(f"{len(waiting)} to train; their output is in {OUTPUT}/")
        try:
            many.run_here(waiting, None, OUTPUT, finished.append)
        finally:
            dvc.commit(*finished)


def _check_teachers(wanted: Sequence[Training]) -> None:
    """Raise SettingsError where a training learns from another of the same command: no node has the runs of others."""
    for training in wanted:
        missing = [teacher.variant for teacher in many.teachers(training) if teacher in wanted]
        if missing:
            first = f'`mtbert grid --address ... --variants "{" ".join(missing)}"`'
            raise SettingsError(
                f"{training.name} learns from {', '.join(missing)}, but no node of a cluster has what others train; "
                f"{first} trains these first"
            )
