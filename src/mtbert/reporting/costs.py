"""What a row costs beside what it scores: weights to store, and time to train."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean, stdev

from mtbert import metrics
from mtbert.metrics import MAIN_TASKS
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.results import Run, Score, Weights, together
from mtbert.reporting.tables import join
from mtbert.statistics import intervals
from mtbert.statistics.verdicts import LOOKS

Reached = dict[int, dict[str, float]]  # by seed, then metric


@dataclass(frozen=True)
class Cost:
    """One variant, one ensemble, or the single-task variants that together make one row.

    Attributes:
        name: as in the catalog; of variants that make one row, that row's.
        paper, row: the published row that it answers to.
        variants: the names of its models; of an ensemble, its own.
        added, trained, stored, times_bert: as in `results.Weights`.
        seconds: training time of one seed, a mean over seeds, of all its models; None where not logged.
        scores: dev scores by metric, one of each seed.
        departures: settings that differ from the shipped ones.
        rows: training rows of each task that its models were held to; None where they used all.
        faulty: whether code with a known fault trained one of its models.
    """

    name: str
    paper: str
    row: str
    variants: tuple[str, ...]
    added: int
    trained: int
    stored: int
    times_bert: float
    seconds: float | None
    scores: dict[str, list[float]]
    departures: tuple[str, ...] = ()
    rows: int | None = None
    faulty: bool = False

    @property
    def seeds(self) -> int:
        """How many; of a row of several variants, those that all of them have."""
        return max(map(len, self.scores.values()))

    def mean(self, metric: str) -> float:
        """Over seeds."""
        return fmean(self.scores[metric])

    def spread(self, metric: str) -> float | None:
        """Sample standard deviation over seeds; None with fewer than two."""
        return stdev(self.scores[metric]) if len(self.scores[metric]) > 1 else None

    def half(self, metric: str) -> float | None:
        """Half of the mean's 95 % interval over seeds; None with fewer than two."""
        interval = intervals.over_seeds(self.scores[metric])
        return None if interval.high is None else interval.high - interval.mean


def among(costs: Sequence[Cost], names: Collection[str]) -> list[Cost]:
    """Those whose models all have one of these names."""
    return [cost for cost in costs if set(cost.variants) <= set(names)]


def of(
    completed: Completed, scores: Sequence[Score], weights: dict[str, Weights], runs: Sequence[Run],
    faulty: Collection[str],
) -> list[Cost]:  # fmt: skip
    """Every selected variant and ensemble that has a dev score, and every row that several single-task variants make.

    Args:
        completed: what has run.
        scores: from `mtbert.reporting.results`.
        weights: likewise.
        runs: likewise.
        faulty: the variants and ensembles of which code with a known fault trained a model.

    Returns:
        In the catalog's order; a row of several stands after the last of them.
    """
    reached: dict[str, Reached] = {}
    for score in scores:
        if score.split == "dev" and score.value is not None:
            reached.setdefault(score.variant, {}).setdefault(score.seed, {})[score.metric] = score.value
    costs = []
    for name, group in _groups(completed):
        known = [entry.name in reached and entry.name in weights for entry in group]
        if all(known) and (by_metric := _by_metric([reached[entry.name] for entry in group])):
            size = together([weights[entry.name] for entry in group])
            cost = _cost(name, group, size, _seconds(group, runs), by_metric)
            costs.append(
                replace(cost, rows=_held_to(group, completed), faulty=any(name in faulty for name in cost.variants))
            )
    return costs


def _held_to(group: Sequence[CompletedEntry], completed: Completed) -> int | None:
    """The fewest training rows of each task that one of their models was held to; None where all used all."""
    limits = {entry.name: entry.rows for entry in completed.entries}
    known = (limits.get(name) for entry in group for name in entry.members or (entry.name,))
    return min((rows for rows in known if rows is not None), default=None)


def leaders(costs: Sequence[Cost]) -> list[Cost]:
    """Those of all three tasks, the highest overall first."""
    whole = [cost for cost in costs if "overall_raw" in cost.scores]
    return sorted(whole, key=lambda cost: -cost.mean("overall_raw"))


def ranked(costs: Sequence[Cost]) -> list[Cost]:
    """Those of `leaders` that may be ranked: of sound code, and of as many seeds as others have, up to the first look.

    One run may lead by luck. Where all are of code with a fault, all are ranked.
    """
    whole = leaders(costs)
    sound = [cost for cost in whole if not cost.faulty] or whole
    enough = min(min(LOOKS), max((cost.seeds for cost in sound), default=0))
    return [cost for cost in sound if cost.seeds >= enough]


def _groups(completed: Completed) -> Iterator[tuple[str, list[CompletedEntry]]]:
    """Each entry by itself, and those of one row that have different tasks together; with their name."""
    for (_, row), entries in groupby(_by_row(completed), key=lambda entry: (entry.paper, entry.row)):
        several = list(entries)
        yield from ((entry.name, [entry]) for entry in several)
        for group in join(several):
            if len(group) > 1 and {task for entry in group for task in entry.tasks} >= set(MAIN_TASKS):
                yield row, group


def _by_row(completed: Completed) -> list[CompletedEntry]:
    """What was asked for, in the catalog's order, the entries of a row together."""
    first: dict[tuple[str, str], int] = {}
    for at, entry in enumerate(completed.ran):
        first.setdefault((entry.paper, entry.row), at)
    return sorted(completed.ran, key=lambda entry: first[entry.paper, entry.row])


def _by_metric(parts: Sequence[Reached]) -> dict[str, list[float]]:
    """Scores by metric, one of each seed that all parts have; the overalls of several parts are of their tasks."""
    by_metric: dict[str, list[float]] = {}
    for seed in sorted(set.intersection(*(set(part) for part in parts))):
        values = {metric: value for part in parts for metric, value in part[seed].items()}
        if len(parts) > 1:
            values |= metrics.overall(values)
        for metric, value in values.items():
            by_metric.setdefault(metric, []).append(value)
    return by_metric


def _cost(
    name: str, group: Sequence[CompletedEntry], size: Weights, seconds: float | None, scores: dict[str, list[float]]
) -> Cost:
    return Cost(
        name=name,
        paper=group[0].paper,
        row=group[0].row,
        variants=tuple(entry.name for entry in group),
        added=size.added,
        trained=size.trained,
        stored=size.stored,
        times_bert=size.times_bert,
        seconds=seconds,
        scores=scores,
        departures=tuple(dict.fromkeys(one for entry in group for one in entry.changed)),
    )


def _seconds(group: Sequence[CompletedEntry], runs: Sequence[Run]) -> float | None:
    """Of all models, the members of an ensemble among them; None where one has left no log."""
    taken = [_mean_seconds(name, runs) for entry in group for name in entry.members or (entry.name,)]
    return None if None in taken else sum(time for time in taken if time is not None)


def _mean_seconds(variant: str, runs: Sequence[Run]) -> float | None:
    known = [run.training_seconds for run in runs if run.variant == variant and run.training_seconds]
    return fmean(known) if known else None
