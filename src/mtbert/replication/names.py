"""Check that claims name variants and settings that exist, before anything is trained."""

from collections.abc import Iterator
from pathlib import Path

from mtbert import files
from mtbert.config import papers
from mtbert.config.params import Params
from mtbert.config.techniques import REGISTRIES
from mtbert.errors import SettingsError, UnknownNameError
from mtbert.judge import settings_diff
from mtbert.replication.claims import Claim, load
from mtbert.scores.described import UNTRAINED
from mtbert.variants.settings import ModelSettings, PhaseSettings

WHOLE = ("tasks", "training.tasks", "phases", settings_diff.MEMBERS)  # names of what is no single setting


def check(params: Params) -> None:
    """Raise SettingsError with file, line and claim of every name that neither params.yaml nor the papers know."""
    folder = params.file.parent / papers.FOLDER.name
    every = load(folder)
    variants = [*params.get("catalog"), *(params.get("ensembles") or {}), UNTRAINED]
    settings = sorted(_settings())
    faults = [
        f"  {_place(folder, claim)}: {fault}"
        for claim in (*every.claims.values(), *every.questions.values())
        for fault in _faults(claim, variants, settings)
    ]
    if faults:
        raise SettingsError("\n".join(["claims name what does not exist:", *faults]))


def _faults(claim: Claim, variants: list[str], settings: list[str]) -> Iterator[UnknownNameError]:
    models = dict.fromkeys(name for part in claim.parts for name in (*part.ours, *part.other))
    differing = dict.fromkeys(name for part in claim.parts for name in (*part.differs, *part.confounded))
    for kind, names, allowed in (("variant", models, variants), ("setting", differing, settings)):
        for name in names:
            if name not in allowed:
                yield UnknownNameError(kind, name, allowed)


def _settings() -> set[str]:
    """Return all names that `settings_diff.differing_settings` may return, and those of budgets and purposes."""
    single = {*ModelSettings.model_fields, *PhaseSettings.model_fields} - {"tasks"}
    options: set[str] = set()
    for registry in REGISTRIES:
        for name, technique in registry.items():
            options |= {f"{name}.{key}" for key in technique.settings.model_fields}
    return {*single, *options, *WHOLE, *settings_diff.BUDGETS, *settings_diff.PURPOSES}


def _place(folder: Path, claim: Claim) -> str:
    file = folder / f"{claim.paper}.yaml"
    if not file.is_file():  # one of the report's questions
        return f"question {claim.name}"
    return f"{file}:{files.yaml_line(file, ('claims', claim.name))}: {claim.name}"
