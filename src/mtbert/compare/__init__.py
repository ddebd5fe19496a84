"""Compare two files of predictions of any origin: scores, their difference, its interval and p, and a verdict.

`reading` reads the rows of each side, `pairing` checks them against each other, `comparing` compares them by
`mtbert.stats`, and `wording` words the result. Nothing here imports torch, DVC or MLflow.
"""

from mtbert.compare.comparing import compare_files
from mtbert.compare.reading import models
from mtbert.compare.wording import as_text

__all__ = ["as_text", "compare_files", "models"]
