"""Two files of predictions, of any origin, held against each other: difference, interval, p, and a verdict.

sources: what a person names, to rows. harness, tracked: rows of lm-evaluation-harness's logs, and of MLflow's runs.
pairing: rows of two sides, checked, to arrays. judging: arrays to what can be told. telling: that as text.

Nothing here imports torch, DVC or MLflow, but for a run of MLflow that is asked for, nor pandas but for texts.
"""

from mtbert.comparing.judging import Outcome, compare, score

__all__ = ["Outcome", "compare", "score"]
