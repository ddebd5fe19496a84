"""Sample logs as lm-evaluation-harness writes them (evaluation_tracker.py, save_results_samples)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mtbert.comparing import sources
from mtbert.comparing.rows import Row
from mtbert.errors import DataError


def line(number: int, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": number, "doc": {"sentence1": "A.", "sentence2": f"{number}.", "idx": number}, "target": "1",
        "arguments": {"gen_args_0": {"arg_0": "A.", "arg_1": " no"}}, "resps": [[["-1.0", "False"]]],
        "filtered_resps": [["-1.0", "False"], ["-0.5", "True"]], "filter": "none", "metrics": ["acc", "acc_norm", "f1"],
        "doc_hash": "a", "prompt_hash": "b", "target_hash": "c", "acc": 1.0, "acc_norm": 0.0, "f1": [1, 0], **more,
    }  # fmt: skip


def read(tmp_path: Path, lines: list[dict[str, Any]], metric: str = "accuracy", filtered: str | None = None) -> Any:
    path = tmp_path / "samples_mrpc_2026-01-01T00-00-00.000000.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return sources.read(str(path), {}, metric, filtered)


def test_accuracy_is_the_score_that_the_harness_gave_each_row(tmp_path: Path) -> None:
    found = read(tmp_path, [line(0), line(1, acc=0.0)])
    assert found.of_scores
    assert found.rows == [
        Row("line 1", "0", "1", "1", texts=("A.", "0.")),
        Row("line 2", "1", "1", "0", texts=("A.", "1.")),
    ]


def test_its_other_metrics_go_by_its_names_and_pairs_are_label_and_prediction(tmp_path: Path) -> None:
    assert [row.prediction for row in read(tmp_path, [line(0)], "acc_norm").rows] == ["0"]
    f1 = read(tmp_path, [line(0)], "f1")
    assert not f1.of_scores
    assert [(row.label, row.prediction) for row in f1.rows] == [("1", "0")]
    exact = {key: value for key, value in line(0, metrics=["exact_match"], exact_match=1.0).items() if key != "acc"}
    assert [row.prediction for row in read(tmp_path, [exact]).rows] == ["1"]


def test_of_several_filters_one_is_chosen(tmp_path: Path) -> None:
    lines = [line(0, filter="strict-match"), line(0, filter="flexible-extract", acc=0.0)]
    assert [row.prediction for row in read(tmp_path, lines, filtered="flexible-extract").rows] == ["0"]
    for filtered in (None, "none"):
        with pytest.raises(DataError, match=r"holds the filters strict-match, flexible-extract; .*--filter"):
            read(tmp_path, lines, filtered=filtered)


@pytest.mark.parametrize(
    ("lines", "metric", "message"),
    [
        ([line(0)], "pearson", "has no pearson; allowed as --metric: acc, acc_norm, f1"),
        ([line(0), {"id": 1}], "accuracy", "not a line of lm-evaluation-harness, as the first is: line 2"),
        ([line(0), {k: v for k, v in line(1).items() if k != "acc"}], "accuracy", "no acc: line 2"),
        ([line(0), line(1, f1=0.5)], "f1", "f1 is a pair in some lines"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, lines: list[dict[str, Any]], metric: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, lines, metric)
