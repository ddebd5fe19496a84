"""How often the verdicts err, and how often they find what is there: reports simulated from the claims file itself.

`python -m mtbert.reporting.simulation` prints the table of docs/verdicts.md. Every variant has a noise of its own for
each task, of its seeds and of the choice of examples, so that parts which share a variant are as dependent as they
are in a report. Only true differences are made up.
"""

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mtbert.metrics import MAIN_TASKS
from mtbert.reporting.claims import Claim, Claims, Part, load
from mtbert.reporting.evidence import tasks_of
from mtbert.reporting.seen import part_p
from mtbert.reporting.verdicts import decidable
from mtbert.statistics import seeds
from mtbert.statistics.multiple import holm
from mtbert.statistics.verdicts import LOOKS, PLANNED, Decision, PartP, decide

# Of one run. By seed as PALs showed with MiniLM on a laptop (four seeds of earlier code); by examples assumed, of the
# part that all seeds of a recipe share. cfimdb is assumed.
BY_SEED = {"sst": 0.012, "qqp": 0.005, "sts": 0.008, "cfimdb": 0.010}
BY_EXAMPLES = {"sst": 0.004, "qqp": 0.001, "sts": 0.003, "cfimdb": 0.006}
WITHIN = ("close", "not higher")  # claims that hold where a difference is less than what matters
TRUTHS = {"none": 0.0, "half the margin": 0.5, "at the margin": 1.0, "twice the margin": 2.0}


@dataclass(frozen=True)
class Noisy:
    """Differences of one paper's parts in many reports: what seeds showed, and how much examples move them.

    Attributes:
        differences: reports x parts x seeds, ours - other as in a report.
        example_sd: parts.
    """

    differences: np.ndarray
    example_sd: np.ndarray


def noisy(
    parts: Sequence[Part], truths: Sequence[float], reports: int, scale: float, draw: np.random.Generator
) -> Noisy:
    """Simulate `reports` reports of these parts.

    Args:
        truths: the true difference of each part; positive where the side is higher that it says is higher, or is not.
        scale: by what the noise is multiplied; 0.5 is that of calmer trainings.
    """
    names = sorted({name for part in parts for name in (*part.ours, *part.other)})
    noise = {(name, task): _noise(task, reports, scale, draw) for name in names for task in BY_SEED}
    found, sds = [], []
    for part, truth in zip(parts, truths, strict=True):
        tasks = tasks_of(part.metric)
        sides = [
            sum(noise[_model(side, task), task] for task in tasks) / len(tasks) for side in (part.ours, part.other)
        ]
        found.append((-truth if part.expects == "lower" else truth) + sides[0] - sides[1])
        sds.append(scale * spread(tasks)[1])
    return Noisy(np.stack(found, axis=1), np.array(sds))


def spread(tasks: Sequence[str]) -> tuple[float, float]:
    """The standard deviations of a difference of two rows in the mean of these tasks: of a seed, and by examples."""
    of_one = (np.hypot.reduce([noise[task] for task in tasks]) / len(tasks) for noise in (BY_SEED, BY_EXAMPLES))
    by_seed, by_examples = (float(sd * np.sqrt(2)) for sd in of_one)
    return by_seed, by_examples


def _model(side: Sequence[str], task: str) -> str:
    """The model of a row that has a task: of single-task models each its own."""
    return side[MAIN_TASKS.index(task) % len(side)] if task in MAIN_TASKS else side[0]


def _noise(task: str, reports: int, scale: float, draw: np.random.Generator) -> np.ndarray:
    by_examples = draw.normal(scale=scale * BY_EXAMPLES[task], size=(reports, 1))
    return by_examples + draw.normal(scale=scale * BY_SEED[task], size=(reports, PLANNED))


Rule = Callable[[Sequence[Claim], Noisy], Decision]


def judged(claims: Sequence[Claim], found: Noisy) -> Decision:
    """What the rule makes of them; each claim's parts stand one after the other."""
    parts = [part for claim in claims for part in claim.parts]
    looks = [[_p(part, found, at, count) for at, part in enumerate(parts)] for count in LOOKS]
    holds, fails, little = (
        np.array([[getattr(part, name) for part in look] for look in looks]).swapaxes(1, 2)
        for name in ("holds", "fails", "little")
    )
    return decide(PartP(holds, fails, little), _places(claims), list(LOOKS.values()))


def _p(part: Part, found: Noisy, at: int, count: int) -> PartP:
    """The p of a part with the first `count` seeds, by the same function as in a report; each array is of reports."""
    seen = found.differences[:, at, :count]
    mean, of_seeds = seen.mean(axis=-1), seen.var(axis=-1, ddof=1) / count
    draws, weights = seeds.normal_draws(np.full(mean.shape, found.example_sd[at]), points=31)
    return part_p(
        part,
        lambda bound: seeds.share_below(bound - mean, of_seeds, count, draws, weights),
        lambda bound: seeds.share_below(mean - bound, of_seeds, count, -draws, weights),
    )


