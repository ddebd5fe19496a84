"""Names and descriptions in MLflow: those of runs and values, and the columns of the table."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from mtbert.tasks import TASKS

NOTE = "mlflow.note.content"  # what MLflow shows as the description of an experiment or a run
EXPERIMENTS = "mtbert-"  # and the profile
VIEW = "scores"  # the saved view that `address` opens
LONGEST_CHANGES = 80  # characters of a run's name; the description has all of them
SERIES = {"learning_rate": "schedule/learning_rate", "examples_per_second": "speed/examples_per_second"}
CHOOSING = ("dev/", "choosing/")  # in history.csv, and in MLflow, where `score/dev/` stands beside it

ABOUT = """\
Trainings of mtbert, one run for a variant and a seed. A run's name is its variant, what departs from the defaults of \
params.yaml, and its seed; its description says more.

| values | are |
| --- | --- |
| `score/dev/...` | final scores on dev: the result |
| `score/test/...`, `score/train/...` | the same on test, where it has labels, and on training rows, where asked for |
| `choosing/...` | scores on dev during training, by which the epoch is chosen: compare no models by them |
| `loss/...` | training losses, means over the steps since the entry before |
| `schedule/...`, `speed/...` | the learning rate; examples a second |
| `parameters/...` | how many there are: the encoder's, those added, those trained, those to store beside the encoder |
| `run/...` | steps, epoch kept, seconds, memory of the training process |
| `system/...` | processor, memory, disk, network, GPU of the whole machine, while the run was logged live |

SST-5, QQP and the other classes are scored by accuracy, STS-B by Pearson's correlation. `overall_raw` is the mean of \
the three, `overall_normalised` the same with (r + 1) / 2 for STS-B.

To compare: open the view "Scores" (`?viewStateShareKey=scores` behind the address of the runs), which sorts by the \
overall score on dev; tick runs and choose Compare, or the chart view, for curves. One seed decides nothing: the \
report has means over seeds with their intervals.
"""
KEPT = {  # by run.keep and run.selection
    (
        "best",
        "cross",
    ): "two, each the best by the mean of the tasks' scores on one half of dev, and scored on the other "
    "half; the number, the weights and `score/test/...` are of the first half's choice",
    ("best", "half"): "the best by the mean of the tasks' scores on one half of dev (`choosing/...`)",
    ("best", "whole"): "the best by the mean of the tasks' scores on dev (`choosing/...`)",
    ("last", "cross"): "the last",
    ("last", "half"): "the last",
    ("last", "whole"): "the last",
}
SCORED = {  # by run.selection
    "cross": "`score/dev/...` is of all of dev, `choosing/...` the mean of the scores of its halves.",
    "half": "`score/dev/...` is of the half of dev that chooses no epoch, `choosing/...` of the other half.",
    "whole": "`score/dev/...` and `choosing/...` are both of all of dev.",
}


def run_name(subject: str, changes: Mapping[str, Any], seed: int) -> str:
    """Return a name such as `pals pals.dim=276 seed 1`; of many changes the first, their number and a digest."""
    listed = sorted(f"{key}={_plain(value)}" for key, value in _flat(changes, subject))
    whole = " ".join(listed)
    if len(whole) > LONGEST_CHANGES:
        code = hashlib.sha256(whole.encode()).hexdigest()[:6]
        rest = f"... ({len(listed)} change{'s' * (len(listed) > 1)}, {code})"
        whole = " ".join([*_fitting(listed, LONGEST_CHANGES - len(rest)), rest])
    return " ".join(filter(None, [subject, whole, f"seed {seed}"]))


def _flat(changes: Mapping[str, Any], subject: str, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each changed value with its dotted key; keys in the variant's own entry start there."""
    own = f"catalog.{subject}."
    for key, value in changes.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping) and value:
            yield from _flat(value, subject, f"{path}.")
        else:
            yield path.removeprefix(own), value


def _fitting(words: list[str], room: int) -> list[str]:
    """Return the first words that fit into `room` characters."""
    return [word for number, word in enumerate(words) if len(" ".join(words[: number + 1])) < room]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def series(name: str) -> str:
    """Return MLflow's name of a value of history.csv or speed.csv."""
    before, after = CHOOSING
    return after + name.removeprefix(before) if name.startswith(before) else SERIES.get(name, name)


def note(settings: Mapping[str, Any], changes: Mapping[str, Any], results: Mapping[str, Any] | None = None) -> str:
    """Write a run's description, in Markdown.

    Args:
        settings: holds `variant` or `ensemble`, `paper`, `row`, `profile` and, for a variant, `run`.
        changes: what departs from the defaults.
        results: metrics.json's content, once the run has ended.
    """
    subject = settings.get("variant") or settings.get("ensemble")
    origin = f", row “{settings['row']}” of {settings['paper']}" if "row" in settings else ""
    parts = [f"**{subject}**{origin}; profile {settings['profile']}, seed {settings['seed']}."]
    if members := settings.get("members"):
        parts.append(f"A vote of {', '.join(members)}.")
    listed = sorted(f"- `{key}`: {_plain(value)}" for key, value in _flat(changes, str(subject)))
    parts.append("\n".join(["Departs from the defaults of params.yaml in:", "", *listed]) if listed else DEFAULTS)
    if run := settings.get("run"):
        parts.append(_epoch(run, results))
    return "\n\n".join(parts)


DEFAULTS = "All settings are the defaults of params.yaml."


def _epoch(run: Mapping[str, Any], results: Mapping[str, Any] | None) -> str:
    keep, selection = str(run.get("keep")), str(run.get("selection"))
    kept = KEPT.get((keep, selection), keep)
    number = f" {results['epoch']}" if results and "epoch" in results else ""
    return f"Epoch kept{number}: {kept}. {SCORED.get(selection, '')}".strip()


def experiment_tags() -> dict[str, str]:
    """Return an experiment's tags: its description, its kind, which opens with the runs, and the view "Scores"."""
    return {
        NOTE: ABOUT,
        "mlflow.experimentKind": "custom_model_development",
        f"mlflow.sharedViewState.{VIEW}": _view(),
    }


def _view() -> str:
    """Return the view in the form of MLflow's user interface (3.17), which hides columns that no run has."""
    wide = [f"metrics.`score/{split}/overall_normalised`" for split in ("dev", "test")]
    narrow = [[f"metrics.`score/{split}/{task}`" for task in TASKS] for split in ("dev", "test")]
    columns = [wide[0], *narrow[0], wide[1], *narrow[1], "tags.`row`"]
    state = {
        "orderByKey": wide[0],
        "orderByAsc": False,
        "selectedColumns": columns,
        "columnOrder": ["attributes.`Run Name`", *columns],
        "columnWidths": {"attributes.`Run Name`": 270} | {name: 215 if name in wide else 110 for name in columns},
    }
    return json.dumps({"name": "Scores", "createdAt": 0, "updatedAt": 0, "state": json.dumps(state)})


def address(root: str, experiment_id: str) -> str:
    """Return the page of an experiment's runs and scores, on the server at `root`."""
    query = f"viewStateShareKey={VIEW}&workflowType=machine_learning"  # the latter hides menu entries for other uses
    return f"{root.rstrip('/')}/#/experiments/{experiment_id}/runs?{query}"
