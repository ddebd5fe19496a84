"""The code that results depend on, by digest: that of every stage, and that of every technique alone.

The plan holds both, so that a stage runs again exactly where code has changed that it reaches by its imports.
"""

from functools import cache
from pathlib import Path

import mtbert
from mtbert.closures import closure
from mtbert.plan.techniques import REGISTRIES
from mtbert.pretraining.settings import PRETRAININGS

PACKAGE = Path(mtbert.__file__).parent
SCRIPTS = Path("stages")  # one for each stage; they run at the repository's root
# Each registers the techniques of a kind. The plan file of a variant has the digests of those that it uses.
REGISTRATIONS = tuple(
    f"{next(registry[name].source.parent.name for name in registry)}/__init__.py" for registry in REGISTRIES
)
# They check, write, log, look up, or make files that are compared by digest: no number of a training depends on them.
WITHOUT_INFLUENCE = (
    "__init__.py", "closures.py", "command.py", "credentials.py", "errors.py", "files.py", "inputs.py", "locking.py",
    "outputs.py", "registry.py", "starting.py", "tracking/", "data/__init__.py", "data/readers.py",
    "encoder/__init__.py", "pretraining/__init__.py", "pretraining/settings.py", "training/__init__.py",
    "training/logs.py", "training/progress.py",
)  # fmt: skip


def of_stages(scripts: Path = SCRIPTS) -> dict[str, dict[str, str]]:
    """Return the plan file, such as `code-encoder`, of each script below `scripts`: digests of the files it reaches."""
    by_plan_file = {
        f"code-{script.stem}": closure([script], PACKAGE)
        for script in sorted(scripts.glob("*.py"))
        if script.stem not in ("pretrain", "train")
    }
    for name in PRETRAININGS:  # the script imports them by name
        starts = [scripts / "pretrain.py", PACKAGE / f"pretraining/{name}.py"]
        by_plan_file[f"code-pretrain-{name}"] = closure(starts, PACKAGE, WITHOUT_INFLUENCE)
    return by_plan_file | {"code-train": of_training(scripts)}


def of_training(scripts: Path = SCRIPTS) -> dict[str, str]:
    """Return the digests of the files that every training uses, whatever it trains."""
    return closure([scripts / "train.py"], PACKAGE, (*REGISTRATIONS, *WITHOUT_INFLUENCE))


@cache
def of_technique(source: Path) -> dict[str, str]:
    """Return the digests of the files that a technique uses beside those that every training uses."""
    shared = closure([PACKAGE / "assembly.py"], PACKAGE, (*REGISTRATIONS, *WITHOUT_INFLUENCE))
    own = closure([source], PACKAGE, (*REGISTRATIONS, *WITHOUT_INFLUENCE))
    return {name: digest for name, digest in own.items() if name not in shared}