def before(claims: Sequence[Claim], found: Noisy) -> Decision:
    """What the earlier rule made of all planned seeds: intervals of 95 %, and Holm over parts for `holds` alone."""
    parts = [part for claim in claims for part in claim.parts]
    each = [_p(part, found, at, PLANNED) for at, part in enumerate(parts)]
    above = np.array([p.holds for p in each]).T
    two_sided = holm(2 * above)
    is_within = np.array([part.expects in WITHIN for part in parts])
    failing = np.array([_beyond(part, found, at) for at, part in enumerate(parts)]).T < 0.025
    holding = np.where(is_within, above, np.maximum(above, two_sided / 2)) < 0.025
    places = _places(claims)
    fails = np.stack([failing[:, place].any(axis=1) for place in places], axis=1)
    holds = np.stack([holding[:, place].all(axis=1) for place in places], axis=1) & ~fails
    return Decision(holds, fails, np.zeros_like(fails), np.empty(0), np.empty(0), np.empty(0))


def _beyond(part: Part, found: Noisy, at: int) -> np.ndarray:
    """The p by which a part was refuted: against the margin, whatever the paper announced."""
    fails = _p(part.model_copy(update={"published": None}), found, at, PLANNED).fails
    return fails / 2 if part.expects == "close" else fails


def _places(claims: Sequence[Claim]) -> list[list[int]]:
    """The parts of each claim, where all stand one after the other."""
    ends = np.cumsum([0, *(len(claim.parts) for claim in claims)])
    return [list(range(start, end)) for start, end in itertools.pairwise(ends)]


def rates(
    every: Claims, times: float, reports: int, scale: float = 1.0, rule: Rule = judged, seed: int = 0
) -> dict[str, float]:
    """How often the rule says what, of reports whose every true difference is `times` the margin.

    Where a claim says that two are close, or one not higher, they differ by as much; beside parts that say higher or
    lower they do not.

    Returns:
        Shares of reports in which one claim or more is found to hold, or not to: of a paper (that which has it most
        often) and of all papers together; then shares of claims, those that say close, or not higher, apart.
    """
    draw = np.random.default_rng(seed)
    outcomes: dict[str, list[np.ndarray]] = {}
    for claims in _families(every):
        parts = [part for claim in claims for part in claim.parts]
        truths = [times * truth for claim in claims for truth in _margins(claim)]
        made = rule(claims, noisy(parts, truths, reports, scale, draw))
        within = np.array([_within(claim) for claim in claims])
        holds, fails = made.holds & ~made.fails, made.fails & ~made.holds
        answers = {"holds": holds & ~made.little, "real but small": holds & made.little, "does not hold": fails}
        for name, which in answers.items():
            outcomes.setdefault(name, []).append(which[:, within == ""])
            for kind in WITHIN:
                outcomes.setdefault(f"{kind}: {name}", []).append(which[:, within == kind])
    found = {}
    for name, families in outcomes.items():
        of_paper = [which.any(axis=1) for which in families if which.size]
        found[f"{name}, a paper"] = max(float(any_claim.mean()) for any_claim in of_paper)
        found[f"{name}, all papers"] = float(np.any(of_paper, axis=0).mean())
        found[f"{name}, a claim"] = float(np.concatenate(families, axis=1).mean())
    return found


def _within(claim: Claim) -> str:
    """What all of a claim's parts say, where that is close or not higher; else nothing."""
    said = {part.expects for part in claim.parts}
    return next((kind for kind in WITHIN if said == {kind}), "")


def _margins(claim: Claim) -> list[float]:
    """What matters in each part; 0 in one that says close or not higher beside others that do not."""
    return [part.matters if _within(claim) or part.expects not in WITHIN else 0.0 for part in claim.parts]


def _families(every: Claims) -> Iterable[list[Claim]]:
    """Each paper's claims that can be decided, of parts that decide."""
    claims = [decidable(claim) for claim in every.claims.values()]
    for paper in dict.fromkeys(claim.paper for claim in claims):
        yield [claim for claim in claims if claim.paper == paper and claim.parts]


COLUMNS = (
    "holds, a paper", "holds, a claim", "real but small, a claim", "does not hold, a paper",
    "does not hold, all papers", "does not hold, a claim", "close: holds, a claim", "close: does not hold, a claim",
    "not higher: holds, a claim", "not higher: does not hold, a claim",
)  # fmt: skip


def table(every: Claims, reports: int) -> str:
    """Rates of both rules, as Markdown."""
    lines = []
    for scale, (truth, times), (name, rule) in itertools.product(
        (1.0, 0.5, 0.25), TRUTHS.items(), (("before", before), ("now", judged))
    ):
        found = rates(every, times, reports, scale, rule)
        about = {"noise": f"x {scale:g}", "true difference": truth, "rule": name}
        lines.append(about | {column: f"{100 * found[column]:.1f} %" for column in COLUMNS})
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True)


if __name__ == "__main__":
    print(table(load(), int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
