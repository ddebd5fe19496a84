"""Scores against weights, and what ran where."""

import pandas as pd

from mtbert.report import markdown
from mtbert.report.beside import TIMES_BERT
from mtbert.report.study import Group, Study
from mtbert.results.tables import EXAMPLES, METRICS, SCORES, WEIGHTS, Frame
from mtbert.tasks import TASKS

COUNTED = ("steps", "epoch", "threads", *WEIGHTS, *EXAMPLES)
PRETRAINED = {  # by pretraining: what was measured, its key but for _before and _after, what it read
    "sbert": ("r of the cosine of two sentences on STS-B dev", "sts_dev_pearson", "pairs"),
    "mlm": ("loss of the masked language model on dev sentences", "mlm_dev_loss", "sentences"),
}


def render(study: Study) -> str:
    """Return every row with its weights, from the highest overall on dev."""
    metrics = [metric for metric in METRICS if any(row.over_seeds(metric) for row in study.rows)]
    lines = [
        {"variants": markdown.code(row.names)}
        | {markdown.HEADINGS[metric]: _score(row, metric) for metric in metrics}
        | {name: f"{row.weights[name] / 1e6:.2f}" for name in ("added", "trained", "stored")}
        | {TIMES_BERT: f"{row.weights['times_bert']:.2f}", "seeds": str(len(row.scores))}
        for row in sorted(study.rows, key=lambda row: -getattr(row.over_seeds("overall_raw"), "mean", -1.0))
    ]
    about = (
        "Dev scores over seeds; single-task models of one row together have a line of their own. Rows of different "
        "reports differ in more than one thing. Weights in millions: added beside the encoder, trained, and stored, "
        f"which is what has to be kept beside the encoder. {TIMES_BERT}: all weights over one encoder's."
    )
    return f"## Scores and weights\n\n{about}\n\n{markdown.lined(lines)}"


def _score(row: Group, metric: str) -> str:
    mean = row.over_seeds(metric)
    return markdown.estimate(mean.mean, mean.low, mean.high) if mean else markdown.DASH


def trainings(study: Study) -> str:
    """Return how long each variant trained, on what, and what each pretraining came to."""
    first = study.runs[study.runs["kind"] == "variant"].drop_duplicates("variant")
    lines = [
        {"variant": f"`{run['variant']}`", "seeds": ", ".join(map(str, study.seeds[run["variant"]]))}
        | {"steps": markdown.count(run["steps"])}
        | {f"of {task.title}": markdown.count(run[f"examples_{key}"]) for key, task in TASKS.items()}
        | {"device": markdown.literal(f"{run['device']}, {run['precision']}")}
        | {"threads": markdown.count(run["threads"])}
        for run in first.to_dict("records")
    ]
    machines = study.runs.loc[study.runs["kind"] == "variant", "machine"].fillna("").value_counts()
    where = [f"- {count} runs on {markdown.literal(name) or 'an unknown machine'}." for name, count in machines.items()]
    about = "Examples of each task that the sampler drew."
    parts = ["## Trainings", about, markdown.lined(lines, texts=2), "\n".join(where), *_pretrainings(study)]
    return "\n\n".join(filter(None, parts))


def _pretrainings(study: Study) -> list[str]:
    told = []
    for name, (measured, key, read) in PRETRAINED.items():
        if (came := getattr(study.results.start, name)) is not None:
            before, after = (markdown.number(getattr(came, f"{key}_{when}")) for when in ("before", "after"))
            told.append(
                f"Pretraining `{name}`: {measured} {before} before, {after} after {came.steps:,} steps over "
                f"{getattr(came, read):,} {read}."
            )
    return told


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
    said: dict[str, dict[str, float]] = {}
    for name in study.about:
        means = {metric: study.group([name]).over_seeds(metric) for metric in METRICS}
        said[name] = {metric: round(mean.mean, 6) for metric, mean in means.items() if mean}
    return said


def bars(means: dict[str, dict[str, float]]) -> Frame:
    """Return scores.csv, which `dvc plots` draws: bar (`sst pals`), variant, metric, score; a metric's side by side."""
    rows = [(f"{metric} {name}", name, metric, score) for name, of in means.items() for metric, score in of.items()]
    table = pd.DataFrame(rows, columns=["bar", "variant", "metric", "score"])
    return table.sort_values("metric", kind="stable", ignore_index=True)
