"""The page of MLflow that `make mlflow` opens: an experiment's runs, what was changed in each, and its scores.

MLflow keeps a saved view as a tag of the experiment, and its menu *Views* lists it. The form is that of MLflow 3.17's
page: a column is named by its kind and key; its width is in pixels.
"""

import json

from mtbert.tasks import COURSE

CHANGED = "changed"  # the tag of a run, what departs from params.yaml
KEY = "scores"
TAG = f"mlflow.sharedViewState.{KEY}"
SCORES = [f"final/dev/{name}" for name in (*COURSE, "overall_raw") if name not in COURSE or not COURSE[name].serves]
SELECTED = {f"tags.`{CHANGED}`": 140} | {f"metrics.`{name}`": 24 + 7 * len(name) for name in SCORES}
PAGE = "?workflowType=machine_learning"  # else MLflow 3 shows pages for language models


def saved() -> str:
    """Return the saved view, as the value of `TAG`."""
    name = {"attributes.`Run Name`": 260}
    state = {
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "selectedColumns": [*SELECTED],
        "columnOrder": [*name, *SELECTED, "duration"],
        "columnWidths": name | SELECTED,
    }
    return json.dumps({"name": "Scores", "createdAt": 0, "state": json.dumps(state)})


def address(port: int, experiment: str | None) -> str:
    """Return the address of an experiment's runs on this machine, by its id; else that of the list of experiments."""
    page = f"/{experiment}/runs{PAGE}&viewStateShareKey={KEY}" if experiment else PAGE
    return f"http://127.0.0.1:{port}/#/experiments{page}"
