"""Scores against weights, and every run's numbers."""

import pandas as pd

from mtbert.report import markdown
from mtbert.report.study import Study
from mtbert.results.tables import EXAMPLES, METRICS, SCORES, WEIGHTS, Frame

TIMES_BERT = f"{markdown.TIMES} BERT"
COUNTED = ("steps", "epoch", "threads", *WEIGHTS, *EXAMPLES)
ABOUT = (
    "Dev scores over seeds; single-task models of one row have a line together, too. Rows of different reports differ "
    "in more than one thing. Weights in millions: added beside the encoder, trained, and stored, which is what has to "
    f"be kept beside the encoder. {TIMES_BERT}: all weights over one encoder's."
)


def render(study: Study) -> str:
    """Return every row with its weights, from the highest overall on dev."""
    metrics = [metric for metric in METRICS if any(metric in row.means for row in study.rows)]
    lines = [
        {"variants": ", ".join(f"`{name}`" for name in row.names)}
        | {markdown.HEADINGS[metric]: str(row.means.get(metric, markdown.DASH)) for metric in metrics}
        | {name: f"{row.weights[name] / 1e6:.2f}" for name in ("added", "trained", "stored")}
        | {TIMES_BERT: f"{row.weights['times_bert']:.2f}", "seeds": str(len(row.seeds))}
        for row in sorted(study.rows, key=lambda row: -row.overall)
    ]
    return f"{ABOUT}\n\n{markdown.lined(lines)}"


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
