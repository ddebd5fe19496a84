"""Several comparisons made at once."""

from collections.abc import Sequence

import numpy as np
from statsmodels.stats.multitest import multipletests


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down correction: the chance of one wrong rejection or more among all stays below the level."""
    return [float(p) for p in np.asarray(multipletests(p_values, method="holm")[1])] if len(p_values) else []
