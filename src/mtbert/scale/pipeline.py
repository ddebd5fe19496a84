"""DVC in this repository: make what trainings start from, find those that are not up to date, restore and record."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from mtbert.config.params import Params
from mtbert.errors import SettingsError
from mtbert.scale.trainings import OUTPUT, Training, say

DVC = (sys.executable, "-m", "dvc", "--wait-for-lock")
BIN = str(Path(sys.executable).parent)  # stages start `python`, which has to be this one, activated or not
PARAMS = Path("params.yaml")
LOCK = OUTPUT / "lock"


def dvc(*arguments: str, deaf: bool = False) -> None:
    """Run a DVC command on the terminal, `deaf` to its Ctrl-C; leave with its status where it fails."""
    environment = os.environ | {"PATH": os.pathsep.join([BIN, *filter(None, [os.environ.get("PATH")])])}
    if status := subprocess.run([*DVC, *arguments], env=environment, start_new_session=deaf, check=False).returncode:
        sys.exit(abs(status))


def prepare(variants: str | None, settings: Sequence[str]) -> list[Training]:
    """Set values in params.yaml, make what trainings start from, and return those that have to be trained.

    Those that lie in DVC's run cache are restored.

    Args:
        variants: names with spaces between, or `all` of the catalog; None for what params.yaml says.
        settings: further ones, as `dvc exp run -S` takes them.

    Raises:
        SettingsError: params.yaml launches each training on several processes.
        SystemExit: a stage failed, which DVC has told.
    """
    _wait_for_others()
    if variants is not None:
        names = Params(PARAMS).get("catalog") if variants == "all" else variants.split()
        settings = [f"variants=[{','.join(map(repr, names))}]", *settings]  # in quotes: a name may be 12 or off
    dvc(*(["exp", "run"] if settings else ["repro"]), *(part for one in settings for part in ("-S", one)), "init")
    launch = str(Params(PARAMS).get("launch")).split()
    if launch[:1] in (["torchrun"], ["accelerate"]):
        raise SettingsError(
            f"{PARAMS}: launch is {' '.join(launch)!r}, which gives each training several processes and GPUs of its "
            "own choice; side by side they take one each: launch: python, or `dvc repro` for one after the other"
        )
    waiting, restored = _outdated(listed())
    commit(restored)
    return waiting


def listed() -> list[Training]:
    """Return the trainings that params.yaml lists, all seeds of a variant before the next."""
    params = Params(PARAMS)
    return [Training(variant=name, seed=seed) for name in params.get("variants") for seed in params.get("seeds")]


def commit(trainings: Sequence[Training]) -> None:
    """Have DVC record runs that are in place: in dvc.lock, its cache and its run cache."""
    if trainings:
        dvc("commit", "--quiet", "--force", *(training.stage for training in trainings), deaf=True)


def _outdated(trainings: Sequence[Training]) -> tuple[list[Training], list[Training]]:
    """Return those to be trained, and those restored, since no command of DVC's restores without training the rest."""
    from dvc.repo import Repo, lock_repo
    from dvc.stage.cache import RunCacheNotFoundError
    from dvc_data.hashfile.hash_info import HashInfo

    waiting, restored = list[Training](), list[Training]()
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for training in trainings:
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
    return waiting, restored


def _wait_for_others() -> None:
    """Wait until no other DVC makes anything in this folder; say which does."""
    for process in psutil.process_iter():
        if _makes(process):
            say(f"process {process.pid} runs here: {' '.join(process.cmdline())}; waiting until it ends")
            process.wait()


def _makes(process: psutil.Process) -> bool:
    try:
        command, here = process.cmdline(), process.cwd() == os.getcwd()
    except psutil.Error:  # it has ended, or is another user's
        return False
    dvc = any(Path(part).name in ("dvc", "dvc.exe") for part in command[:3])
    return here and dvc and ("repro" in command or {"exp", "run"} <= {*command})
