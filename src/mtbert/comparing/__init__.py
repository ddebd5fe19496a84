"""Compare two files of predictions of any origin: difference, interval, p, and a verdict.

sources reads the rows of files; harness those of lm-evaluation-harness's logs, and tracked those of MLflow's runs.
pairing checks the rows of two sides and makes arrays of them. judging makes the verdict, and formatting prints it.

Nothing here imports torch or DVC. MLflow is imported only for one of its runs, and pandas only for texts.
"""

from mtbert.comparing.judging import Outcome, compare, score

__all__ = ["Outcome", "compare", "score"]
