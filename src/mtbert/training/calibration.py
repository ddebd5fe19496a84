"""Temperature scaling: probabilities that are right about as often as they say.

What it does: divides a task's logits by one number, which is fitted on rows that the model did not train on. Predicted
classes stay the same.

Formula: T minimises the sum of two terms: the cross-entropy, over n rows, of softmax(z / T) with targets that are
(n + 1) / (n + 2) for a row's label, and alike for all other classes; and (log T)^2 / (2 SPREAD^2). So n rows that are
all right say that 1 of n + 2 may be wrong, and few rows move T little from 1. Without rows T is 1.

Source: Guo et al. (2017), "On Calibration of Modern Neural Networks", section 4.2, with the targets of Platt (1999),
"Probabilistic Outputs for Support Vector Machines", section 2.2. The second term is ours: a normal prior of log T.
"""

import numpy as np

DIGITS = 4  # behind the decimal point of T, so that the last bits of logits do not change it
LARGEST = 3.0  # of |log T|
SPREAD = 0.5  # standard deviation of the prior of log T: 95 % of temperatures lie between 0.38 and 2.7


def temperature(log_probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return T.

    Args:
        log_probabilities: of the classes, [rows, classes]; logits do as well.
        labels: the rows' classes, [rows].
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    rows, classes = log_probabilities.shape
    if not rows:
        return 1.0
    targets = np.full((rows, classes), 1 / (rows + 2) / (classes - 1))
    np.put_along_axis(targets, labels.astype(int)[:, None], (rows + 1) / (rows + 2), axis=1)

    def loss(log_temperature: float) -> float:
        cross_entropy = -float((targets * log_softmax(log_probabilities / np.exp(log_temperature), axis=1)).sum())
        return cross_entropy + log_temperature**2 / (2 * SPREAD**2)

    best = minimize_scalar(loss, bounds=(-LARGEST, LARGEST), method="bounded", options={"xatol": 1e-6})
    return round(float(np.exp(best.x)), DIGITS)
