"""Compare two files of predictions of any origin: scores, their difference, its interval and p, and an answer.

`reading` reads the rows of files, of lm-evaluation-harness's logs and of MLflow's runs; `pairing` checks the rows of
two sides against each other and makes arrays of them; `outcome` compares them by `mtbert.stats`, and words the result.

Nothing here imports torch or DVC; MLflow is imported for its runs alone.
"""

from mtbert.compare.outcome import Answer, Outcome, SideScore, as_text, as_values, compare, compare_files, score

__all__ = ["Answer", "Outcome", "SideScore", "as_text", "as_values", "compare", "compare_files", "score"]
