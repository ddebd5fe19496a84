"""DVC in this repository: make what trainings start from, find those that are not up to date, restore and record."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from mtbert.config.params import Params
from mtbert.errors import SettingsError
from mtbert.scale.trainings import BUILD, SCRIPT, Training, is_finished, of_stage, say

DVC = (sys.executable, "-m", "dvc", "--wait-for-lock")
BIN = str(Path(sys.executable).parent)  # stages start `python`, which has to be this one, activated or not
PARAMS = Path("params.yaml")
LOCK = BUILD / "grid/lock"
POLL = 0.5  # seconds


def dvc(*arguments: str) -> None:
    """Run a DVC command on the terminal; leave with its status where it fails."""
    if status := subprocess.run([*DVC, *arguments], check=False, env=_environment()).returncode:
        sys.exit(abs(status))


def prepare(variants: str | None, settings: Sequence[str]) -> list[Training]:
    """Set values in params.yaml, make what trainings start from, and return those that have to be trained.

    Those whose run is in place are recorded, and those that lie in DVC's run cache are restored.

    Args:
        variants: names with spaces between, or `all` of the catalog; None for what params.yaml says.
        settings: further ones, as `dvc exp run -S` takes them.

    Raises:
        SettingsError: params.yaml launches each training on several processes.
        SystemExit: a stage failed, which DVC has told.
    """
    wait_for_others()
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
    changed = _changed()
    here = [training for training, more in changed.items() if more and is_finished(training, BUILD, BUILD)]
    here += _restored([training for training in changed if training not in here])
    commit(here)
    return [training for training in listed() if training in changed and training not in here]


def listed() -> list[Training]:
    """Return the trainings that params.yaml lists, all seeds of a variant before the next."""
    params = Params(PARAMS)
    return [Training(variant=name, seed=seed) for name in params.get("variants") for seed in params.get("seeds")]


def _changed() -> dict[Training, bool]:
    """Return the trainings that are not up to date, each with whether it is for more than their script alone.

    A run does not know the script that made it, so one that is in place counts only where more has changed since DVC
    recorded one: then it was made later.
    """
    done = subprocess.run([*DVC, "status", "--json", "train"], stdout=subprocess.PIPE, check=False, env=_environment())
    if done.returncode:
        sys.exit(done.returncode)
    changed = {}
    for stage, reasons in json.loads(done.stdout).items():
        paths = {path for reason in reasons if isinstance(reason, dict) for path in reason.get("changed deps", ())}
        changed[of_stage(stage)] = paths != {str(SCRIPT)}
    return changed


def commit(trainings: Sequence[Training]) -> None:
    """Have DVC record runs that are in place: in dvc.lock, its cache and its run cache."""
    if trainings:
        command = [*DVC, "commit", "--quiet", "--force", *(training.stage for training in trainings)]
        done = subprocess.run(command, check=False, env=_environment(), start_new_session=True)  # not for Ctrl-C
        if done.returncode:
            sys.exit(abs(done.returncode))


def _restored(trainings: Sequence[Training]) -> list[Training]:
    """Have DVC restore those that lie in its run cache; no command of DVC's does so without training the others."""
    from dvc.repo import Repo, lock_repo
    from dvc.stage.cache import RunCacheNotFoundError
    from dvc_data.hashfile.hash_info import HashInfo

    restored = list[Training]()
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for training in trainings:
            (stage,) = repo.stage.collect(training.stage)
            with contextlib.suppress(RunCacheNotFoundError):
                stage.save_deps()
                for out in stage.outs:  # else DVC takes dvc.lock's outputs for those of the new inputs
                    out.hash_info = HashInfo()
                repo.stage_cache.restore(stage, dry=True)  # whether it lies there
                stage.remove_outs()
                repo.stage_cache.restore(stage)
                restored.append(training)
                say(f"{training.name}: restored")
    return restored


def wait_for_others() -> None:
    """Wait until no other DVC makes anything in this folder; say which does."""
    told = set[int]()
    while others := [process for process in psutil.process_iter() if _makes(process)]:
        for process in others:
            if process.pid not in told:
                say(f"process {process.pid} runs here: {' '.join(process.cmdline())}; waiting until it ends")
        told |= {process.pid for process in others}
        time.sleep(POLL)


def _makes(process: psutil.Process) -> bool:
    try:
        command, here = process.cmdline(), process.cwd() == os.getcwd()
    except psutil.Error:  # it has ended, or is another user's
        return False
    dvc = any(Path(part).name in ("dvc", "dvc.exe") for part in command[:3])
    return here and dvc and ("repro" in command or {"exp", "run"} <= {*command})


def _environment() -> dict[str, str]:
    return os.environ | {"PATH": os.pathsep.join([BIN, *filter(None, [os.environ.get("PATH")])])}
