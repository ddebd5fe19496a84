"""Intervals, tests and corrections, on arrays alone: what a difference between two variants can be told to be."""
