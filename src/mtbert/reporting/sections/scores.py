"""Every score: of each run, as means over seeds, and as DVC draws them."""

import pandas as pd

from mtbert.reporting import results
from mtbert.reporting.sections.base import Numbers, Report, Section


def every_run(report: Report) -> pd.DataFrame:
    """A line for each variant or ensemble and seed."""
    return report.marked(results.wide(report.build, report.completed, report.scores, report.weights))


def summary(report: Report) -> dict[str, dict[str, float]]:
    """Mean dev scores by variant or ensemble, then metric."""
    return results.summary(report.completed, report.scores)


def bars(report: Report) -> pd.DataFrame:
    """A line for each bar that DVC draws."""
    return report.marked(results.bars(summary(report)))


SECTION = Section(
    name="scores",
    numbers=(
        Numbers("results.csv", every_run, "%.6f"),
        Numbers("summary.json", summary, for_dvc=True),
        Numbers("scores.csv", bars, "%.6g", "plotted", for_dvc=True),
    ),
)
