"""What our runs show of each part of a claim, and what keeps it from being judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mtbert.reporting.answers import FAULTY, LEARNING, UNEQUAL, UNLIKE
from mtbert.reporting.claims import OVERFITTING, Answer, Comparison, Part
from mtbert.reporting.comparisons import between, refused, shared_seeds
from mtbert.reporting.evidence import Evidence, tasks_of
from mtbert.statistics.verdicts import LOOKS, P, PartP, close, not_higher, one_sided

NO = PartP(*[np.ones(())] * 3)  # at one look: nothing is proved
NOTHING = PartP(*[np.ones(len(LOOKS))] * 3)


@dataclass(frozen=True)
class Seen:
    """What our runs show of a part.

    Attributes:
        comparison: at the last look that the runs have reached, or of fewer seeds; None where nothing can be compared.
        look: the number of seeds of that look; None where none was reached.
        p: at each look; 1 where it was not reached, or the part is not to be judged.
        gate, why: what keeps it from being judged at the last look, or with fewer seeds, and all reasons in words.
        budgets: what the sides had unequally much of, as the claim implies.
        left_out: the seeds that both sides have and that cannot be compared, and why, in words.
        machines: where the two sides were trained, in words, if not on the same machine.
    """

    comparison: Comparison | None
    look: int | None = None
    p: PartP = field(default_factory=lambda: NOTHING)
    gate: Answer | None = None
    why: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    left_out: str = ""
    machines: str = ""


def see(evidence: Evidence, part: Part) -> Seen:
    """What our runs show of a part, at every look that they have reached."""
    of = part.ours, part.other, part.metric
    seeds, unlike = shared_seeds(evidence, *of), refused(evidence, *of)
    words = ", ".join(dict.fromkeys(word for said in unlike.values() for word in said))
    if not seeds:
        return Seen(None, gate=UNLIKE, why=(f"made with other {words}",)) if unlike else Seen(None)
    left_out = f"{', '.join(map(str, unlike))} (made with other {words})" if unlike else ""
    looks = reached(evidence.planned, seeds)
    at_looks = [_look(evidence, part, first) for first in looks]
    compared = looks[-1] if looks else seeds
    comparison, _, gate, why = at_looks[-1] if looks else _look(evidence, part, seeds)
    budgets = evidence.conducts.unequal(part.ours, part.other, compared, tasks_of(part.metric), ())
    implied = tuple(one for one in budgets if one not in why)
    machines = evidence.conducts.machines(part.ours, part.other, compared)
    p = _at_looks([p for _, p, *_ in at_looks])
    return Seen(comparison, len(compared) if looks else None, p, gate, why, implied, left_out, machines)


def reached(planned: Sequence[int], shared: Sequence[int]) -> list[list[int]]:
    """The seeds of each look that was reached: the first so many that are planned, all of which both sides have.

    So a seed that comes late adds a look, and changes none that was taken.
    """
    firsts = [sorted(planned[:count]) for count in LOOKS if count <= len(planned)]
    return [first for first in firsts if set(first) <= set(shared)]


def _look(
    evidence: Evidence, part: Part, seeds: Sequence[int]
) -> tuple[Comparison, PartP, Answer | None, tuple[str, ...]]:
    """A part with these seeds: what is compared, its p (1 behind a gate), and the gate that is closed, with reasons."""
    comparison, found = between(evidence, part.ours, part.other, part.metric, seeds)
    gate, why = _gate(evidence, part, seeds)
    return comparison, NO if gate or found is None else part_p(part, found.at_most, found.at_least), gate, why


def _at_looks(each: Sequence[PartP]) -> PartP:
    """The p at the looks that were reached, and 1 at the others."""
    left = [1.0] * (len(LOOKS) - len(each))
    return PartP(*(np.array([*(getattr(p, of) for p in each), *left]) for of in ("holds", "fails", "little")))


def _gate(evidence: Evidence, part: Part, seeds: Sequence[int]) -> tuple[Answer | None, tuple[str, ...]]:
    """What keeps a part from being judged, if anything; all of it in words."""
    conducts, rows = evidence.conducts, [*part.ours, *part.other]
    if conducts.faults(rows, seeds):
        return FAULTY, ("trained by code with a known fault",)
    models, tasks = conducts.models(rows), tasks_of(part.metric)
    learning = _said({model: conducts.still_learning(model, seeds) for model in models})
    learning += _said(evidence.learnt_nothing(part.ours, part.metric, seeds))
    learning += _said(evidence.learnt_nothing(part.other, part.metric, seeds))
    if part.metric == OVERFITTING:
        learning += _said({model: conducts.unseen(model, seeds, tasks) for model in models})
    unequal = conducts.unequal(part.ours, part.other, seeds, tasks, part.differs)
    gates: dict[Answer, list[str]] = {LEARNING: learning, UNEQUAL: unequal}
    return next((gate for gate, why in gates.items() if why), None), (*learning, *unequal)


def _said(of_models: Mapping[str, str]) -> list[str]:
    return [f"{model}: {said}" for model, said in of_models.items() if said]


def part_p(part: Part, at_most: P, at_least: P) -> PartP:
    """The one-sided p of a part, from those of the true difference being at most, and at least, a bound."""
    if part.expects == "close":
        return close(at_most, at_least, part.matters)
    if part.expects == "not higher":
        return not_higher(at_most, at_least, part.matters)
    if part.expects == "higher":
        return one_sided(at_most, at_least, part.matters, part.published)
    announced = None if part.published is None else -part.published
    return one_sided(lambda bound: at_least(-bound), lambda bound: at_most(-bound), part.matters, announced)
