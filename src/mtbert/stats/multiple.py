"""Correct p for several comparisons at once."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down correction: the chance of one wrong rejection or more among all stays below the level.

    statsmodels has it, too: a test compares the two.
    """
    corrected = [1.0] * len(p_values)
    least = 0.0
    smallest_first = sorted(range(len(p_values)), key=p_values.__getitem__)
    for step, number in enumerate(smallest_first):
        least = max(least, (len(p_values) - step) * p_values[number])
        corrected[number] = min(1.0, least)
    return corrected
