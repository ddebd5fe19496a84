"""What is said of a claim and of each of its comparisons."""

from typing import Any

import pytest

from mtbert.judge.rule import NOTHING
from mtbert.replication import Claim, ClaimComparison, ClaimPart, ClaimResult, claims_section
from mtbert.stats import Estimate

ABOVE = Estimate(0.02, 0.005, 10.0, (6, 6), 100, 100)  # its interval is 0.009 to 0.031
PART = ClaimPart(ours="new", other="old", metric="sst", expects="close", margin=0.01)
ACROSS = Estimate(0.02, 0.02, 10.0, (6, 6), 100, 100)


def comparison(difference: Estimate | None = None, metric: str = "sst", **said: Any) -> ClaimComparison:
    return ClaimComparison(("new",), ("old",), metric, "close", 0.01, difference, **said)


@pytest.mark.parametrize(
    ("compared", "words"),
    [
        (comparison(ACROSS), "too close to call"),
        (comparison(ABOVE), "better, by how much is open"),
        (comparison(ABOVE.turned), "worse, by how much is open"),
        (comparison(ABOVE, "overfitting"), "higher, by how much is open"),
        (
            comparison(ABOVE, mismatches={"settings": ("clip", "rank")}),
            "not comparable: settings (clip, rank)",
        ),
        (
            comparison(ABOVE, mismatches={"confounders": ("rank",)}),
            "not comparable: confounders (rank)",
        ),
        (comparison(ABOVE, mismatches={"code": ("threads",)}), "not comparable: code (threads)"),
        (comparison(ABOVE, mismatches={"budgets": ("steps",)}), "not comparable: budgets (steps)"),
        (comparison(ABOVE, missing="encoder"), "open: cannot be tested with this encoder"),
        (comparison(ABOVE, missing="seeds"), "open: fewer than six seeds"),
        (comparison(), "not run"),
    ],
)
def test_a_comparison_has_words_of_its_own(compared: ClaimComparison, words: str) -> None:
    assert claims_section.own_verdict(compared) == words


def test_a_claim_whose_interval_leaves_out_0_is_not_too_close_to_call() -> None:
    claim = Claim(name="c", paper="p", statement="New is as good.", parts=(PART,))
    result = ClaimResult(claim, NOTHING, (comparison(ABOVE),))
    assert claims_section.verdict(result) == "better, by how much is open"
