"""The papers' numbers: all of them consistent, and what is wrong with a line told."""

import pytest

from mtbert.errors import DataError
from mtbert.report import published

COLUMNS = ("paper", "table", "row", "split", "metric", "value", "note")


def load(*lines: str) -> list[published.PublishedRow]:
    return published.load([dict(zip(COLUMNS, line.split(","), strict=True)) for line in lines])


def test_the_overall_that_a_paper_does_not_print_is_computed():
    parts = [f"mine,1,Plain,dev,{task},{value}," for task, value in (("sst", 0.4), ("qqp", 0.6), ("sts", 0.2))]
    (row,) = load(*parts, "mine,1,Plain,dev,overall_raw,0.4,said so")
    assert (row.scale, row.note, row.averaged) == ("raw", "said so", ("sst", "qqp", "sts"))
    assert row.values["overall_normalised"] == pytest.approx(1.6 / 3)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("mine,1,Plain,dev,sst,1.2,", "value is '1.2', not a number from -1 to 1"),
        ("mine,1,Plain,validation,sst,0.2,", "split is 'validation'"),
        ("mine,1,Plain,dev,f1,0.2,", "metric is 'f1'"),
        ("mine,1,Plain,dev,overall_raw,0.2,", "without the parts it is the mean of"),
        ("mine,1,Plain,dev,sst,0.4,\nmine,1,Plain,dev,overall_raw,0.2,", "does not follow from its parts"),
    ],
)
def test_a_fault_is_told(line: str, said: str):
    with pytest.raises(DataError) as refused:
        load(*line.splitlines())
    assert said in str(refused.value)


def test_the_reports_own_numbers_are_all_there():
    rows = published.load()
    assert {row.paper for row in rows} == set(published.TITLES) - {published.RIVALS}
    assert len(rows) > 60
