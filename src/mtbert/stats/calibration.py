"""Whether probabilities are right as often as they say: the expected calibration error, with an interval.

Formula: sum over BINS equally wide bins of the predicted class's probability of |sum in the bin of (right -
probability)| / n, the mean over seeds. 0 is perfect; of few rows it is above 0 even then.

The interval is a basic bootstrap over clusters of rows (Davison and Hinkley 1997, section 5.2): it is turned around the
estimate, which takes back that a bootstrap sample is noisier than its rows.

Source: Guo et al. (2017), "On Calibration of Modern Neural Networks", equation 3.
"""

import numpy as np

from mtbert import seeding
from mtbert.stats.estimates import LEVEL, Interval

BINS = 10
SAMPLES = 2000


def calibration(probabilities: np.ndarray, right: np.ndarray, clusters: np.ndarray) -> tuple[float, Interval]:
    """Return the expected calibration error of predictions, 0 to 1, and its interval.

    Args:
        probabilities: of the predicted classes, [rows, seeds].
        right: whether these are the labels, [rows, seeds].
        clusters: a number for each row, equal for rows of a cluster.
    """
    rows, seeds = probabilities.shape
    bins = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    _, cluster_of_row = np.unique(clusters, return_inverse=True)
    count = cluster_of_row.max() + 1
    gaps = np.zeros((count, seeds, BINS))  # of right and probability, summed
    np.add.at(gaps, (cluster_of_row[:, None], np.arange(seeds), bins), right - probabilities)
    sizes = np.bincount(cluster_of_row)
    drawn = seeding.stream(0, "calibration").multinomial(count, np.full(count, 1 / count), SAMPLES)
    of_samples = np.abs(drawn @ gaps.reshape(count, -1)).sum(axis=1) / seeds / (drawn @ sizes)
    error = float(np.abs(gaps.sum(axis=0)).sum() / seeds / rows)
    low, high = np.quantile(of_samples, [LEVEL / 2, 1 - LEVEL / 2])
    return error, (max(0.0, 2 * error - float(high)), min(1.0, max(error, 2 * error - float(low))))
