"""Compare two files of predictions of any origin: scores, their difference, its interval and p, and a standing.

`reading` reads the rows of each side, `pairing` checks them against each other, and `comparing` compares them by
`mtbert.stats` and words the result. Nothing here imports torch, DVC or MLflow.
"""

from mtbert.claims import Standing
from mtbert.compare.comparing import FileComparison, as_text, compare_files

__all__ = ["FileComparison", "Standing", "as_text", "compare_files"]
