"""What is said of a claim and of each of its comparisons."""

import pytest

from mtbert.judge.rule import NOTHING
from mtbert.replication import Claim, ClaimComparison, ClaimPart, ClaimResult, claims_section
from mtbert.stats import Estimate

ABOVE = Estimate(0.02, 0.005, 10.0, (6, 6), 100, 100)  # its interval is 0.009 to 0.031
ACROSS = Estimate(0.02, 0.02, 10.0, (6, 6), 100, 100)


def part(metric: str = "sst") -> ClaimPart:
    return ClaimPart(ours="new", other="old", metric=metric, expects="close", margin=0.01)


@pytest.mark.parametrize(
    ("comparison", "words"),
    [
        (ClaimComparison(part(), ACROSS), "too close to call"),
        (ClaimComparison(part(), ABOVE), "better, by how much is open"),
        (ClaimComparison(part(), ABOVE.turned), "worse, by how much is open"),
        (ClaimComparison(part("overfitting"), ABOVE), "higher, by how much is open"),
        (
            ClaimComparison(part(), ABOVE, {"settings": ("clip", "rank")}),
            "not comparable: settings (clip, rank)",
        ),
        (
            ClaimComparison(part(), ABOVE, {"confounders": ("rank",)}),
            "not comparable: confounders (rank)",
        ),
        (ClaimComparison(part(), ABOVE, {"code": ("threads",)}), "not comparable: code (threads)"),
        (ClaimComparison(part(), ABOVE, {"budgets": ("steps",)}), "not comparable: budgets (steps)"),
        (ClaimComparison(part(), ABOVE, missing="encoder"), "open: cannot be tested with this encoder"),
        (ClaimComparison(part(), ABOVE, missing="seeds"), "open: fewer than six seeds"),
        (ClaimComparison(part()), "not run"),
    ],
)
def test_a_comparison_has_words_of_its_own(comparison: ClaimComparison, words: str) -> None:
    assert claims_section.own_verdict(comparison) == words


def test_a_claim_whose_interval_leaves_out_0_is_not_too_close_to_call() -> None:
    claim = Claim(name="c", paper="p", statement="New is as good.", parts=(part(),))
    result = ClaimResult(claim, NOTHING, (ClaimComparison(part(), ABOVE),))
    assert claims_section.verdict(result) == "better, by how much is open"
