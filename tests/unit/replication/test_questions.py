"""The report's first rows and picture: what is said of each question, and that the page of the papers says the same."""

from pathlib import Path
from typing import Any

import made
import pytest

from mtbert.judge import Verdict
from mtbert.judge.rule import NOTHING, PValues
from mtbert.replication import (
    Claim,
    ClaimComparison,
    ClaimPart,
    ClaimResult,
    Replication,
    claims_section,
    questions_section,
    replicate,
)
from mtbert.report import answer_section, markdown
from mtbert.scores import tables
from mtbert.stats import Estimate

ROOT = Path(__file__).parents[3]
OURS = f"{markdown.MINUS}0.023"


P = {
    Verdict.HOLDS: PValues(0.0, 1.0, 1.0),
    Verdict.SMALL: PValues(0.0, 1.0, 0.0),
    Verdict.FAILS: PValues(1.0, 0.0, 1.0),
    Verdict.TOO_CLOSE: NOTHING,
}


def result(verdict: Verdict = Verdict.TOO_CLOSE, seeds: int = 6, said: Any = None, **part: Any) -> ClaimResult:
    """An answer to a question about SST-5, of so many seeds; none were trained where that is 0."""
    values = {"ours": "new", "other": "old", "metric": "sst", "expects": "higher", "margin": 0.01} | part
    found = Estimate(-0.0234, None, 0.0, (seeds, 6), 100, 100) if seeds else None
    claim = Claim(name="c", paper="front", statement="Better?", parts=(ClaimPart(**values),))
    return ClaimResult(claim, P[verdict], (ClaimComparison(**dict(claim.parts[0]), difference=found, **(said or {})),))


def worse(expects: str, mean: float = -0.017) -> ClaimResult:
    """An answer whose interval ends below 0, and of which nothing is proved once it is corrected."""
    difference = Estimate(mean, 0.005, 10.0, (6, 6), 100, 100)
    part = ClaimPart(ours="new", other="old", metric="sst", expects=expects, margin=0.01)
    claim = Claim(name="c", paper="front", statement="As good?", parts=(part,))
    return ClaimResult(claim, NOTHING, (ClaimComparison(**dict(part), difference=difference),))


@pytest.mark.parametrize(
    ("answer", "cells"),
    [
        (result(seeds=3, said={"missing": "seeds"}), {"answer": "open: 3 of 6 seeds"}),
        (result(Verdict.HOLDS), {"question": "Better? (SST-5)", "ours": OURS, "answer": "yes"}),
        (result(Verdict.FAILS, other="untrained-encoder"), {"published": markdown.DASH, "answer": "no"}),
        (result(Verdict.FAILS, expects="not lower"), {"published": "not worse"}),
        (result(Verdict.FAILS, published=0.02), {"published": "+0.020"}),
        (worse("not lower"), {"answer": "worse, by how much is open"}),
        (worse("not lower", -0.023), {"answer": "worse, by how much is open"}),  # by the margin, but not corrected
        (worse("higher"), {"answer": "worse, by how much is open"}),
        (result(Verdict.TOO_CLOSE), {"answer": "too close to call"}),
        (result(said={"mismatches": {"budgets": ("steps",)}}), {"answer": "not comparable: budgets"}),
        (result(Verdict.FAILS, metric="qqp"), {"ours": f"{OURS} {claims_section.MAY_BE_KNOWN}"}),
    ],
)
def test_a_row(answer: ClaimResult, cells: dict[str, str]):
    (row,) = questions_section.rows([answer])
    assert cells.items() <= row.items()


def test_questions_that_were_not_run_are_named_or_counted_and_not_shown():
    results = made.results({("old", 1): {"sst": [0, 1, 2, 0]}})
    ran, not_run = result(Verdict.HOLDS), result(seeds=0)
    shown = questions_section.render(results, [ran, not_run], "pictures")
    assert shown.endswith(" Not run, and open with 0 of 6 seeds: *Better? (SST-5)*.")
    shown = questions_section.render(results, [ran, not_run, not_run, not_run], "pictures")
    assert shown.count("Better?") == 1
    assert shown.endswith(" 3 more questions: not run.")
    assert questions_section.render(results, [not_run], "pictures") == ""


@pytest.fixture(scope="module")
def replication() -> Replication:
    """Of the evidence that is committed."""
    return replicate(*(tables.read(ROOT / "reports/laptop" / part) for part in ("evidence", "third")))


def test_on_the_course_s_data_the_answer_and_the_page_of_the_papers_say_the_same(replication: Replication):
    one = replication.judgement.answer
    assert one is not None
    judged = {result.claim.name: result for result in replication.questions}
    for question, label in (("pals-or-single", "PALs"), ("lora-or-single", "LoRA per task")):
        theirs, ours = judged[question].comparisons[0].difference, one.against_single_task_by_label[label].difference
        assert theirs is not None
        assert ours == theirs
    assert one.single_task is not None
    assert one.single_task.label == "One model per task"
    page = (ROOT / "docs/course.md").read_text(encoding="utf-8")
    assert f"> {next(answer_section.sentences(one))}\n" in page
    assert "**A shared model comes close to single-task models** with a third of the weights" in page
    way = one.kept or one.best
    assert way.weights["stored"] / one.single_task.weights["stored"] == pytest.approx(1 / 3, abs=0.01)
