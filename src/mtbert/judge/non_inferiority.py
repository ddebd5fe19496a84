"""Non-inferiority: a model answers as well as the one that it was made from, such as an export in int8.

Neither has seeds, and both answer the same rows.

Proved is, as of ways to keep, that the score is not lower by the margin (`rule.part_p`, "not lower"). If all but a few
rows are answered alike, Student's t has nothing to measure noise by. Then the changed answers are counted: with K
clusters of rows and k of them changed, p is the chance of k or fewer, were each changed with probability

    margin / w

w is by how much a score can fall where every answer changes, at most: 1 for accuracy; 1 / (C s) for the mean F1 of C
classes and 1 / s for MCC, s the share of the rarest class; 8 for correlations, as of a row two standard deviations from
the mean that gets the opposite answer. Of sets of labels it is the number of rows times what the worst row costs, which
loses each label that it was right to have, and gets each that it was right not to have. With hits H of S positives of
both sides, F1 = 2 H / S, a lost hit costs (2 - F1) / (S - 1), and a false label F1 / S: of all labels together for
micro-F1, of each label, over the number of labels, for macro-F1. All of it times the size of the largest cluster over
the mean one.
"""

from dataclasses import dataclass, replace

import numpy as np

from mtbert.judge.rule import NOTHING, PValues, Verdict, claim_p, part_p, sign
from mtbert.scores import metrics, sets
from mtbert.stats import LEAST_CLUSTERS, Estimate, difference, influence
from mtbert.stats.estimates import ROUNDING
from mtbert.tasks import Task

FEW = 6  # changed clusters, below which they are counted
SAME_SCORE = 1e-4  # by which a score's answer may change and count as the same
CORRELATION = 8.0


@dataclass(frozen=True)
class ScoreChange:
    """What a task's score loses or gains.

    Attributes:
        task: the task.
        before, after: its score.
        rows: of dev.
        changed: those whose answer is another one.
        difference: after less before, over other rows of dev.
        p: of being as good, and of being worse by the margin.
    """

    task: Task
    before: float
    after: float
    rows: int
    changed: int
    difference: Estimate
    p: PValues

    @property
    def verdict(self) -> Verdict:
        """HOLDS for as good, WORSE, or TOO_CLOSE: neither is proved."""
        return _verdict(self.p, sign(self.difference))


def score_change(
    task: Task, labels: np.ndarray, before: np.ndarray, after: np.ndarray, clusters: np.ndarray
) -> ScoreChange:
    """Compare two sets of answers with the labels; all are [rows], and rows of one cluster have one number."""
    sides = [influence.task_side(task, labels, answers[:, None], clusters) for answers in (after, before)]
    ours, other = (replace(side, has_seeds=False) for side in sides)
    is_changed = np.abs(after - before) > (SAME_SCORE if task.kind == "score" else 0)
    changed_clusters = len(np.unique(clusters[is_changed]))
    result = difference(ours, other, changed_clusters)
    if result.error is None and ours.clusters >= LEAST_CLUSTERS:  # a difference of the last digits
        result = replace(result, error=ROUNDING, freedom=ours.clusters - 1)
    p = NOTHING if result.error is None else part_p("not lower", task.matters, None, result)
    if changed_clusters < FEW:
        p = replace(p, holds=_p_of_few(changed_clusters, clusters, task.matters / _most(task, labels, before)))
    return ScoreChange(task, other.mean, ours.mean, len(labels), int(is_changed.sum()), result, p)


def together(changes: list[ScoreChange]) -> Verdict:
    """Return HOLDS where each is as good, WORSE where one is worse, else TOO_CLOSE."""
    if any(one.verdict is Verdict.WORSE for one in changes):
        return Verdict.WORSE
    return _verdict(claim_p([one.p for one in changes]), Verdict.TOO_CLOSE)


def _verdict(p: PValues, standing: Verdict) -> Verdict:
    if p.verdict is Verdict.HOLDS:
        return Verdict.HOLDS
    return Verdict.WORSE if Verdict.FAILS is p.verdict or standing is Verdict.WORSE else Verdict.TOO_CLOSE


def _p_of_few(changed: int, clusters: np.ndarray, share: float) -> float:
    """Return the chance of so few changed clusters if this share of rows, or more, were changed."""
    from scipy import stats

    sizes = np.unique(clusters, return_counts=True)[1]
    return float(stats.binom.cdf(changed, len(sizes), min(1.0, share * sizes.mean() / sizes.max())))


def _most(task: Task, labels: np.ndarray, before: np.ndarray) -> float:
    """Return w: by how much the score can fall where every answer changes."""
    if task.several:
        return _most_of_sets(task, labels, before)
    if task.metric == "accuracy":
        return 1.0
    if task.kind == "score":
        return CORRELATION
    counted = [*metrics.f1_classes(task.metric, task.classes)] if task.metric in metrics.F1S else [*np.unique(labels)]
    rarest = min(max(1, int((labels == number).sum())) for number in counted) / len(labels)
    return 1 / rarest / (len(counted) if task.metric in metrics.F1S else 1)


def _most_of_sets(task: Task, labels: np.ndarray, before: np.ndarray) -> float:
    """Return w of sets of labels, at least 1."""
    gold, guess = (sets.members_of(side, task.classes) for side in (labels, before))
    hits, positives = (gold & guess).sum(axis=0), gold.sum(axis=0) + guess.sum(axis=0)
    count = max(1, len(metrics.in_sets(gold, guess)))
    if task.metric == "micro_f1":
        hits, positives, count = hits.sum(), positives.sum(), 1
    f1 = np.where(positives > 0, 2 * hits / np.maximum(positives, 1), 1.0)  # a label that no row has costs most
    lost_hit = (2 - f1) / np.maximum(positives - 1, 1)
    false_label = f1 / np.maximum(positives, 1)
    costs = np.where(gold & guess, lost_hit, 0.0) + np.where(gold | guess, 0.0, false_label)
    return max(1.0, len(labels) * float(costs.sum(axis=1).max()) / count)
