"""Choose the probability from which on a row has a label, for each of several labels.

Formula: t_l is the middle between the two probabilities of label l where F1 of the rows at or above it is highest; of
equal ones the highest. A label with fewer than ten rows has the threshold t where F1 over all labels of all rows is
highest: that of a handful of rows is chance.

Source: Yang (2001), "A Study of Thresholding Strategies for Text Categorization", section 2.2, SCut; the threshold over
all labels for rare ones is ours.

What it needs: rows that were neither trained on nor are scored.
"""

import numpy as np

HALF = 0.5  # where no rows are held out
FEWEST = 10  # rows of a label that has a threshold of its own


def choose(members: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return a threshold for each label, float32 [labels].

    Args:
        members: whether a row has a label, bool [rows, labels].
        probabilities: of each label, [rows, labels].
    """
    common = best(members.ravel(), probabilities.ravel())
    counts = members.sum(axis=0)
    own = [
        best(members[:, label], probabilities[:, label]) if count >= FEWEST else common
        for label, count in enumerate(counts)
    ]
    return np.array(own, np.float32)


def best(is_member: np.ndarray, probability: np.ndarray) -> float:
    """Return the threshold of highest F1 over some [cells]; HALF where none is a member."""
    if not is_member.any():
        return HALF
    values, place = np.unique(-probability, return_inverse=True)
    values = -values  # each once, the highest first
    hits = np.cumsum(np.bincount(place, is_member))
    predicted = np.cumsum(np.bincount(place))
    last = int(np.argmax(2 * hits / (predicted + is_member.sum())))
    lower = values[last + 1] if last + 1 < len(values) else 0.0
    return float(values[last] + lower) / 2
