"""Correct p for several comparisons at once."""

import numpy as np
from numpy.typing import ArrayLike


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's (1979) step-down correction: the chance of one wrong rejection or more among all stays below the level.

    statsmodels has it for one family; thousands of simulated families need it on arrays.

    Args:
        p_values: [..., comparisons]; each family is a last axis of its own.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, axis=-1, kind="stable")
    steps = np.take_along_axis(p, order, axis=-1) * np.arange(p.shape[-1], 0, -1)
    corrected = np.empty_like(p)
    np.put_along_axis(corrected, order, np.minimum(1, np.maximum.accumulate(steps, axis=-1)), axis=-1)
    return corrected
