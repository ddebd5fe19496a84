"""Intervals, tests and corrections for differences between variants, on arrays alone."""
