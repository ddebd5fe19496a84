"""Temperature scaling: probabilities that are right about as often as they say.

What it does: divides a task's logits by one number, which is fitted on rows that the model did not train on. Predicted
classes stay the same.

Formula: T minimises (log T)^2 / 2 - sum over rows of log softmax(z / T)[label]. The first term keeps T finite where
all rows are right.

Source: Guo et al. (2017), "On Calibration of Modern Neural Networks", section 4.2, without the first term.
"""

import numpy as np

DIGITS = 4  # behind the decimal point of T, so that the last bits of logits do not change it
LARGEST = 3.0  # of |log T|


def temperature(log_probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return T.

    Args:
        log_probabilities: of the classes, [rows, classes]; logits do as well.
        labels: the rows' classes, [rows].
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    classes = labels.astype(int)[:, None]

    def loss(log_temperature: float) -> float:
        scaled = log_softmax(log_probabilities / np.exp(log_temperature), axis=1)
        return log_temperature**2 / 2 - float(np.take_along_axis(scaled, classes, axis=1).sum())

    best = minimize_scalar(loss, bounds=(-LARGEST, LARGEST), method="bounded", options={"xatol": 1e-6})
    return round(float(np.exp(best.x)), DIGITS)
