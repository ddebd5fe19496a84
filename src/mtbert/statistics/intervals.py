"""A score over seeds: mean, standard deviation and the 95 % interval of the mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy import special

LEVEL = 0.05  # of every test; intervals hold 1 - LEVEL


@dataclass(frozen=True)
class Summary:
    """A mean over seeds; std (sample), low and high are None for a single seed."""

    mean: float
    std: float | None
    low: float | None
    high: float | None


def over_seeds(values: Sequence[float]) -> Summary:
    """Return mean, sample standard deviation and Student's interval, mean ± t(n - 1) std / sqrt(n), over seeds."""
    mean = fmean(values)
    if len(values) < 2:
        return Summary(mean, None, None, None)
    std = stdev(values)
    half = -float(special.stdtrit(len(values) - 1, LEVEL / 2)) * std / math.sqrt(len(values))
    return Summary(mean, std, mean - half, mean + half)
