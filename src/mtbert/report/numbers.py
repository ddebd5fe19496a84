"""The files of numbers beside the report: every run's, and what `dvc metrics` and `dvc plots` show."""

import math

import pandas as pd

from mtbert.report.study import Study
from mtbert.results.tables import EXAMPLES, SCORES, WEIGHTS, Frame
from mtbert.tasks import TASKS

COUNTED = ("steps", "epoch", "threads", *WEIGHTS, *EXAMPLES)
POINTS = 200  # of a loss curve, at most


def runs(study: Study) -> Frame:
    """Return results.csv: one line for each run and vote, all that is the same in two runs of the same settings."""
    about = study.runs["variant"].map(study.about)
    told = study.runs.assign(paper=about.map(lambda one: one.paper), row=about.map(lambda one: one.row))
    scores = [column for column in SCORES if told[column].notna().any()]
    first = ["variant", "kind", "paper", "row", "seed", "steps", "epoch", "epochs", "overrides"]
    last = [*WEIGHTS, "times_bert", *EXAMPLES, "device", "precision", "threads", "machine"]
    return told[[*first, *scores, *last]].astype(dict.fromkeys(COUNTED, "Int64"))


def summary(study: Study) -> dict[str, dict[str, float]]:
    """Return summary.json: mean dev scores over seeds by variant or ensemble, then metric, to six decimals."""
    means = {name: study.group([name]).means for name in study.about}
    return {name: {metric: round(one.mean, 6) for metric, one in of.items()} for name, of in means.items()}


def bars(means: dict[str, dict[str, float]]) -> Frame:
    """Return scores.csv, which `dvc plots` draws: bar (`sst pals`), variant, metric, score; a metric's side by side."""
    rows = [(f"{metric} {name}", name, metric, score) for name, of in means.items() for metric, score in of.items()]
    table = pd.DataFrame(rows, columns=["bar", "variant", "metric", "score"])
    return table.sort_values("metric", kind="stable", ignore_index=True)


def losses(study: Study) -> Frame:
    """Return curves.csv: the mean training loss of every variant, over tasks and seeds.

    A bin of steps without a batch of a task takes the value between its neighbours, so that which task was drawn does
    not move the curve.

    Returns:
        Column step (last of the bin) and one column per variant; NaN after the end of a shorter run.
    """
    history = study.results.history
    history = history[history["name"].isin([f"loss/{task}" for task in TASKS])]
    width = math.ceil(history["step"].max() / POINTS) if len(history) else 1
    history = history.assign(step=-(-history["step"] // width) * width)
    means: Frame = history.groupby(["step", "variant", "name"], observed=True)["value"].mean()
    of_tasks = means.unstack(["variant", "name"]).interpolate(limit_area="inside")
    curves = of_tasks.T.groupby("variant", observed=True).mean().T
    return curves.reindex(columns=study.variants).round(5).rename_axis("step").reset_index()
