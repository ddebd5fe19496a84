"""What is said of a claim and of each of its comparisons."""

import pytest

from mtbert.judge import Claim, ClaimResult, Comparison, Part, Verdict
from mtbert.judge.rule import NOTHING
from mtbert.report import claims
from mtbert.stats import Difference

ABOVE = Difference(0.02, 0.005, 10.0, (6, 6), 100, 100)  # its interval is 0.009 to 0.031
ACROSS = Difference(0.02, 0.02, 10.0, (6, 6), 100, 100)


def part(metric: str = "sst") -> Part:
    return Part(ours="new", other="old", metric=metric, expects="close", margin=0.01)


@pytest.mark.parametrize(
    ("comparison", "words"),
    [
        (Comparison(part(), "", ACROSS), "too close to call"),
        (Comparison(part(), "", ABOVE), "better, by how much is open"),
        (Comparison(part(), "", ABOVE.turned), "worse, by how much is open"),
        (Comparison(part("overfitting"), "", ABOVE), "higher, by how much is open"),
        (Comparison(part(), "settings", ABOVE, undeclared=("clip", "rank")), "not comparable: settings (clip, rank)"),
        (Comparison(part(), "confounders", ABOVE, confounders=("rank",)), "not comparable: confounders (rank)"),
        (Comparison(part(), "code", ABOVE, unlike=("threads",)), "not comparable: code (threads)"),
        (Comparison(part(), "budgets", ABOVE), "not comparable: budgets"),
        (Comparison(part(), "encoder", ABOVE), "open: cannot be tested with this encoder"),
        (Comparison(part(), "seeds", ABOVE), "open: fewer than six seeds"),
        (Comparison(part()), "not run"),
    ],
)
def test_a_comparison_has_words_of_its_own(comparison: Comparison, words: str) -> None:
    assert claims.own_verdict(comparison) == words


def test_a_claim_whose_interval_leaves_out_0_is_not_too_close_to_call() -> None:
    claim = Claim(name="c", paper="p", statement="New is as good.", parts=(part(),))
    result = ClaimResult(claim, Verdict.BETTER, "", NOTHING, (Comparison(part(), "", ABOVE),))
    assert claims.verdict(result) == "better, by how much is open"
