"""Have DVC record or restore many trainings at once: `python -m mtbert.recording record train@pals-1 train@pals-2`.

`dvc commit` with several names reads dvc.yaml and writes dvc.lock once for each of them, and no command restores
without training what cannot be restored. So this takes DVC's own parts, in the order in which its `commit` and `repro`
take them.
"""

import logging
import sys
from collections.abc import Iterable

from dvc.repo import Repo, lock_repo
from dvc.stage import PipelineStage
from dvc.stage.cache import RunCacheNotFoundError


def record(stages: Iterable[PipelineStage]) -> list[PipelineStage]:
    """As `dvc commit --force` does; all of them."""
    done = list(stages)
    for stage in done:
        stage.save()
        stage.commit()
    return done


def restore(stages: Iterable[PipelineStage]) -> list[PipelineStage]:
    """As `dvc repro` does before it would train; those that lie in the run cache."""
    return record([stage for stage in stages if _restored(stage)])


def _restored(stage: PipelineStage) -> bool:
    stage.remove_outs()
    try:
        stage.repo.stage_cache.restore(stage)
    except RunCacheNotFoundError:
        return False
    return True


def main(action: str, names: Iterable[str]) -> None:
    """Do it once no other DVC is at work, and print the names of those that it was done to."""
    logging.getLogger("dvc").setLevel(logging.WARNING)
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        found = [stage for name in names for stage in repo.stage.collect(name)]
        stages = [stage for stage in found if isinstance(stage, PipelineStage)]
        done = {"record": record, "restore": restore}[action](stages)
        if done:
            done[0].dvcfile.dump_stages(done, update_pipeline=False)
    if action == "restore":
        print(*(stage.addressing for stage in done), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
