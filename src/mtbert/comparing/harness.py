"""Sample logs of lm-evaluation-harness: `samples_<task>_<time>.jsonl`, one line for each document and filter.

A line holds doc_id, doc, target, filter, and a value under the name of each metric: a number, the row's score, or for
F1 and the like a pair of label and prediction
(EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py and api/task.py). The model's answer is not read: the
harness has judged it by its own rules.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mtbert.comparing.rows import Row, Rows, refuse, text
from mtbert.errors import DataError

METRIC_NAMES = {"accuracy": ("acc", "exact_match")}  # the harness's names of our metrics
TEXTS = (
    "sentence", "sentence1", "sentence2", "question1", "question2", "premise", "hypothesis", "text", "question",
    "passage", "context",
)  # fmt: skip
NOT_METRICS = "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"


def is_log(record: Mapping[str, Any]) -> bool:
    """Return whether the first line of a file is one of the harness's."""
    return {"doc_id", "target", "filtered_resps"} <= record.keys()


def rows(name: str, records: Sequence[tuple[str, Mapping[str, Any]]], metric: str, filtered: str | None) -> Rows:
    """Return the rows of a log; DataError where it lacks the filter or the metric, or has several filters."""
    refuse(name, "not a line of lm-evaluation-harness, as the first is",
           [place for place, record in records if not is_log(record)], "a file holds one log")  # fmt: skip
    filters = list(dict.fromkeys(text(record.get("filter")) for _, record in records))
    if filtered not in filters and (filtered is not None or len(filters) > 1):
        raise DataError(f"{name} holds the filters {', '.join(filters)}; choose one of them with --filter")
    kept = [(place, record) for place, record in records if filtered in (None, text(record.get("filter")))]
    key = _key(name, kept[0][1], metric)
    refuse(name, f"no {key}", [place for place, record in kept if key not in record], "the log is incomplete")
    paired = [isinstance(record[key], list) and len(record[key]) == 2 for _, record in kept]
    if any(paired) and not all(paired):
        raise DataError(f"{name}: {key} is a pair in some lines and not in others")
    return Rows(name, [_row(place, record, record[key]) for place, record in kept], of_scores=not any(paired))


def _key(name: str, record: Mapping[str, Any], metric: str) -> str:
    """Return the log's name of the metric."""
    names = record.get("metrics") or [key for key in record if key not in NOT_METRICS and not key.endswith("_hash")]
    for alias in METRIC_NAMES.get(metric, (metric,)):
        if alias in names:
            return alias
    raise DataError(f"{name} has no {metric}; allowed as --metric: {', '.join(map(str, names))}")


def _row(place: str, record: Mapping[str, Any], value: Any) -> Row:
    label, prediction = value if isinstance(value, list) else (record["target"], value)
    doc = record.get("doc")
    values = [doc.get(key) for key in TEXTS] if isinstance(doc, dict) else []
    texts = tuple(value for value in values if isinstance(value, str) and value)
    return Row(place, text(record["doc_id"]), text(label), text(prediction), texts=texts)
