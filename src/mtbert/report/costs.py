"""Scores against weights."""

from mtbert.report import markdown
from mtbert.report.study import Study
from mtbert.results.tables import METRICS

TIMES_BERT = f"{markdown.TIMES} BERT"
ABOUT = (
    "Mean dev scores. Single-task models that make one row have a line together, too. Rows of different papers differ "
    "in more than one thing. Weights in millions: *added* to the encoder, *trained*, and *stored*, which a model has "
    f"to keep beside the encoder. *{TIMES_BERT}*: all weights over one encoder's."
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
