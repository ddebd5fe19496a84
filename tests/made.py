"""Made-up results: a few runs of four dev rows, as `collect` would have read them."""

import json
from typing import Any

import numpy as np
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
OF_PREDICTIONS = [
    "variant", "seed", "task", "split", "row", "id", "label", "prediction", "scored", "cluster", "in_train", "shares",
]  # fmt: skip
OF_HISTORY = ["variant", "seed", "phase", "step", "name", "value"]


def results(
    predicted: dict[tuple[str, int], dict[str, list[float]]],
    settings: dict[str, Any] | None = None,
    data: dict[str, Any] | None = None,
    start: dict[str, str] | None = None,
) -> Results:
    """Runs by variant and seed with their dev predictions by task; `settings` by variant."""
    runs, rows, history = [], [], []
    for (variant, seed), by_task in predicted.items():
        about = {"paper": "pals-for-pals", "row": variant, "tasks": [*by_task], "profile": "laptop"}
        about |= (settings or {}).get(variant, {})
        kind = "ensemble" if "members" in about else "variant"
        runs.append({"kind": kind, "variant": variant, "seed": seed, "settings": json.dumps(about), "overrides": ""}
                    | {"data": json.dumps(DATA | (data or {})), "start": json.dumps({"name": "minilm"} | (start or {}))}
                    | {"machine": "", "steps": 20} | WEIGHTS)  # fmt: skip
        for task, values in by_task.items():
            for row, (label, value) in enumerate(zip(LABELS[task], values, strict=True)):
                rows.append((variant, seed, task, "dev", row, f"{task}-{row}", label, value, True, row, False, not row))
            losses = ((10, 1.0), (20, 0.5 + 1e-9 * seed))  # that no other seed has
            history += [(variant, seed, 1, step, f"loss/{task}", loss) for step, loss in losses]
    made = Results(
        tables.joined([pd.DataFrame(runs)], "runs", COURSE),
        tables.joined([pd.DataFrame(rows, columns=OF_PREDICTIONS)], "predictions", COURSE),
        tables.joined([pd.DataFrame(history, columns=OF_HISTORY)], "history", COURSE),
    )
    state_scores(made)
    return Results(made.runs, made.predictions, made.history)  # without what was computed from them


def state_scores(results: Results) -> None:
    """Write into the table of runs what the predictions score."""
    computed = checks.computed_scores(results)
    by_run = [computed.get(key, {}) for key in zip(results.runs["variant"], results.runs["seed"], strict=True)]
    for column in dict.fromkeys(column for scores in by_run for column in scores):
        results.runs[column] = [scores.get(column, np.nan) for scores in by_run]
