"""One side of a comparison: the scores of its seeds, and how much each cluster of dev rows moves them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        scores: of each seed, [seeds].
        moves: by how much each cluster of rows moves each score, [clusters, seeds] (`mtbert.stats.influence`); of the
            mean over several tasks, the clusters of all of them.
        rows: the number of rows of dev, of all tasks.
        clusters: the number of their clusters; of several tasks, that of the task that has fewest.
    """

    scores: np.ndarray
    moves: np.ndarray
    rows: int
    clusters: int

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return len(self.scores)

    @property
    def mean(self) -> float:
        """The mean score over seeds."""
        return float(self.scores.mean())

    @property
    def row_covariance(self) -> float:
        """The mean covariance of two seeds' scores over samples of rows: what other rows change alike for all seeds."""
        square_of_sum = (self.moves.sum(axis=1) ** 2).sum()
        sum_of_squares = (self.moves**2).sum()
        return float(square_of_sum - sum_of_squares) / (self.seeds * (self.seeds - 1))

    @property
    def variance(self) -> float:
        """The variance over seeds; at least what rows change in single seeds, since few seeds may agree by luck."""
        score_variance = float(self.scores.var(ddof=1))
        single_seed_variance = float((self.moves**2).sum(axis=0).mean())
        return max(score_variance, single_seed_variance - self.row_covariance)

    def covariance(self, other: "Side") -> float:
        """Return the covariance of two sides' means over samples of rows."""
        return float(self.moves.mean(axis=1) @ other.moves.mean(axis=1))

    def scaled(self, factor: float, shift: float = 0.0) -> "Side":
        """Return the side of the scores `factor` x + `shift`."""
        return replace(self, scores=factor * self.scores + shift, moves=factor * self.moves)

    def constant(self, score: float) -> "Side":
        """Return a side with this score for every seed; no row moves it."""
        return replace(self, scores=np.full_like(self.scores, score), moves=np.zeros_like(self.moves))


def mean_of(sides: Sequence[Side]) -> Side:
    """Return the side of the mean over tasks, each with the same seeds."""
    return Side(
        scores=np.mean([side.scores for side in sides], axis=0),
        moves=np.vstack([side.moves for side in sides]) / len(sides),  # tasks have other clusters
        rows=sum(side.rows for side in sides),
        clusters=min(side.clusters for side in sides),
    )
