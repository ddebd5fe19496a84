"""Restore what DVC's cache has of some stages, without running the others: no command of DVC's does that.

Like `repro`, this file uses what DVC does not document. It needs DVC 3.67, which requirements/run.lock installs.
"""

from collections.abc import Sequence
from importlib import metadata

from mtbert.errors import MtbertError

NEEDED = "3.67"


def restore(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Restore the outputs of stages that ran before with the inputs of now.

    Returns:
        The stages whose outputs came from the cache, and are not recorded yet; and those that have to run.

    Raises:
        MtbertError: this version of DVC lacks inner parts that are used here.
    """
    try:
        return _restore(names)
    except (ImportError, AttributeError, TypeError) as error:
        version = metadata.version("dvc")
        raise MtbertError(
            f"DVC {version} is installed, and runs cannot be restored with it ({error}); needed: DVC {NEEDED}, which "
            "`make setup` installs; `dvc repro` works with either"
        ) from error


def _restore(names: Sequence[str]) -> tuple[list[str], list[str]]:
    from dvc.repo import Repo, lock_repo
    from dvc.stage.cache import RunCacheNotFoundError
    from dvc_data.hashfile.hash_info import HashInfo

    restored, outdated = list[str](), list[str]()
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for name in names:
            (stage,) = repo.stage.collect(name)
            if not stage.changed():
                continue
            try:
                stage.save_deps()
                for out in stage.outs:  # else DVC takes dvc.lock's outputs for those of the new inputs
                    out.hash_info = HashInfo()
                repo.stage_cache.restore(stage, dry=True)  # whether it lies there
                stage.remove_outs()
                repo.stage_cache.restore(stage)
                restored.append(name)
            except RunCacheNotFoundError:
                outdated.append(name)
    return restored, outdated
