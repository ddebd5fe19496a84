"""The differences of one's own variants from those that were trained beside them."""

from pathlib import Path

import made
import pytest

from mtbert.judge import Judgement, Scoreboard, judge
from mtbert.report import catalog_section, terminal
from mtbert.report.markdown import DASH, MINUS

OWN = {"paper": None, "row": ""}
SST, STS = [0, 1, 2, 0], [0, 1, 2, 5]
RIGHT = [0, 1, 2, 3]


@pytest.fixture
def judgement() -> Judgement:
    predicted = {
        ("pals", 1): {"sst": SST, "sts": STS},
        ("wide", 1): {"sst": RIGHT},
        ("narrow", 1): {"sst": [4, 4, 4, 4], "sts": STS},
    }
    return judge(Scoreboard(made.results(predicted, {"wide": OWN, "narrow": OWN})))


def test_each_is_compared_with_the_papers_and_earlier_ones_of_ones_own_on_the_tasks_that_both_have(
    judgement: Judgement,
):
    assert [
        (*one.ours, *one.other, one.metric, one.difference and one.difference.mean) for one in judgement.catalog
    ] == [
        ("wide", "pals", "sst", 0.25),
        ("narrow", "pals", "sst", -0.75),
        ("narrow", "pals", "sts", 0.0),
        ("narrow", "wide", "sst", -1.0),
    ]


def test_they_stand_in_the_report_and_on_the_terminal(judgement: Judgement):
    wide, *_ = catalog_section.lines(judgement)
    assert wide == {"": f"wide {MINUS} pals", "SST-5": "+0.250", "STS-B": DASH}
    assert f"| narrow {MINUS} wide |  {MINUS}1.000 |" in catalog_section.render(judgement)
    assert catalog_section.TITLE in terminal.in_short(judgement, Path("build/report/index.html"))


def test_without_variants_of_ones_own_there_is_nothing():
    assert catalog_section.render(judge(Scoreboard(made.results({("pals", 1): {"sst": SST}})))) == ""
