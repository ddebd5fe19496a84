"""How often the rule errs, and how often it finds what is there: reports simulated from the claims file itself.

`python benchmarks/simulation.py 400` prints what benchmarks/README.md sums up, of 400 simulated reports a line. Every
variant has a noise of its own for each task, of its seeds and of the rows of dev, so that parts which share a variant
are as dependent as they are in a report. Only true differences are made up.
"""

import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from mtbert.judge.budget_runs import tasks_of
from mtbert.judge.rule import SEEDS, PValues, Verdict, claim_p, corrected, part_p
from mtbert.replication import Claim, ClaimPart, Claims, load
from mtbert.replication.claims import are_always_confounders
from mtbert.stats import Estimate
from mtbert.stats.estimates import welch
from mtbert.tasks import COURSE, main

# Standard deviations of one run. By seed as PALs showed with MiniLM on a laptop (four seeds); by rows assumed, of the
# part that all seeds of a recipe share. cfimdb is assumed.
BY_SEED = {"sst": 0.012, "qqp": 0.005, "sts": 0.008, "cfimdb": 0.010}
BY_ROWS = {"sst": 0.004, "qqp": 0.001, "sts": 0.003, "cfimdb": 0.006}
ROWS, CLUSTERS = 1000, 235  # of a task
MAIN = main(COURSE)  # the tasks that an overall is the mean of
DIFFER = "differ"  # claims that hold where there is a difference
WITHIN = ("close", "not higher", "not lower")  # claims that hold where a difference is below the margin
DOWNWARDS = ("lower", "not lower")  # what speaks of the first side as the lower one
VERDICTS = {"holds": [Verdict.HOLDS, Verdict.SMALL], "fails": [Verdict.FAILS]}
SCALES = (1.0, 0.7, 0.5)


Runs = dict[tuple[str, str], np.ndarray]  # by variant and task, scores less the true one, [reports, seeds]


def noise(parts: Sequence[ClaimPart], reports: int, scale: float, draw: np.random.Generator) -> Runs:
    """Draw the noise of every variant of these parts on every task.

    Args:
        parts: of one paper.
        reports: how many are simulated.
        scale: by what the noise is multiplied.
        draw: the source of noise.
    """
    names = sorted({name for part in parts for name in (*part.ours, *part.other)})
    return {(name, task): _runs(task, reports, scale, draw) for name in names for task in BY_SEED}


def _runs(task: str, reports: int, scale: float, draw: np.random.Generator) -> np.ndarray:
    by_rows = draw.normal(scale=scale * BY_ROWS[task], size=(reports, 1))
    return by_rows + draw.normal(scale=scale * BY_SEED[task], size=(reports, SEEDS))


def differences(part: ClaimPart, truth: float, runs: Runs, scale: float) -> list[Estimate]:
    """Return the difference that each report shows of a part, whose true one is `truth` in its direction."""
    tasks = tasks_of(part.metric, COURSE)
    ours = np.mean([runs[_model(part.ours, task), task] for task in tasks], axis=0)  # [reports, seeds]
    other = np.mean([runs[_model(part.other, task), task] for task in tasks], axis=0)
    true_difference = -truth if part.expects in DOWNWARDS else truth
    row_variance = 2 * sum((scale * BY_ROWS[task] / len(tasks)) ** 2 for task in tasks)
    return [
        _difference(true_difference, our_scores, other_scores, row_variance)
        for our_scores, other_scores in zip(ours, other, strict=True)
    ]


def _difference(true_difference: float, ours: np.ndarray, other: np.ndarray, row_variance: float) -> Estimate:
    """Return the difference that one report shows, from the scores of each side's seeds."""
    seeds = SEEDS, SEEDS
    error, freedom = welch((ours.var(ddof=1), other.var(ddof=1)), seeds, row_variance, CLUSTERS)
    return Estimate(true_difference + float((ours - other).mean()), error, freedom, seeds, ROWS, CLUSTERS)


def _model(side: Sequence[str], task: str) -> str:
    """The model of a row that has a task: of single-task models each its own."""
    return side[MAIN.index(task) % len(side)] if task in MAIN else side[0]


def judged(claims: Sequence[Claim], truths: Mapping[str, Sequence[float]], runs: Runs, scale: float) -> np.ndarray:
    """Return the verdicts of the rule, [reports, claims]; `truths` are of the deciding parts of each claim."""
    by_claim = [_of_claim(claim, truths[claim.name], runs, scale) for claim in claims]
    by_report = zip(*by_claim, strict=True)  # the p of all claims of a report
    return np.array([[p.verdict for p in corrected(claim_ps)] for claim_ps in by_report])


