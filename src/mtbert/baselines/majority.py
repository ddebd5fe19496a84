"""Majority class: no feature of the text.

What it does: predicts the most frequent class of train, of equal ones the first; for scores the mean of train, of
several labels a row the set of the most frequent label alone.

Formula: P(class) is the class's share of train; the score is the mean of train's labels.

Shapes: [rows, 0]. A regression without features has its intercepts alone.
"""

from mtbert.baselines.base import Features


class NoFeatures(Features):
    """The base class under the technique's name."""
