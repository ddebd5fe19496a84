"""What runs say of one comparison."""

from dataclasses import dataclass, replace

from mtbert.judge.parts import Part
from mtbert.judge.rule import NOTHING, OBSTACLES, PValues, Verdict, part_p, sign
from mtbert.stats import Difference
from mtbert.stats.power import Needed


@dataclass(frozen=True)
class Comparison:
    """What is to be compared, and what the runs say of it.

    Attributes:
        part: what is compared.
        obstacle: what keeps it from being judged, of OBSTACLES; empty for nothing.
        difference: ours - other; None where it was not run.
        p: of what the part expects; 1 where it is not judged. Of ways it is corrected over all of them.
        needed: what would decide whether ours is no worse; None where nobody asks or knows.
        scores: of ours and of the other, each by itself; None where nobody asks.
    """

    part: Part
    obstacle: str = "not run"
    difference: Difference | None = None
    p: PValues = NOTHING
    needed: Needed | None = None
    scores: tuple[Difference, Difference] | None = None

    @property
    def verdict(self) -> Verdict:
        """What is proved of what the part expects; else which side is better, or why it is not judged."""
        if self.obstacle:
            return OBSTACLES[self.obstacle]
        return sign(self.difference) if self.p.verdict is Verdict.TOO_CLOSE else self.p.verdict


def with_p(comparison: Comparison) -> Comparison:
    """Return the comparison with the p of what its part expects, not corrected; 1 where it is not judged."""
    part, difference = comparison.part, comparison.difference
    if comparison.obstacle or difference is None or difference.error is None:
        return replace(comparison, p=NOTHING)
    return replace(comparison, p=part_p(part.expects, part.margin, None, difference))
