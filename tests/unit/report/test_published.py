"""The papers' numbers: all of them consistent, and what is wrong with a line told."""

from typing import Any

import pytest

from mtbert.config.papers import Paper
from mtbert.errors import DataError
from mtbert.report import published


def load(**row: Any) -> list[published.PublishedRow]:
    paper = {"title": "Mine", "order": 1, "tables": {"1": {"rows": {"Plain": row}}}}
    return published.load({"mine": Paper.model_validate(paper)})


def test_the_overall_that_a_paper_does_not_print_is_computed():
    (row,) = load(dev={"sst": 0.4, "qqp": 0.6, "sts": 0.2, "overall_raw": 0.4}, note="said so")
    assert (row.scale, row.note, row.averaged) == ("raw", "said so", ("sst", "qqp", "sts"))
    assert row.values["overall_normalised"] == pytest.approx(1.6 / 3)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"dev": {"sst": 1.2}}, "mine, 1, Plain, dev: sst is 1.2"),
        ({"validation": {"sst": 0.2}}, "validation"),
        ({"dev": "0.2"}, "dev"),
        ({"dev": {"f1": 0.2}}, "'f1'"),
        ({"dev": {"overall_raw": 0.2}}, "overall_raw without"),
        ({"dev": {"sst": 0.4, "overall_raw": 0.2}}, "overall_raw 0.2 does not follow"),
        ({"dev": {"overall_raw": 0.2, "overall_normalised": 0.2}}, "both"),
    ],
)
def test_a_fault_is_told(row: dict[str, Any], said: str):
    with pytest.raises(DataError) as refused:
        load(**row)
    assert said in str(refused.value)


def test_the_reports_own_numbers_are_all_there():
    rows = published.load()
    assert {row.paper for row in rows} == set(published.TITLES) - {published.RIVALS}
    assert len(rows) > 60
