"""DVC in this repository: what `make reproduce` does, and the steps of it that packs share."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mtbert import locking
from mtbert.config.params import Params
from mtbert.errors import SettingsError
from mtbert.scale import trainings
from mtbert.scale.trainings import OUTPUT, Training, say

DVC = (sys.executable, "-m", "dvc", "--wait-for-lock")
BIN = str(Path(sys.executable).parent)  # stages start `python`, which has to be this one, activated or not
PARAMS = Path("params.yaml")
LOCK = OUTPUT / "lock"


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
        SystemExit: a stage failed, which DVC has told.
    """
    if not address and (gpus or storage):
        raise SettingsError("--gpus and --storage are of a cluster, --address; here --jobs trainings share the GPUs")
    finished = list[Training]()
    with locking.alone(LOCK, "grid"):
        if waiting := prepare(variants):
            say(f"{len(waiting)} to train; their output is in {OUTPUT}/")
        try:
            if waiting and address:
                from mtbert.scale import cluster

                with cluster.joined(address, waiting, gpus, storage) as start:
                    trainings.run(waiting, start, [{}] * (jobs or len(waiting)), OUTPUT, finished.append)
            else:
                trainings.run_here(waiting, jobs or 1, OUTPUT, finished.append)
        finally:
            commit(*finished)
        dvc("repro")


def dvc(*arguments: str) -> None:
    """Run a DVC command on the terminal; leave with its status where it fails. Only `commit` is deaf to Ctrl-C."""
    environment = os.environ | {"PATH": os.pathsep.join([BIN, os.environ.get("PATH", os.defpath)])}
    deaf = arguments[0] == "commit"
    done = subprocess.run([*DVC, *arguments], env=environment, start_new_session=deaf, check=False)
    if done.returncode:
        sys.exit(abs(done.returncode))


def prepare(variants: str | None = None) -> list[Training]:
    """Make what trainings start from, and return those that have to be trained; restore those that DVC's cache has.

    `variants` are set in params.yaml first: names with spaces between, or all; None for what it says.

    Raises:
        SystemExit: a stage failed, which DVC has told.
    """
    if variants is None:
        dvc("repro", "init")
    else:
        names = Params(PARAMS).get("catalog") if variants == "all" else variants.split()
        dvc("exp", "run", "-S", f"variants=[{','.join(map(repr, names))}]", "init")  # in quotes: a name may be 12
    return _outdated(listed())


def listed() -> list[Training]:
    """Return the trainings that params.yaml lists, all seeds of a variant before the next."""
    params = Params(PARAMS)
    return [Training(variant=name, seed=seed) for name in params.get("variants") for seed in params.get("seeds")]


def commit(*done: Training) -> None:
    """Have DVC record runs that are in place: in dvc.lock, its cache and its run cache."""
    if done:
        dvc("commit", "--quiet", "--force", *(training.stage for training in done))


def _outdated(found: Sequence[Training]) -> list[Training]:
    """Return those to be trained; restore the others, since no command of DVC's restores without training the rest."""
    from dvc.repo import Repo, lock_repo
    from dvc.stage.cache import RunCacheNotFoundError
    from dvc_data.hashfile.hash_info import HashInfo

    waiting, restored = list[Training](), list[Training]()
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for training in found:
            (stage,) = repo.stage.collect(training.stage)
            if not stage.changed():
                continue
            try:
                stage.save_deps()
                for out in stage.outs:  # else DVC takes dvc.lock's outputs for those of the new inputs
                    out.hash_info = HashInfo()
                repo.stage_cache.restore(stage, dry=True)  # whether it lies there
                stage.remove_outs()
                repo.stage_cache.restore(stage)
                restored.append(training)
                say(f"{training.name}: restored")
            except RunCacheNotFoundError:
                waiting.append(training)
    commit(*restored)
    return waiting
