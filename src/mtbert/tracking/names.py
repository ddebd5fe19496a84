"""Names in MLflow: of runs, of their parameters and of their values."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mtbert.tasks import TASKS

DESCRIPTION = "mlflow.note.content"  # the tag that MLflow shows as a description
LONGEST_CHANGES = 80  # characters of a run's name; the description has all of them
LONGEST_VALUE, LONGEST_TAG = 6000, 5000  # MLflow's limits
ASIDE = {"also", "rival", "sources", "phases", "members"}  # of a plan file: no settings, or flattened apart
DIGITS = 4  # of a score
GROUPS = {"dev": "final/dev", "test": "final/test", "train": "final/train", "parameters": "parameters"}
ABOUT = """\
A run for each variant and seed, with the parameters of params.yaml. `final/...` is the result. `dev/...` are the \
scores on dev after each epoch, by which the epoch is chosen: compare no models by them. `loss/...` are means over the \
steps since the entry before. One seed decides nothing: the report has means over seeds with their intervals.
"""


def experiment_tags() -> dict[str, str]:
    """Return an experiment's tags: its description, that it opens with its runs, and the view "Scores"."""
    columns = [f"metrics.`final/dev/{name}`" for name in ("overall_normalised", *TASKS)]
    state = {"orderByKey": columns[0], "orderByAsc": False, "selectedColumns": columns}
    view = {"name": "Scores", "createdAt": 0, "updatedAt": 0, "state": json.dumps(state)}
    return {
        DESCRIPTION: ABOUT,
        "mlflow.experimentKind": "custom_model_development",
        "mlflow.sharedViewState.scores": json.dumps(view),
    }


def run_name(subject: str, changes: Mapping[str, Any], seed: int) -> str:
    """Return a name such as `pals pals.dim=276 seed 1`; a long list of changes is cut off, and its length added."""
    text = " ".join(f"{key.removeprefix(f'catalog.{subject}.')}={_text(value)}" for key, value in changes.items())
    if len(text) > LONGEST_CHANGES:
        text = f"{text[:LONGEST_CHANGES]}... ({len(changes)} changes)"
    return " ".join(filter(None, [subject, text, f"seed {seed}"]))


def description(settings: Mapping[str, Any], data: str, changes: Mapping[str, Any]) -> str:
    """Write a run's description, in Markdown: its row, its data, and what departs from the defaults."""
    row = f" “{settings['row']}” of {settings['paper']};" if "row" in settings else ""
    vote = f" a vote of {', '.join(settings['members'])};" if "members" in settings else ""
    changed = "".join(f"\n- `{key}`: {_text(value)}" for key, value in changes.items())
    departs = f"Departs from the defaults of params.yaml in:\n{changed}" if changes else "All settings are defaults."
    return f"{row}{vote} data {data}, seed {settings['seed']}.\n\n{departs}".strip()[:LONGEST_TAG]


def parameters(settings: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a plan file to parameters by the names of params.yaml.

    `{"model": {"adapter": {"name": "pals", "dim": 204}}}` becomes `{"model.adapter": "pals", "pals.dim": "204"}`. A
    value in which phases differ is named `phases.0.epochs`, as in the catalog, and else `training.epochs`.
    """
    flat = {key: value for name in settings.keys() - ASIDE for key, value in _settings(name, settings[name])}
    phases = [dict(_settings("training", phase)) for phase in settings.get("phases", [])]
    for number, phase in enumerate(phases):
        for key, value in phase.items():
            is_shared = all(other.get(key, value) == value for other in phases)
            flat[key if is_shared else key.replace("training", f"phases.{number}", 1)] = value
    return {key: _text(value)[:LONGEST_VALUE] for key, value in flat.items()}


def _settings(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield settings by their keys; those of a technique, which has a `name`, are in the section of that name."""
    if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for one in value:
            yield from _settings(path, one)
        yield path, [one["name"] for one in value]
    elif isinstance(value, Mapping) and value:
        for key, child in value.items():
            if key == "name":
                yield path, child
            else:
                yield from _settings(f"{value.get('name', path)}.{key}", child)
    else:
        yield path, value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def scores(results: Mapping[str, Any]) -> dict[str, float]:
    """Return final scores and counts: `final/dev/sts`, `parameters/added`, `run/steps`."""
    named = {f"{GROUPS[group]}/{name}": value for group in GROUPS for name, value in results.get(group, {}).items()}
    return named | {f"run/{name}": results[name] for name in ("steps", "epoch") if name in results}


def rounded(name: str, value: float) -> float:
    """Round a score as a table shows it; return another value as it is."""
    return round(value, DIGITS) if name.startswith(("dev/", "final/")) else float(value)
