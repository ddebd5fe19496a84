"""Made-up results: a few runs of four dev rows, as `collect` would have read them."""

import json
from typing import Any

import pandas as pd

from mtbert.provenance import manifests
from mtbert.scores import checks, tables
from mtbert.scores.results import Results
from mtbert.tasks import COURSE

MANIFEST = {
    "files": {f"encoders/made/{name}": "1a" for name in manifests.ENCODER_FILES},
    "settings": {}, "code": {}, "machine": {"processor": "i386", "accelerator": "", "torch": "2.13.0"},
}  # fmt: skip
LABELS = {"sst": [0.0, 1.0, 2.0, 3.0], "qqp": [0.0, 1.0, 1.0, 0.0], "sts": [0.0, 1.0, 2.0, 5.0]}
DATA = {"name": "data/sample", "whose": "course"}
WEIGHTS = {"encoder": 1000, "added": 100, "trained": 1100, "stored": 1100}


def results(
    predicted: dict[tuple[str, int], dict[str, list[float]]],
    settings: dict[str, Any] | None = None,
    data: dict[str, Any] | None = None,
) -> Results:
    """Runs by variant and seed with their dev predictions by task; `settings` by variant."""
    runs, rows, history = [], [], []
    for (variant, seed), by_task in predicted.items():
        about = {"paper": "pals-for-pals", "row": variant, "tasks": [*by_task], "profile": "laptop"}
        about |= (settings or {}).get(variant, {})
        kind = "ensemble" if "members" in about else "variant"
        runs.append({"kind": kind, "variant": variant, "seed": seed, "settings": json.dumps(about), "overrides": ""}
                    | {"data": json.dumps(DATA | (data or {})), "start": json.dumps({"name": "minilm"})}
                    | {"machine": "", "steps": 20} | WEIGHTS)  # fmt: skip
        rows += [_rows(task, values).assign(variant=variant, seed=seed) for task, values in by_task.items()]
        history += [_history(task, seed).assign(variant=variant, seed=seed) for task in by_task]
    made = Results(
        tables.joined([pd.DataFrame(runs)], "runs", COURSE),
        tables.joined(rows, "predictions", COURSE),
        tables.joined(history, "history", COURSE),
    )
    for (variant, seed), scores in checks.computed_scores(made).items():
        of_run = (made.runs["variant"] == variant) & (made.runs["seed"] == seed)
        for column, value in scores.items():
            made.runs.loc[of_run, column] = value
    return Results(made.runs, made.predictions, made.history)  # without what was computed from them


def _rows(task: str, values: list[float]) -> pd.DataFrame:
    count = len(values)
    rows = {"task": task, "split": "dev", "row": range(count), "id": [f"{task}-{row}" for row in range(count)]}
    flags = {"scored": True, "cluster": range(count), "in_train": False, "shares": [row == 0 for row in range(count)]}
    return pd.DataFrame(rows | flags | {"label": LABELS[task], "prediction": values})


def _history(task: str, seed: int) -> pd.DataFrame:
    """Losses that no other seed has."""
    return pd.DataFrame({"phase": 1, "step": [10, 20], "name": f"loss/{task}", "value": [1.0, 0.5 + 1e-9 * seed]})
