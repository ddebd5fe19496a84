"""Word a comparison for a terminal."""

from collections.abc import Sequence

from mtbert.judge import SEEDS, Comparison, Verdict
from mtbert.stats import LEAST_CLUSTERS, Estimate

VERDICTS = {
    Verdict.HOLDS: "apart by less than the margin", Verdict.TOO_CLOSE: "not significant, the difference could be 0",
    Verdict.BETTER: "better, by how much is open", Verdict.WORSE: "worse, by how much is open",
}  # fmt: skip
METRICS = {
    "f1": "f1 of class 1",
    "macro_f1": "f1, the mean over classes,",
    "labels_f1": "f1, the mean over labels,",
}  # by name, where that does not say it
NOT_KNOWN = "not known"


def as_text(comparison: Comparison, notes: Sequence[str] = ()) -> str:
    """Return a few lines; `notes` stand at the end."""
    result, (our_score, their_score), (ours, theirs) = _difference(comparison), _scores(comparison), _names(comparison)
    width = max(map(len, (ours, theirs, "difference")))
    clusters = "" if result.clusters == result.rows else f" in {result.clusters} clusters"
    metric = comparison.metric
    return "\n".join([
        f"{METRICS.get(metric, metric)} on {result.rows} rows{clusters}",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval {_source_of_noise(comparison)}",
        f"{ours:<{width}}  {our_score.mean:>8.4f}  {_interval(our_score, '.4f')}",
        f"{theirs:<{width}}  {their_score.mean:>8.4f}  {_interval(their_score, '.4f')}",
        f"{'difference':<{width}}  {result.mean:>+8.4f}  {_interval(result, '+.4f')}",
        "",
        f"p of no difference: {NOT_KNOWN if result.p is None else f'{result.p:.4g}'}",
        "",
        f"{ours} against {theirs}: {_answer(comparison)} (margin {comparison.margin:g}).",
        _scope(comparison),
        *(_undefined(name, metric) for name in _undefined_sides(comparison)),
        *(f"Note: {note}" for note in notes),
    ])  # fmt: skip


def _difference(comparison: Comparison) -> Estimate:
    assert comparison.difference is not None  # both files have predictions
    return comparison.difference


def _scores(comparison: Comparison) -> tuple[Estimate, Estimate]:
    assert comparison.scores is not None  # `compare_files` always asks for them
    return comparison.scores


def _names(comparison: Comparison) -> tuple[str, str]:
    """Return the name of each side as it was given."""
    (ours,), (theirs,) = comparison.ours, comparison.other
    return ours, theirs


def _source_of_noise(comparison: Comparison) -> str:
    """Return what the intervals are over."""
    seeds = _difference(comparison).seeds
    if not any(seeds):
        return "over rows"
    if all(seeds):
        return "over seeds and rows"
    return f"over seeds and rows; of {_names(comparison)[seeds.index(0)]} over rows"


def _interval(result: Estimate, form: str) -> str:
    if result.interval is None:
        return NOT_KNOWN
    return " to ".join(format(end, form) for end in result.interval)


def _answer(comparison: Comparison) -> str:
    """Return the verdict on ours, or why it is open."""
    result = _difference(comparison)
    if result.are_alike:
        right = "both are right on the same rows" if comparison.metric == "accuracy" else "both predict the same"
        return f"no difference, {right}"
    if _undefined_sides(comparison) and result.interval is None:
        return "open, a score is not defined"
    if comparison.missing:
        return f"open, {_needed(comparison)} needed"
    if result.interval is None:
        return "open, the difference is the same in every cluster of rows, so its noise cannot be estimated"
    if comparison.verdict is Verdict.FAILS:
        return "better" if result.mean > 0 else "worse"
    return VERDICTS[comparison.verdict]


def _needed(comparison: Comparison) -> str:
    """Return how many seeds, or clusters of rows, an answer lacks."""
    result = _difference(comparison)
    if comparison.missing == "seeds":
        counts = zip(_names(comparison), result.seeds, strict=True)
        return " and ".join(_more_seeds(name, SEEDS - count) for name, count in counts if 0 < count < SEEDS)
    return f"too few clusters of rows: {result.clusters}, and {LEAST_CLUSTERS} are"


def _more_seeds(name: str, count: int) -> str:
    return f"{count} more {'seed' if count == 1 else 'seeds'} of {name}"


def _scope(comparison: Comparison) -> str:
    """Return what the answer is about: trainings, or these models alone."""
    names, seeds = _names(comparison), _difference(comparison).seeds
    if not any(seeds):
        return "This compares two trained models: one training each says nothing about other trainings."
    if all(seeds):
        return "This is of {} and {} seeds: an answer needs {} of each.".format(*seeds, SEEDS)
    alone = seeds.index(0)
    return (
        f"This is of {max(seeds)} seeds of {names[1 - alone]}, and of {names[alone]} as it is: it has no seeds, and "
        "needs none."
    )


def _undefined_sides(comparison: Comparison) -> list[str]:
    """Return the sides that predict one value on every row, for which the metric is not defined."""
    sides = zip(_names(comparison), _scores(comparison), strict=True)
    return [name for name, score in sides if not score.is_defined]


def _undefined(name: str, metric: str) -> str:
    return f"{name} predicts one value on every row: {metric} is not defined there, and counts as 0."
