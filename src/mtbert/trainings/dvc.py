"""DVC in this repository: what has to be trained, what its cache has, and what is recorded.

The one place that gives DVC's commands; `restoring` and `repro` do what no command does.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mtbert import files
from mtbert.config.params import Params
from mtbert.errors import SettingsError, UnknownNameError
from mtbert.trainings import restoring
from mtbert.trainings.many import OUTPUT, Training, say

MODULES = {"repro": "mtbert.trainings.repro"}  # by DVC's command, what runs it in place of DVC's own program
BIN = str(Path(sys.executable).parent)  # stages start `python`, which has to be this one, activated or not
PARAMS = Path("params.yaml")
LOCK = OUTPUT / "lock"


def run(*arguments: str) -> None:
    """Run a DVC command on the terminal; leave with its status where it fails. Only `commit` is deaf to Ctrl-C."""
    environment = os.environ | {"PATH": os.pathsep.join([BIN, os.environ.get("PATH", os.defpath)])}
    deaf = arguments[0] == "commit"
    command = [sys.executable, "-m", MODULES.get(arguments[0], "dvc"), "--wait-for-lock", *arguments]
    done = subprocess.run(command, env=environment, start_new_session=deaf, check=False)
    if done.returncode:
        sys.exit(abs(done.returncode))


def prepare(variants: str | None = None) -> list[Training]:
    """Make what trainings start from, and return those that have to be trained; restore those that DVC's cache has.

    `variants` are set in params.yaml first: names with spaces between, or all; None for what it says.

    Raises:
        SettingsError: no variant is named, or there is no such; params.yaml stays as it is.
        SystemExit: a stage failed, and DVC has printed why.
    """
    if variants is not None:
        _select(variants)
    run("repro", "manifest")
    return _outdated(listed())


def _select(variants: str) -> None:
    """Set the variants in params.yaml: `dvc exp run` would do it, too, and keep an experiment without scores."""
    catalog = Params(PARAMS).get("catalog")
    names = [*catalog] if variants == "all" else [*dict.fromkeys(variants.split())]
    if not names:
        raise SettingsError("--variants names no variant; allowed: names with spaces between, or all")
    for name in names:
        if name not in catalog:
            raise UnknownNameError("variant", name, catalog)
    files.edit_yaml(PARAMS, {"variants": names})


def listed() -> list[Training]:
    """Return the trainings that params.yaml lists, all variants of a seed before the next: after each is an answer."""
    params = Params(PARAMS)
    return [Training(variant=name, seed=seed) for seed in params.get("seeds") for name in params.get("variants")]


def commit(*done: Training) -> None:
    """Have DVC record runs that are in place: in dvc.lock, its cache and its run cache."""
    if done:
        run("commit", "--quiet", "--force", *(training.stage for training in done))


def _outdated(trainings: Sequence[Training]) -> list[Training]:
    """Return those to be trained; restore and record the others."""
    in_place, outdated = restoring.restore([training.stage for training in trainings])
    restored = [training for training in trainings if training.stage in in_place]
    for training in restored:
        say(f"{training.name}: restored")
    commit(*restored)
    return [training for training in trainings if training.stage in outdated]
