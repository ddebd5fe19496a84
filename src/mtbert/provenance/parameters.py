"""Settings by the names of params.yaml: as MLflow's parameters, and where two models are compared."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

ROWS = ("also", "rival")  # keys of a plan file that name published rows, and are no settings
APART = {*ROWS, "sources", "described", "phases"}  # keys that are no settings, or are flattened apart


def parameters(settings: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a plan file to parameters by the names of params.yaml.

    `{"model": {"adapter": {"name": "pals", "dim": 204}}}` becomes `{"model.adapter": "pals", "pals.dim": "204"}`. A
    value in which phases differ is named `phases.0.epochs`, as in the catalog, and else `training.epochs`.
    """
    flat: dict[str, Any] = {}
    for name in settings.keys() - APART:
        flat |= _settings(name, settings[name])
    for task, fields in (settings.get("described") or {}).items():
        # a task's labels are one parameter: a name in MLflow may not have all characters of a label
        flat |= {f"described.{task}.{key}": value for key, value in fields.items()}
    phases = [dict(_settings("training", phase)) for phase in settings.get("phases", [])]
    for number, phase in enumerate(phases):
        for key, value in phase.items():
            is_shared = all(other.get(key, value) == value for other in phases)
            flat[key if is_shared else key.replace("training", f"phases.{number}", 1)] = value
    return {key: setting_text(value) for key, value in flat.items()}


def _settings(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield settings by their keys; those of a technique, which has a `name`, are in the section of that name."""
    if isinstance(value, list) and any(isinstance(choice, Mapping) for choice in value):
        for choice in value:
            yield from _settings(path, choice)
        yield path, [choice["name"] for choice in value]
    elif isinstance(value, Mapping) and value:
        for key, child in value.items():
            if key == "name":
                yield path, child
            else:
                yield from _settings(f"{value.get('name', path)}.{key}", child)
    else:
        yield path, value


def setting_text(value: Any) -> str:
    """Return a setting as text: a string as it is, else JSON, so that equal settings are equal texts."""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)
