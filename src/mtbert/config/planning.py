"""Turn params.yaml and the papers into one resolved, checked settings file for each variant.

A variant's file holds only what the variant uses, so that DVC trains again exactly what a change concerns. All values
are checked, and what the selected variants make of them; all faults are told at once, those of single values first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.config import overrides, resolve, sections
from mtbert.config.documents import documents
from mtbert.config.params import Fault, Params
from mtbert.errors import SettingsError


@dataclass(frozen=True)
class Planned:
    """The files for the stages, by name, and the lines to print on the terminal."""

    documents: dict[str, Any]
    notes: list[str]


def plan(params: Params) -> Planned:
    """Resolve and check the selected variants; SettingsError with all faults."""
    _refuse(params, sections.find_faults(params))
    selected, faults = dict[str, dict[str, Any]](), list[Fault]()
    for name in params.get("variants"):
        selected[name], own = resolve.variant(params, name)
        faults += own
    _refuse(params, faults)
    found = overrides.find(params, selected)
    _refuse(params, [overrides.lost(params, one) for one in found if one.is_lost])
    planned = documents(params, selected)
    planned["catalog"]["overrides"] = [one.argument for one in found]
    for name, entry in planned["catalog"]["variants"].items():
        theirs = [one for one in found if name in one.changes and one.place != ("catalog", name)]
        entry["overrides"] = {one.key: one.value for one in theirs}  # none for a variant of your own
    lines = [overrides.describe(params, one) for one in found]
    return Planned(planned, ["what departs from the defaults", *lines] if lines else [])


def _refuse(params: Params, faults: list[Fault]) -> None:
    if faults:
        raise SettingsError(params.format_faults(faults))


def write(documents: Mapping[str, Any], out: Path) -> None:
    """Write each document to a file, in a new directory; the catalog in its own order, which the report keeps."""
    with files.new_directory(out) as directory:
        for name, document in documents.items():
            files.write_yaml(directory / f"{name}.yaml", document, in_order=name == "catalog")
        files.seal(directory)
