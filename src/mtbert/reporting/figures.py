"""Plotly's figures as plain mappings: what several sections make them with.

Colours are names of the style sheet's variables (`meta.colour`), which page.js looks up, so that a figure follows the
reader's light or dark mode. Points name their rows (`meta.rows`), whose sentences stand once in the page.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtbert.reporting.claims import OVERFITTING
from mtbert.reporting.markdown import HEADINGS
from mtbert.tasks import TASKS

COLOURS = 8  # of the style sheet's --c0 to --c7, told apart by the colour-blind too
LABELS = {  # what the classes of a task mean
    "sst": ("very negative", "negative", "neutral", "positive", "very positive"),
    "qqp": ("no paraphrase", "paraphrase"),
    "cfimdb": ("negative", "positive"),
}
SCORES = {**HEADINGS, "overall_raw": "overall", "overall_normalised": "normalised overall"}
NAMES = {  # of what a reader chooses from
    "weights": "weights to store",
    "stored": "stored beside the encoder",
    "added": "added weights",
    "trained": "trained weights",
    "time": "training time",
    "2": "two dimensions",
    "3": "three dimensions",
    **{name: task.title for name, task in TASKS.items()},
    **SCORES,
    OVERFITTING: "overfitting",
}
Figure = dict[str, Any]


def titled(text: str) -> dict[str, Any]:
    """An axis."""
    return {"title": {"text": text}, "automargin": True}


def rounded(values: Sequence[float] | np.ndarray, digits: int) -> list[float | None]:
    """For JSON: few digits, and null for what is not finite."""
    return [round(float(value), digits) if np.isfinite(value) else None for value in values]
