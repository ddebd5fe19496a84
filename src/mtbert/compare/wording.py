"""Word a comparison for a terminal."""

from mtbert.claims import SEEDS, Verdict
from mtbert.compare.comparing import FileComparison
from mtbert.stats import LEAST_CLUSTERS, Difference

STANDINGS = {
    Verdict.BETTER: "better", Verdict.WORSE: "worse", Verdict.CLOSE: "apart by less than the margin",
    Verdict.TOO_CLOSE: "not significant, the difference could be 0",
}  # fmt: skip
NOT_KNOWN = "not known"


def as_text(comparison: FileComparison) -> str:
    """Return a few lines."""
    result, ours, theirs = comparison.difference, comparison.ours, comparison.theirs
    width = max(map(len, (ours.name, theirs.name, "difference")))
    clusters = "" if result.clusters == result.rows else f" in {result.clusters} clusters"
    p = comparison.p
    return "\n".join([
        f"{_score(comparison)} on {result.rows} rows{clusters}",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval {_source_of_noise(comparison)}",
        f"{ours.name:<{width}}  {ours.score.mean:>8.4f}  {_interval(ours.score, '.4f')}",
        f"{theirs.name:<{width}}  {theirs.score.mean:>8.4f}  {_interval(theirs.score, '.4f')}",
        f"{'difference':<{width}}  {result.mean:>+8.4f}  {_interval(result, '+.4f')}",
        "",
        f"p of no difference: {NOT_KNOWN if p is None else f'{p:.4g}'}",
        "",
        f"{ours.name} against {theirs.name}: {_answer(comparison)} (margin {comparison.result.part.margin:g}).",
        _scope(comparison),
        *(_constant(name, comparison.result.part.metric) for name in comparison.constant),
        *(f"Note: {change}" for change in comparison.changes),
    ])  # fmt: skip


def _score(comparison: FileComparison) -> str:
    """Return the name of the score; of F1 also which one it is, since the classes of the files decide."""
    metric = comparison.result.part.metric
    if metric != "f1":
        return metric
    return "f1 of class 1" if comparison.has_one_class else "f1, the mean over classes,"


def _source_of_noise(comparison: FileComparison) -> str:
    """Return what the intervals are over."""
    ours, theirs = comparison.difference.seeds
    if not ours and not theirs:
        return "over rows"
    if ours and theirs:
        return "over seeds and rows"
    alone = comparison.theirs.name if ours else comparison.ours.name
    return f"over seeds and rows; of {alone} over rows"


def _interval(result: Difference, form: str) -> str:
    if result.interval is None:
        return NOT_KNOWN
    return " to ".join(format(end, form) for end in result.interval)


def _answer(comparison: FileComparison) -> str:
    """Return the standing of ours, or why it is open."""
    result = comparison.difference
    if comparison.are_alike:
        is_accuracy = comparison.result.part.metric == "accuracy"
        right = "both are right on the same rows" if is_accuracy else "both predict the same"
        return f"no difference, {right}"
    if comparison.constant and result.interval is None:
        return "open, a score is not defined"
    if comparison.missing_seeds:
        seeds = [_more_seeds(name, count) for name, count in comparison.missing_seeds.items()]
        return f"open, {' and '.join(seeds)} needed"
    if result.clusters < LEAST_CLUSTERS:
        return f"open, too few clusters of rows: {result.clusters}, and {LEAST_CLUSTERS} are needed"
    if result.interval is None:
        return "open, the two differ alike in every cluster of rows, which shows no noise to compare with"
    size = ", by how much is open" if comparison.result.is_size_open else ""
    return STANDINGS[comparison.result.standing] + size


def _more_seeds(name: str, count: int) -> str:
    return f"{count} more {'seed' if count == 1 else 'seeds'} of {name}"


def _scope(comparison: FileComparison) -> str:
    """Return what the answer is about: trainings, or these models alone."""
    names, seeds = (comparison.ours.name, comparison.theirs.name), comparison.difference.seeds
    if not any(seeds):
        return "This is of these two models: one training each says nothing of other trainings."
    if all(seeds):
        return "This is of {} and {} seeds: an answer needs {} of each.".format(*seeds, SEEDS)
    (name, count), alone = max(zip(names, seeds, strict=True), key=lambda side: side[1]), names[seeds.index(0)]
    return f"This is of {count} seeds of {name}, and of {alone} as it is: it has no seeds, and needs none."


def _constant(name: str, metric: str) -> str:
    return f"{name} predicts one value on every row: {metric} is not defined there, and counts as 0."
