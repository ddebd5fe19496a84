"""The first page of a report: what the baselines score."""

from dataclasses import replace

from mtbert.report import first_page
from mtbert.tasks import COURSE


def test_the_name_of_a_class_in_a_heading_is_text():
    task = replace(COURSE["qqp"], metric="f1", names=("no", "<b>|*yes*"))
    heading, _, line = first_page.table({"baseline-tfidf": {"qqp": 0.5}}, {"qqp": task}).splitlines()
    assert heading.split(maxsplit=2)[2] == r"QQP (F1 of &lt;b&gt;\|\*yes\*) |"
    assert [cell.strip() for cell in line.split("|")] == ["", "TF-IDF", "0.500", ""]
