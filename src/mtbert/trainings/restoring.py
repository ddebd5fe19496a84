"""Restore what DVC's cache has of some stages, without running the others: no command of DVC's does that.

Like `repro`, this file uses what DVC does not document. It needs DVC 3.67, which requirements/run.lock installs.
"""

from collections.abc import Sequence
from enum import Enum, auto
from importlib import metadata

from mtbert.errors import MtbertError

NEEDED = "3.67"


class State(Enum):
    """How a stage stands."""

    CURRENT = auto()  # nothing has changed
    RESTORED = auto()  # its outputs came from the cache, and are not recorded yet
    OUTDATED = auto()  # it has to run


class DvcError(MtbertError):
    """Another DVC is installed than the one that this was written against."""


def restore(names: Sequence[str]) -> dict[str, State]:
    """Restore the outputs of stages that ran before with the inputs of now; return how each stands.

    Raises:
        DvcError: this version of DVC lacks inner parts that are used here.
    """
    try:
        return _restore(names)
    except (ImportError, AttributeError, TypeError) as error:
        version = metadata.version("dvc")
        raise DvcError(
            f"DVC {version} is installed, and runs cannot be restored with it ({error}); needed: DVC {NEEDED}, which "
            "`make setup` installs; `dvc repro` works with either"
        ) from error


def _restore(names: Sequence[str]) -> dict[str, State]:
    from dvc.repo import Repo, lock_repo
    from dvc.stage.cache import RunCacheNotFoundError
    from dvc_data.hashfile.hash_info import HashInfo

    states: dict[str, State] = {}
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for name in names:
            (stage,) = repo.stage.collect(name)
            if not stage.changed():
                states[name] = State.CURRENT
                continue
            try:
                stage.save_deps()
                for out in stage.outs:  # else DVC takes dvc.lock's outputs for those of the new inputs
                    out.hash_info = HashInfo()
                repo.stage_cache.restore(stage, dry=True)  # whether it lies there
                stage.remove_outs()
                repo.stage_cache.restore(stage)
                states[name] = State.RESTORED
            except RunCacheNotFoundError:
                states[name] = State.OUTDATED
    return states
