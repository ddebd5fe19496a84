"""The page of MLflow that `make mlflow` opens: an experiment's runs, what was changed in each, and its scores.

MLflow keeps a saved view as a tag of the experiment, and its menu *Views* lists it. The form is that of MLflow 3.17's
page: a column is named by its kind and key; its width is in pixels.
"""

import json
from collections.abc import Sequence

from mtbert.scores.metrics import means
from mtbert.tasks import Tasks

CHANGED = "changed"  # the tag of a run, what departs from params.yaml
KEY = "scores"
TAG = f"mlflow.sharedViewState.{KEY}"
PAGE = "?workflowType=machine_learning"  # else MLflow 3 shows pages for language models


def scores(tasks: Tasks) -> tuple[str, ...]:
    """Return the scores that the page shows: of each task, and the mean over them."""
    names = [name for name, task in tasks.items() if not task.serves]
    return tuple(f"final/dev/{name}" for name in (*names, means(tasks)[0]))


def saved(columns: Sequence[str]) -> str:
    """Return the saved view with these scores, sorted by the last of them, the best first, as the value of `TAG`."""
    name = "attributes.`Run Name`"
    widths = {f"tags.`{CHANGED}`": 140}
    for column in columns:
        widths[f"metrics.`{column}`"] = 24 + 7 * len(column)
    state = {
        "orderByKey": f"metrics.`{columns[-1]}`",
        "orderByAsc": False,
        "selectedColumns": [*widths],
        "columnOrder": [name, *widths, "duration"],
        "columnWidths": {name: 260, **widths},
    }
    return json.dumps({"name": "Scores", "createdAt": 0, "state": json.dumps(state)})


def address(port: int, experiment: str | None) -> str:
    """Return the address of an experiment's runs on this machine, by its id; else that of the list of experiments."""
    page = f"/{experiment}/runs{PAGE}&viewStateShareKey={KEY}" if experiment else PAGE
    return f"http://127.0.0.1:{port}/#/experiments{page}"
