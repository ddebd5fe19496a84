"""The files of numbers beside the report: every run's, and what `dvc metrics` and `dvc plots` show."""

from statistics import fmean

import pandas as pd

from mtbert.judge import Judgement
from mtbert.scores import metrics
from mtbert.scores.columns import WEIGHTS, Frame, example_columns, score_columns, shown_metrics
from mtbert.scores.results import Results
from mtbert.tasks import Tasks

COUNTED = ("steps", "epoch", "threads", *WEIGHTS)


def runs(results: Results) -> Frame:
    """Return results.csv: a line for each run and vote, with the columns that do not depend on the clock."""
    tasks = results.tasks
    abouts = [results.about[name] for name in results.trained["variant"]]
    table = results.trained.assign(paper=[about.paper for about in abouts], row=[about.row for about in abouts])
    scored = [column for column in score_columns(tasks) if table[column].notna().any()]
    first = ["variant", "kind", "paper", "row", "seed", "steps", "epoch", "epochs", "overrides"]
    last = [*WEIGHTS, "times_bert", *example_columns(tasks), "device", "precision", "threads", "machine"]
    return table[[*first, *scored, *last]].astype(dict.fromkeys((*COUNTED, *example_columns(tasks)), "Int64"))


def means(judgement: Judgement) -> dict[str, dict[str, float]]:
    """Return mean dev scores over seeds by variant or ensemble, then metric, to six decimals."""
    results = judgement.results
    scores_by_names = {row.names: row.scores for row in judgement.rows}
    by_model: dict[str, dict[str, float]] = {}
    for name in results.about:
        scores = scores_by_names.get((name,), {})
        metrics_shown = [metric for metric in shown_metrics(results.tasks) if metric in scores]
        by_model[name] = {metric: round(scores[metric].mean, 6) for metric in metrics_shown}
    return by_model


def summary(means: dict[str, dict[str, float]], tasks: Tasks) -> dict[str, float]:
    """Return summary.json, which `dvc metrics` shows: a variant's mean over tasks, over its own if these are fewer."""
    mean_of_all = metrics.means(tasks)[0]
    summary: dict[str, float] = {}
    for name, by_metric in means.items():
        if by_metric:
            summary[name] = by_metric.get(mean_of_all, round(fmean(by_metric.values()), 6))
    return summary


def bars(means: dict[str, dict[str, float]]) -> Frame:
    """Return scores.csv, which `dvc plots` draws: bar (`sst pals`), variant, metric, score; a metric's side by side."""
    rows = []
    for name, by_metric in means.items():
        rows += [(f"{metric} {name}", name, metric, score) for metric, score in by_metric.items()]
    table = pd.DataFrame(rows, columns=["bar", "variant", "metric", "score"])
    return table.sort_values("metric", kind="stable", ignore_index=True)
