"""Mean average precision of several labels a row, and by how much each row moves it.

Formula: of one label AP = mean over the rows i that have it of p_i, the share of rows that have it among the n_i rows
that are at least as probable as i; then the mean over labels that rows have. It needs no threshold. It is
scikit-learn's `average_precision_score`.

A row k that counts w more moves AP by w I_k to first order, I_k = (y_k (p_k - AP) + sum over rows i that have the label
and are not above k of (y_k - p_i) / n_i) / N, where y_k is whether k has the label, and N rows have it: what counts
more is among those of each i that it is not below. `mtbert.stats.influence` says what for.

Shapes: members, whether a row has a label, bool [rows, labels]; probabilities of each label [rows, labels].

Why here: it needs the probability of each label, which no table of results keeps.
"""

import numpy as np


def score(members: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the mean over labels that rows have, 0 to 1; 0 where no row has a label."""
    scores = [_Ranks(*label).precisions().mean() for label in _present(members, probabilities)]
    return float(np.mean(scores)) if scores else 0.0


def moves(members: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return by how much each row moves the score, [rows]."""
    of_labels = [_Ranks(*label).moves() for label in _present(members, probabilities)]
    return np.mean(of_labels, axis=0) if of_labels else np.zeros(len(members))


def _present(members: np.ndarray, probabilities: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return by label that any row has whether each row has it, and its probability: [rows] each."""
    return [(members[:, label], probabilities[:, label]) for label in np.flatnonzero(members.any(axis=0))]


class _Ranks:
    """The rows of one label by places, of which the most probable rows have place 0, and equal ones the same.

    Attributes:
        is_member: whether a row has the label, [rows].
        place: of each row, [rows].
        hits: the rows that have the label at each place, [places].
        at_least: n, the rows at each place or above, [places].
        precision: p, the share of rows that have the label among these, [places].
    """

    def __init__(self, is_member: np.ndarray, probability: np.ndarray) -> None:
        self.is_member = is_member
        _, self.place = np.unique(-probability, return_inverse=True)
        self.hits = np.bincount(self.place, is_member)
        self.at_least = np.cumsum(np.bincount(self.place))
        self.precision = np.cumsum(self.hits) / self.at_least

    def precisions(self) -> np.ndarray:
        """Return p of the rows that have the label."""
        return self.precision[self.place][self.is_member]

    def moves(self) -> np.ndarray:
        """Return by how much each row moves the average precision, [rows]."""
        own = self.is_member * (self.precision[self.place] - self.precisions().mean())
        of_others = self.is_member * self._below(1 / self.at_least) - self._below(self.precision / self.at_least)
        return (own + of_others) / self.is_member.sum()

    def _below(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of a value of places over the rows that have the label and are not above each row, [rows]."""
        return np.cumsum((self.hits * values)[::-1])[::-1][self.place]
