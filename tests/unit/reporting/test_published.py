"""The papers' numbers: complete, and refused where they cannot be right."""

from collections import Counter
from pathlib import Path

import pytest

from mtbert.errors import DataError
from mtbert.reporting import published

HEADER = "paper,table,row,split,sst,qqp,sts,cfimdb,overall,scale,note\n"


def test_all_five_papers_are_there() -> None:
    assert Counter(row.paper for row in published.load()) == {
        "my-pal-bert": 9, "minbert-pals": 10, "choose-pals": 20, "slapbert": 23, "pals-for-pals": 9,
    }  # fmt: skip
    assert {row.paper for row in published.load()} == set(published.TITLES)


def test_the_overall_that_a_paper_does_not_print_follows_from_its_parts(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text(f"{HEADER}p,1,raw,dev,0.5,0.8,0.4,,0.567,raw,\np,1,normalised,dev,0.5,0.8,0.4,,0.667,normalised,\n")
    raw, normalised = published.load(file)
    assert raw.values == {
        "sst": 0.5, "qqp": 0.8, "sts": 0.4, "overall_raw": 0.567, "overall_normalised": pytest.approx(2 / 3)
    }  # fmt: skip
    assert normalised.values["overall_raw"] == pytest.approx(1.7 / 3)
    assert normalised.values["overall_normalised"] == 0.667


def test_a_task_outside_the_three_has_a_column_and_no_overall(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text(f"{HEADER}p,1,films,dev,,,,0.963,,,\n")
    assert published.load(file)[0].values == {"cfimdb": 0.963}


def test_a_row_of_one_task_has_no_overall_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text(f"{HEADER}p,1,sst alone,dev,0.5,,,,,,\np,1,two tasks,dev,0.5,0.7,,,0.6,raw,\n")
    one, two = published.load(file)
    assert one.values == {"sst": 0.5}
    assert two.values == {"sst": 0.5, "qqp": 0.7, "overall_raw": 0.6}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("p,1,r,dev,0.5,0.8,0.4,,0.566,raw,", None),  # off by rounding alone
        ("p,1,r,dev,0.5,0.8,0.4,,0.6,raw,inconsistent: the parts give 0.567", None),
        (
            "p,1,r,dev,0.5,0.8,0.4,,0.6,raw,",
            "line 2: overall 0.6 (raw) does not follow from its parts, which give 0.567",
        ),
        ("p,1,r,eval,0.5,,,,,,", "line 2: split is 'eval', not one of train, dev, test"),
        ("p,1,r,dev,50.9,,,,,,", "line 2: sst is '50.9', not a number from -1 to 1"),
        ("p,1,r,dev,nan,,,,,,", "line 2: sst is 'nan', not a number from -1 to 1"),
        ("p,1,r,dev,0.5,0.8,0.4,,0.6,,", "line 2: scale is '', not one of raw, normalised"),
        ("p,1,r,dev,0.5,,,,,raw,", "line 2: scale 'raw' without an overall"),
        ("p,1,r,dev,0.5,0.8,,,0.7,normalised,", "line 2: overall (normalised) without the parts it is the mean of"),
        ("p,1,r,dev,0.5,,,,,,\np,1,r,dev,0.5,,,,,,", "line 3: p, 1, r, dev stands twice"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, line: str, fault: str | None) -> None:
    file = tmp_path / "published.csv"
    file.write_text(f"{HEADER}{line}\n")
    if fault is None:
        assert len(published.load(file)) == 1
        return
    with pytest.raises(DataError) as error:
        published.load(file)
    assert str(error.value) == f"{file}:\n{fault}"


def test_other_columns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text("paper,row\np,r\n")
    with pytest.raises(DataError, match=r"columns are \['paper', 'row'\], expected \['paper', 'table'"):
        published.load(file)
