"""What trainings need: how many threads, which part of a GPU, and in which order they go."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from mtbert import files, machine, outputs, repository

EARLIER = Path("build/logs")  # of the trainings themselves: build/logs/<variant>/<seed>/<key>/run.json
PLAN = Path("build/plan")


def threads(stage: str) -> int:
    """Of a training, as the plan has it."""
    return files.read_plan(PLAN / f"{repository.variant_and_seed(stage)[0]}.yaml", "run")["run"]["threads"]


def fewer_threads(stages: Sequence[str], jobs: int) -> int | None:
    """How many threads each training has to have where so many at a time would have more than the cores; says so.

    None where they fit. It goes into params.yaml, not the environment, since scores depend on it: a later `dvc repro`
    then finds the same runs.
    """
    most = max(map(threads, stages), default=1)
    cores = machine.cores()
    fitting = max(1, cores // max(1, min(jobs, len(stages))))
    if most <= fitting:
        return None
    print(
        f"{min(jobs, len(stages))} trainings of {most} threads are more than the {cores} cores: run.threads "
        f"becomes {fitting} in {repository.PARAMS}, so that what was trained with {most} trains again; "
        f"`make grid JOBS={max(1, cores // most)}` would keep it",
        flush=True,
    )
    return fitting


def part_of_gpu(jobs: int, gpus: int) -> float:
    """What each of so many trainings at a time gets of so many GPUs: one, none, or a part where there are too few."""
    return 1 / math.ceil(jobs / gpus) if gpus else 0.0


def longest_first(stages: Iterable[str]) -> list[str]:
    """By what the variant's earlier runs took at most; those never run come first."""

    def seconds(stage: str) -> float:
        variant, _ = repository.variant_and_seed(stage)
        earlier = EARLIER.glob(f"{variant}/*/*/run.json")
        logs = [log for file in earlier if (log := outputs.log(file.parent))]  # without those that are damaged
        return max((log.seconds for log in logs), default=math.inf)

    return sorted(stages, key=seconds, reverse=True)
