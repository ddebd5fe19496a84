"""The papers' numbers: complete, and refused where they cannot be right."""

from collections import Counter
from pathlib import Path

import pytest

from mtbert.errors import DataError
from mtbert.reporting import published
from mtbert.tasks import TASKS

HEADER = "paper,table,row,split,metric,value,note\n"


def test_all_five_papers_are_there() -> None:
    assert Counter(row.paper for row in published.load()) == {
        "my-pal-bert": 9, "minbert-pals": 10, "choose-pals": 20, "slapbert": 23, "pals-for-pals": 9,
    }  # fmt: skip
    assert {row.paper for row in published.load()} == set(published.TITLES) - {"rivals"}


def load(folder: Path, *lines: str) -> list[published.PublishedRow]:
    file = folder / "published.csv"
    file.write_text(HEADER + "".join(f"{line}\n" for line in lines))
    return published.load(file)


THREE = ("p,1,raw,dev,sst,0.5,", "p,1,raw,dev,qqp,0.8,", "p,1,raw,dev,sts,0.4,")


def test_the_overall_that_a_paper_does_not_print_follows_from_its_parts(tmp_path: Path) -> None:
    other = [line.replace("raw", "normalised") for line in THREE]
    raw, normalised = load(
        tmp_path, *THREE, "p,1,raw,dev,overall_raw,0.567,", *other, "p,1,normalised,dev,overall_normalised,0.667,"
    )
    assert raw.values == {
        "sst": 0.5, "qqp": 0.8, "sts": 0.4, "overall_raw": 0.567, "overall_normalised": pytest.approx(2 / 3)
    }  # fmt: skip
    assert (raw.scale, normalised.scale) == ("raw", "normalised")
    assert normalised.values["overall_raw"] == pytest.approx(1.7 / 3)
    assert normalised.values["overall_normalised"] == 0.667


def test_a_task_outside_the_three_has_no_overall(tmp_path: Path) -> None:
    assert load(tmp_path, "p,1,films,dev,cfimdb,0.963,")[0].values == {"cfimdb": 0.963}


def test_every_task_of_the_table_of_tasks_can_be_published(tmp_path: Path) -> None:
    assert [load(tmp_path, f"p,1,r,dev,{task},0.5,")[0].values for task in TASKS] == [{task: 0.5} for task in TASKS]


def test_a_row_of_one_task_has_no_overall_of_its_own(tmp_path: Path) -> None:
    two = ("p,1,two tasks,dev,sst,0.5,", "p,1,two tasks,dev,qqp,0.7,", "p,1,two tasks,dev,overall_raw,0.6,")
    one, several = load(tmp_path, "p,1,sst alone,dev,sst,0.5,", *two)
    assert one.values == {"sst": 0.5}
    assert several.values == {"sst": 0.5, "qqp": 0.7, "overall_raw": 0.6}


def test_notes_of_a_rows_lines_are_the_rows(tmp_path: Path) -> None:
    (row,) = load(tmp_path, "p,1,r,dev,sst,0.5,small", "p,1,r,dev,qqp,0.7,", "p,1,r,dev,sts,0.4,odd")
    assert row.note == "small; odd"


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([*THREE, "p,1,raw,dev,overall_raw,0.566,"], None),  # off by rounding alone
        ([*THREE, "p,1,raw,dev,overall_raw,0.6,inconsistent: the parts give 0.567"], None),
        (
            [*THREE, "p,1,raw,dev,overall_raw,0.6,"],
            "p, 1, raw, dev: overall_raw 0.6 does not follow from its parts, which give 0.567",
        ),
        (["p,1,r,eval,sst,0.5,"], "line 2: split is 'eval', not one of train, dev, test"),
        (["p,1,r,dev,sst,50.9,"], "line 2: value is '50.9', not a number from -1 to 1"),
        (["p,1,r,dev,sst,nan,"], "line 2: value is 'nan', not a number from -1 to 1"),
        (
            ["p,1,r,dev,ssst,0.5,"],
            "line 2: metric is 'ssst', not one of sst, qqp, sts, cfimdb, snli, mnli, overall_raw, overall_normalised",
        ),
        (["p,1,r,dev,overall_raw,0.5,"], "p, 1, r, dev: overall_raw without the parts it is the mean of"),
        (
            ["p,1,r,dev,sst,0.5,", "p,1,r,dev,overall_normalised,0.7,"],
            "p, 1, r, dev: overall_normalised without the parts it is the mean of",
        ),
        (
            [*THREE, "p,1,raw,dev,overall_raw,0.567,", "p,1,raw,dev,overall_normalised,0.667,"],
            "p, 1, raw, dev: both overall_raw and overall_normalised are given; a paper prints one",
        ),
        (["p,1,r,dev,sst,0.5,", "p,1,r,dev,sst,0.5,"], "line 3: sst of p, 1, r, dev stands twice"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, lines: list[str], fault: str | None) -> None:
    if fault is None:
        assert len(load(tmp_path, *lines)) == 1
        return
    with pytest.raises(DataError) as error:
        load(tmp_path, *lines)
    assert str(error.value) == f"{tmp_path / 'published.csv'}:\n{fault}"


def test_other_columns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text("paper,row\np,r\n")
    with pytest.raises(DataError, match=r"columns are \['paper', 'row'\], expected \['paper', 'table'"):
        published.load(file)
