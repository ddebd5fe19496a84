"""params.yaml to one resolved, checked settings file per variant.

What a variant does not use never reaches its file, so that DVC trains again exactly what a change concerns. Every
variant of the catalog is checked before anything trains, and all faults are told at once.
"""

from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.plan import check, resolve, shape
from mtbert.plan.documents import documents
from mtbert.plan.params import Params


def plan(params: Params) -> dict[str, Any]:
    """Resolve and check everything: file name to content. SettingsError with all faults."""
    if wrong := shape.wrong(params):
        raise SettingsError(params.told(wrong))
    wrong = check.everything(params)
    variants: dict[str, dict[str, Any]] = {}
    for name in params.get("catalog") or {}:
        variants[name], found = resolve.variant(params, name)
        wrong += found
    if wrong:
        raise SettingsError(params.told(wrong))
    return documents(params, variants)


def write(planned: dict[str, Any], out: Path) -> None:
    """One file a document, in a new directory."""
    with files.new_directory(out) as directory:
        for name, document in planned.items():
            files.write_yaml(directory / f"{name}.yaml", document)


__all__ = ["Params", "plan", "write"]
