"""The files of numbers beside the report: every run's, and what `dvc metrics` and `dvc plots` show."""

from statistics import fmean

import pandas as pd

from mtbert.report.study import Study
from mtbert.results import metrics
from mtbert.results.tables import WEIGHTS, Frame, counted, scores, shown
from mtbert.tasks import Tasks

COUNTED = ("steps", "epoch", "threads", *WEIGHTS)


def runs(study: Study) -> Frame:
    """Return results.csv: one line for each run and vote, all that is the same in two runs of the same settings."""
    about = study.runs["variant"].map(study.about)
    table = study.runs.assign(paper=about.map(lambda one: one.paper), row=about.map(lambda one: one.row))
    tasks = study.results.tasks
    scored = [column for column in scores(tasks) if table[column].notna().any()]
    first = ["variant", "kind", "paper", "row", "seed", "steps", "epoch", "epochs", "overrides"]
    last = [*WEIGHTS, "times_bert", *counted(tasks), "device", "precision", "threads", "machine"]
    return table[[*first, *scored, *last]].astype(dict.fromkeys((*COUNTED, *counted(tasks)), "Int64"))


def means(study: Study) -> dict[str, dict[str, float]]:
    """Return mean dev scores over seeds by variant or ensemble, then metric, to six decimals."""
    found = {name: study.group([name]).means for name in study.about}
    kept = shown(study.results.tasks)
    return {name: {metric: round(of[metric].mean, 6) for metric in kept if metric in of} for name, of in found.items()}


def summary(means: dict[str, dict[str, float]], tasks: Tasks) -> dict[str, float]:
    """Return summary.json, which `dvc metrics` shows: a variant's mean over tasks, over its own if these are fewer."""
    every = metrics.means(tasks)[0]
    return {name: scores.get(every, round(fmean(scores.values()), 6)) for name, scores in means.items() if scores}


def bars(means: dict[str, dict[str, float]]) -> Frame:
    """Return scores.csv, which `dvc plots` draws: bar (`sst pals`), variant, metric, score; a metric's side by side."""
    rows = [
        (f"{metric} {name}", name, metric, score) for name, scores in means.items() for metric, score in scores.items()
    ]
    table = pd.DataFrame(rows, columns=["bar", "variant", "metric", "score"])
    return table.sort_values("metric", kind="stable", ignore_index=True)
