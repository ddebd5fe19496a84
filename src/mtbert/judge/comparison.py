"""What is compared, two sides on a metric with what is expected of their difference; and what runs say of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import pydantic

from mtbert.judge.rule import DIFFERENCES, NOTHING, SEEDS, Expected, PValues, Verdict, part_p, sign
from mtbert.scores.metrics import OVERALLS
from mtbert.settings import Section
from mtbert.stats import LEAST_CLUSTERS, Estimate
from mtbert.tasks import Tasks, main


def sequence(value: Any) -> Any:
    """Return a YAML list, or the words of a string, as a tuple; anything else as it is, to be refused."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[tuple[str, ...], pydantic.BeforeValidator(sequence)]


class Part(Section):
    """What is to be compared.

    Attributes:
        ours, other: names of the variants (or an ensemble) of each side; several single-task variants make one row.
        metric: a task, an overall, or `overfitting`.
        expects: `higher`: ours is better by more than nothing; `lower`; `close`: apart by less than the margin;
            `not higher`: ours is better by less than the margin, if at all; or `not lower`.
        margin: the smallest difference that matters.
    """

    ours: Names
    other: Names
    metric: str
    expects: Expected
    margin: float


def margins(tasks: Tasks) -> dict[str, float]:
    """Return by metric the smallest difference that matters: of a mean the largest of its tasks'."""
    task_margins = {name: task.matters for name, task in tasks.items()}
    return task_margins | dict.fromkeys(OVERALLS, max(task_margins[name] for name in main(tasks)))


@dataclass(frozen=True)
class Comparison:
    """What is to be compared, and what the runs say of it.

    Attributes:
        part: what is compared.
        difference: ours - other; None where it was not run.
        mismatches: names of that in which the sides were not trained alike, by what it is, of DIFFERENCES.
        missing: what a verdict needs and the runs do not have, of NEEDS; empty for nothing.
        p: of what the part expects; 1 where it is not judged. Of ways it is corrected over all of them.
        scores: of ours and of the other, each by itself; None where nobody asks.
    """

    part: Part
    difference: Estimate | None = None
    mismatches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = ""
    p: PValues = NOTHING
    scores: tuple[Estimate, Estimate] | None = None

    @property
    def verdict(self) -> Verdict:
        """What is proved of what the part expects; else which side is better, or that it is not judged."""
        if self.difference is None:
            return Verdict.NOT_RUN
        if self.mismatches:
            return Verdict.NOT_COMPARABLE
        if self.missing:
            return Verdict.OPEN
        return sign(self.difference) if self.p.verdict is Verdict.TOO_CLOSE else self.p.verdict

    @property
    def reason(self) -> str:
        """Why it is not judged: in what its sides differ, or what is missing; empty where it is, or was not run."""
        return next((name for name in DIFFERENCES if name in self.mismatches), self.missing)

    @property
    def is_judged(self) -> bool:
        """Whether its sides were run and may be compared."""
        return self.difference is not None and not self.reason


def missing_data(difference: Estimate) -> str:
    """Return what a difference has too few of for a verdict, of NEEDS; empty for neither."""
    if difference.clusters < LEAST_CLUSTERS:
        return "rows"
    return "seeds" if difference.lacks_seeds(SEEDS) else ""


def with_p(comparison: Comparison) -> Comparison:
    """Return the comparison with the p of what its part expects, not corrected; 1 where it is not judged."""
    part, difference = comparison.part, comparison.difference
    if difference is None or difference.error is None or not comparison.is_judged:
        return replace(comparison, p=NOTHING)
    return replace(comparison, p=part_p(part.expects, part.margin, None, difference))
