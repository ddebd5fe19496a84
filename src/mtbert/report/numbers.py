"""The files of numbers beside the report: every run's, and what `dvc metrics` and `dvc plots` show."""

from statistics import fmean

import pandas as pd

from mtbert.report.study import Study
from mtbert.results import metrics
from mtbert.results.tables import WEIGHTS, Frame, counted, scores, shown
from mtbert.tasks import Tasks

COUNTED = ("steps", "epoch", "threads", *WEIGHTS)


def runs(study: Study) -> Frame:
    """Return results.csv: a line for each run and vote, with all that two runs of the same settings have alike."""
    abouts = study.runs["variant"].map(study.about)
    table = study.runs.assign(paper=abouts.map(lambda about: about.paper), row=abouts.map(lambda about: about.row))
    tasks = study.results.tasks
    scored = [column for column in scores(tasks) if table[column].notna().any()]
    first = ["variant", "kind", "paper", "row", "seed", "steps", "epoch", "epochs", "overrides"]
    last = [*WEIGHTS, "times_bert", *counted(tasks), "device", "precision", "threads", "machine"]
    return table[[*first, *scored, *last]].astype(dict.fromkeys((*COUNTED, *counted(tasks)), "Int64"))


def means(study: Study) -> dict[str, dict[str, float]]:
    """Return mean dev scores over seeds by variant or ensemble, then metric, to six decimals."""
    by_model: dict[str, dict[str, float]] = {}
    for name in study.about:
        by_metric = study.group([name]).means
        metrics_shown = [metric for metric in shown(study.results.tasks) if metric in by_metric]
        by_model[name] = {metric: round(by_metric[metric].mean, 6) for metric in metrics_shown}
    return by_model


def summary(means: dict[str, dict[str, float]], tasks: Tasks) -> dict[str, float]:
    """Return summary.json, which `dvc metrics` shows: a variant's mean over tasks, over its own if these are fewer."""
    every = metrics.means(tasks)[0]
    return {
        name: by_metric.get(every, round(fmean(by_metric.values()), 6))
        for name, by_metric in means.items()
        if by_metric
    }


def bars(means: dict[str, dict[str, float]]) -> Frame:
    """Return scores.csv, which `dvc plots` draws: bar (`sst pals`), variant, metric, score; a metric's side by side."""
    rows = []
    for name, by_metric in means.items():
        rows += [(f"{metric} {name}", name, metric, score) for metric, score in by_metric.items()]
    table = pd.DataFrame(rows, columns=["bar", "variant", "metric", "score"])
    return table.sort_values("metric", kind="stable", ignore_index=True)