def _of_claim(claim: Claim, truths: Sequence[float], runs: Runs, scale: float) -> list[PValues]:
    """Return a claim's p in each report."""
    by_part = [_of_part(part, truth, runs, scale) for part, truth in zip(_deciding(claim), truths, strict=True)]
    return [claim_p(parts) for parts in zip(*by_part, strict=True)]


def _of_part(part: ClaimPart, truth: float, runs: Runs, scale: float) -> list[PValues]:
    """Return a part's p in each report."""
    by_report = differences(part, truth, runs, scale)
    return [part_p(part.expects, part.margin, part.published, difference) for difference in by_report]


def rates(every: Claims, times: float, reports: int, scale: float = 1.0, seed: int = 0) -> dict[str, float]:
    """Return how often the rule says what, of reports whose every true difference is `times` the margin.

    Where a claim says that two are close, or one not higher or not lower, they differ by as much; beside parts that
    say higher or lower they do not.

    Returns:
        Shares of reports with such a claim (of the paper that has it most often), and shares of claims, for claims that
        say there is a difference, that say close, that say not higher, and that say not lower.
    """
    draw = np.random.default_rng(seed)
    by_kind: dict[str, list[np.ndarray]] = {kind: [] for kind in (DIFFER, *WITHIN)}
    for paper in dict.fromkeys(claim.paper for claim in every.claims.values()):
        claims = [claim for claim in every.claims.values() if claim.paper == paper]
        parts = [part for claim in claims for part in _deciding(claim)]
        truths = {claim.name: [times * margin for margin in _margins(claim)] for claim in claims}
        verdicts = judged(claims, truths, noise(parts, reports, scale, draw), scale)
        kinds = np.array([_kind(claim) for claim in claims])
        for kind, of_papers in by_kind.items():
            of_papers.append(verdicts[:, kinds == kind])
    shares: dict[str, float] = {}
    for (kind, of_papers), (name, verdicts) in itertools.product(by_kind.items(), VERDICTS.items()):
        has_verdict = [np.isin(of_paper, verdicts) for of_paper in of_papers if of_paper.size]  # [reports, claims]
        shares[f"{kind} {name}, a report"] = max(float(of_paper.any(axis=1).mean()) for of_paper in has_verdict)
        shares[f"{kind} {name}, a claim"] = float(np.concatenate(has_verdict, axis=1).mean())
    return shares


def _deciding(claim: Claim) -> list[ClaimPart]:
    """The parts that no learning rate confounds."""
    return [part for part in claim.parts if not are_always_confounders(part.confounded)]


def _kind(claim: Claim) -> str:
    """What all deciding parts of a claim expect, where that is one of WITHIN; else DIFFER."""
    expectations = {part.expects for part in _deciding(claim)}
    if len(expectations) == 1 and expectations <= {*WITHIN}:
        return expectations.pop()
    return DIFFER


def _margins(claim: Claim) -> Iterable[float]:
    """The margin of each deciding part; 0 of one that says one of WITHIN beside others that do not."""
    for part in _deciding(claim):
        yield part.margin if _kind(claim) in WITHIN or part.expects not in WITHIN else 0.0


def table(every: Claims, reports: int) -> str:
    """Return as Markdown, in per cent and by the noise, how often

    - *refuted reports*: a report has a claim that is refuted, where every difference is the margin;
    - *false holds*: a report has a claim that holds, where there is no difference (of *close*, *not higher* and
      *not lower*: where it is the margin);
    - *refuted claims*: a claim is refuted, where every difference is half the margin;
    - *found*: a claim holds, where every difference is twice the margin.
    """
    lines = []
    for scale in SCALES:
        none, half, margin, twice = (rates(every, times, reports, scale) for times in (0, 0.5, 1, 2))
        false = [none["differ holds, a report"], *(margin[f"{kind} holds, a report"] for kind in WITHIN)]
        shares = {
            "refuted reports": margin["differ fails, a report"],
            "false holds": max(false),
            "refuted claims": half["differ fails, a claim"],
            "found": twice["differ holds, a claim"],
        }
        lines.append({"noise": f"{scale:g}"} | {name: f"{100 * share:.1f}" for name, share in shares.items()})
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True)


if __name__ == "__main__":
    print(table(load(), int(sys.argv[1]) if len(sys.argv) > 1 else 400))
