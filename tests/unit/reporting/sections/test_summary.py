"""What a reader has to know before the scores."""

from types import SimpleNamespace
from typing import cast

from mtbert.reporting import claims, costs
from mtbert.reporting.costs import Cost
from mtbert.reporting.sections import summary
from mtbert.reporting.sections.base import Report


def test_a_report_begins_with_the_words_of_the_claims() -> None:
    report = SimpleNamespace(claims=claims.load().model_copy(update={"words": "A *claim* is one."}))
    assert summary.about(cast(Report, report)) == f"{summary.ABOUT} A *claim* is one."
    report.claims = report.claims.model_copy(update={"words": ""})
    assert summary.about(cast(Report, report)) == summary.ABOUT


def scored(name: str, *overall: float, faulty: bool = False) -> Cost:
    """A row with an overall score of each seed."""
    return Cost(name, "rivals", name, (name,), 1, 1, 1, 1.0, None, {"overall_raw": list(overall)}, faulty=faulty)


def test_rows_are_ranked_that_have_as_many_seeds_as_others_and_are_of_sound_code() -> None:
    low, high = scored("low", 0.5, 0.6, 0.7), scored("high", 0.6, 0.7, 0.8, 0.9)
    one, faulty = scored("one", 0.9), scored("faulty", 0.9, 0.9, 0.9, faulty=True)
    task = Cost("task", "rivals", "Task", ("task",), 1, 1, 1, 1.0, None, {"sst": [0.9]})
    assert costs.ranked([low, one, faulty, high, task]) == [high, low]
    left_out = " Left out: 2 rows of code with a fault, or of fewer seeds than others."
    assert summary.unranked([low, one, faulty, high, task]) == left_out
    assert costs.ranked([one, faulty]) == [one]
    assert summary.unranked([one, faulty]) == left_out.replace("2 rows", "1 row")
    assert costs.ranked([faulty]) == [faulty]  # marked, as all are
    assert summary.unranked([low, high]) == summary.unranked([]) == ""


def test_a_fault_is_told_with_the_shorter_list_of_variants() -> None:
    told = "**Code with a fault trained {} variants.** Rows were read twice. Their scores and differences are marked, "
    told += "and no claim is judged by them. {}."
    fault = "rows were read twice"
    assert summary.faults_of({}, ["a", "b", "c"]) == []
    assert summary.faults_of({fault: ["b"]}, ["a", "b", "c"]) == [told.format("1 of 3", "They are `b`")]
    assert summary.faults_of({fault: ["a", "b"]}, ["a", "b", "c"]) == [told.format("2 of 3", "Sound are `c`")]
    assert summary.faults_of({fault: ["a", "b"]}, ["a", "b"]) == [told.format("2 of 2", "They are `a`, `b`")]
