"""The code that results depend on, by digest: of every stage, and of every technique beside what trainings share.

The plan names both, so that a stage runs again where code has changed that it comes to by its imports, and only there.
"""

from functools import cache
from pathlib import Path

import mtbert
from mtbert.closures import closure
from mtbert.encoder.sources import PRETRAININGS
from mtbert.plan.techniques import REGISTRIES

PACKAGE = Path(mtbert.__file__).parent
SCRIPTS = Path("stages")  # a stage each; stage scripts run at the repository's root
# Each registers the techniques of a kind. What a variant uses of them comes in through its own plan file.
REGISTRATIONS = tuple(
    f"{next(registry[name].source.parent.name for name in registry)}/__init__.py" for registry in REGISTRIES
)
# They refuse, write, log, look things up or make what comes in by digest: no number of a training goes through them.
WITHOUT_INFLUENCE = (
    "__init__.py", "closures.py", "command.py", "credentials.py", "errors.py", "files.py", "inputs.py", "locking.py",
    "outputs.py", "registry.py", "starting.py", "tracking/", "data/__init__.py", "data/readers.py",
    "encoder/__init__.py", "encoder/sources.py", "encoder/tiny.py", "training/__init__.py", "training/logs.py",
    "training/progress.py",
)  # fmt: skip


def of_stages(scripts: Path = SCRIPTS) -> dict[str, dict[str, str]]:
    """For each script below `scripts`: plan file, such as `code-encoder`, to the digests of the files it comes to."""
    found = {
        f"code-{script.stem}": closure([script], PACKAGE)
        for script in sorted(scripts.glob("*.py"))
        if script.stem not in ("pretrain", "train")
    }
    for name in PRETRAININGS:  # which the script imports by name
        starts = [scripts / "pretrain.py", PACKAGE / f"encoder/{name}.py"]
        found[f"code-pretrain-{name}"] = closure(starts, PACKAGE, WITHOUT_INFLUENCE)
    return found | {"code-train": of_training(scripts)}


def of_training(scripts: Path = SCRIPTS) -> dict[str, str]:
    """What every training goes through, whatever it trains."""
    return closure([scripts / "train.py"], PACKAGE, (*REGISTRATIONS, *WITHOUT_INFLUENCE))


@cache
def of_technique(source: Path) -> dict[str, str]:
    """What the technique in that file goes through itself; what every training does comes in by `of_training`."""
    shared = closure([PACKAGE / "assembly.py"], PACKAGE, (*REGISTRATIONS, *WITHOUT_INFLUENCE))
    own = closure([source], PACKAGE, (*REGISTRATIONS, *WITHOUT_INFLUENCE))
    return {name: digest for name, digest in own.items() if name not in shared}
