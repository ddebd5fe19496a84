"""What a reader has to know before the scores."""

from mtbert.reporting.sections import summary


def test_a_fault_is_told_with_the_shorter_list_of_variants() -> None:
    told = "**A fault in the code that trained {} variants.** Rows were read twice. Their scores and differences are "
    told += "shown, and no claim is judged by them. They are {}."
    fault = "rows were read twice"
    assert summary.faults({}, ["a", "b", "c"]) == []
    assert summary.faults({fault: ["b"]}, ["a", "b", "c"]) == [told.format("1 of 3", "`b`")]
    assert summary.faults({fault: ["a", "b"]}, ["a", "b", "c"]) == [told.format("2 of 3", "all but `c`")]
    assert summary.faults({fault: ["a", "b"]}, ["a", "b"]) == [told.format("2 of 2", "`a`, `b`")]
