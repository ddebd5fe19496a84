"""The table of tasks, against the corpora's own formats."""

import pytest

from mtbert import tasks
from mtbert.tasks import SPLITS

# Those of the course and the corpora; another task needs no line here.
TASKS = {name: tasks.TASKS[name] for name in ("sst", "qqp", "sts", "cfimdb", "snli", "mnli")}


def test_kind_classes_and_metric_of_every_task():
    assert {name: (t.kind, t.classes, t.metric) for name, t in TASKS.items()} == {
        "sst": ("classes", 5, "accuracy"),
        "qqp": ("binary", 2, "accuracy"),
        "sts": ("score", 1, "pearson"),
        "cfimdb": ("binary", 2, "accuracy"),
        "snli": ("classes", 3, "accuracy"),
        "mnli": ("classes", 3, "accuracy"),
    }


def test_pairs_are_the_tasks_of_two_sentences():
    assert [name for name, t in TASKS.items() if t.is_pair] == ["qqp", "sts", "snli", "mnli"]


def test_files_of_every_task():
    assert {name: list(t.files.values()) for name, t in TASKS.items()} == {
        "sst": ["cs224n/ids-sst-train.csv", "cs224n/ids-sst-dev.csv", "cs224n/ids-sst-test-student.csv"],
        "qqp": ["cs224n/quora-train.csv", "cs224n/quora-dev.csv", "cs224n/quora-test-student.csv"],
        "sts": ["cs224n/sts-train.csv", "cs224n/sts-dev.csv", "cs224n/sts-test-student.csv"],
        "cfimdb": ["cs224n/ids-cfimdb-train.csv", "cs224n/ids-cfimdb-dev.csv", "cs224n/ids-cfimdb-test-student.csv"],
        "snli": ["nli/snli_1.0_train.jsonl", "nli/snli_1.0_dev.jsonl", "nli/snli_1.0_test.jsonl"],
        "mnli": ["nli/multinli_1.0_train.jsonl", "nli/multinli_1.0_dev_matched.jsonl"],  # its test set has no labels
    }


def test_columns_of_every_task():
    assert {name: (*t.sentences, t.label) for name, t in TASKS.items()} == {
        "sst": ("sentence", "sentiment"),
        "qqp": ("sentence1", "sentence2", "is_duplicate"),
        "sts": ("sentence1", "sentence2", "similarity"),
        "cfimdb": ("sentence", "sentiment"),
        "snli": ("sentence1", "sentence2", "gold_label"),
        "mnli": ("sentence1", "sentence2", "gold_label"),
    }


def test_column_titles_of_the_courses_submission_files():
    assert {name: t.submission for name, t in TASKS.items() if t.submission} == {
        "sst": "Predicted_Sentiment",
        "qqp": "Predicted_Is_Paraphrase",
        "sts": "Predicted_Similiary",  # the course's own spelling
        "cfimdb": "Predicted_Sentiment",
    }


def test_similarity_runs_from_0_to_5():
    assert (TASKS["sts"].lowest, TASKS["sts"].highest) == (0.0, 5.0)


@pytest.mark.parametrize("name", ["snli", "mnli"])
def test_words_of_entailment_have_fixed_numbers(name: str):
    assert TASKS[name].labels == {"contradiction": 0, "neutral": 1, "entailment": 2}


def test_splits():
    assert SPLITS == ("train", "dev", "test")
