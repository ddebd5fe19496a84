"""One side of a comparison: the scores of its seeds, and how much each cluster of dev rows moves them.

A side without seeds is one set of predictions that no seed changes: a baseline, the untrained encoder, or a model that
stands for itself alone. Its variance over seeds is 0, and other rows move it by the full variance of its score,
sum_k I_k^2. A side of folds has a column for each fold in place of seeds: `mtbert.stats.folds`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        scores: of each seed, [seeds]; of a side without seeds, [1].
        moves: by how much each cluster of rows moves each score, [clusters, seeds] (`mtbert.stats.influence`); of the
            mean over several tasks, the clusters of all of them.
        rows: the number of rows of dev, of all tasks.
        clusters: the number of their clusters; of several tasks, that of the task that has fewest.
        has_seeds: whether another seed would give another score.
        shared_clusters: the number that each cluster has in all tasks, [clusters]; -1 where one task alone has rows of
            it. None where no task shares rows, and of a mean over tasks.
        folds: their number, where the columns are those of folds; else 0.
    """

    scores: np.ndarray
    moves: np.ndarray
    rows: int
    clusters: int
    has_seeds: bool = True
    shared_clusters: np.ndarray | None = None
    folds: int = 0

    @property
    def seeds(self) -> int:
        """The number of seeds; 0 of a side without seeds."""
        return len(self.scores) if self.has_seeds else 0

    @property
    def mean(self) -> float:
        """The mean score over seeds."""
        return float(self.scores.mean())

    @property
    def row_covariance(self) -> float:
        """The mean covariance of two seeds' scores over samples of rows: what other rows change alike for all seeds.

        Of a side without seeds, the variance of its score: two trainings of it would be one and the same.
        """
        if not self.has_seeds:
            return float((self.moves**2).sum())
        square_of_sum = (self.moves.sum(axis=1) ** 2).sum()
        sum_of_squares = (self.moves**2).sum()
        return float(square_of_sum - sum_of_squares) / (self.seeds * (self.seeds - 1))

    @property
    def variance(self) -> float:
        """The variance over seeds; at least what rows change in single seeds, since few seeds may agree by luck."""
        if not self.has_seeds:
            return 0.0
        score_variance = float(self.scores.var(ddof=1))
        single_seed_variance = float((self.moves**2).sum(axis=0).mean())
        return max(score_variance, single_seed_variance - self.row_covariance)

    def covariance(self, other: "Side") -> float:
        """Return the covariance of two sides' means over samples of rows."""
        return float(self.moves.mean(axis=1) @ other.moves.mean(axis=1))

    @property
    def halved(self) -> "Side":
        """The side of the scores (x + 1) / 2."""
        return replace(self, scores=0.5 * self.scores + 0.5, moves=0.5 * self.moves)

    @property
    def as_trained(self) -> "Side":
        """The side of these trainings alone: their mean as one model without seeds, which other rows alone move."""
        mean_moves = self.moves.mean(axis=1, keepdims=True)
        return replace(self, scores=np.array([self.mean]), moves=mean_moves, has_seeds=False)

    def constant(self, score: float) -> "Side":
        """Return a side of this score on the same rows: no seed and no row moves it."""
        return replace(self, scores=np.array([score]), moves=np.zeros((len(self.moves), 1)), has_seeds=False)


def mean_of(sides: Sequence[Side]) -> Side:
    """Return the side of the mean over tasks; those that have seeds have the same ones.

    A cluster that several tasks share moves the mean by the sum of what it moves in each of them.
    """
    columns = max(len(side.scores) for side in sides)
    moves = [np.broadcast_to(side.moves, (len(side.moves), columns)) for side in sides]  # one without seeds: for each
    return Side(
        scores=np.mean([np.broadcast_to(side.scores, columns) for side in sides], axis=0),
        moves=_over_shared_clusters(sides, np.vstack(moves)) / len(sides),
        rows=sum(side.rows for side in sides),
        clusters=min(side.clusters for side in sides),
        has_seeds=any(side.has_seeds for side in sides),
        folds=max(side.folds for side in sides),
    )


def _over_shared_clusters(sides: Sequence[Side], moves: np.ndarray) -> np.ndarray:
    """Add up the moves [clusters of all sides, seeds] of clusters that are one: [different clusters, seeds]."""
    if all(side.shared_clusters is None for side in sides):
        return moves
    numbers = np.concatenate(
        [np.full(len(side.moves), -1) if side.shared_clusters is None else side.shared_clusters for side in sides]
    )
    is_of_one_task = numbers < 0
    numbers[is_of_one_task] = numbers.max() + 1 + np.arange(is_of_one_task.sum())
    distinct, cluster = np.unique(numbers, return_inverse=True)
    sums = np.zeros((len(distinct), moves.shape[1]))
    np.add.at(sums, cluster, moves)
    return sums
