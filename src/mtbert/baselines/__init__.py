"""Cheap baselines: what a trained model has to beat before anybody keeps it.

Each technique is a file: `fit` makes `Features` of training texts, and `linear` trains the regression on them. `run`
does it for all tasks of a folder, `stored` writes and reads the models. None of them has a seed.
"""

from mtbert.baselines import embeddings, majority, tfidf
from mtbert.scores.described import FROZEN, MAJORITY, TFIDF

TECHNIQUES = {MAJORITY: majority.NoFeatures, TFIDF: tfidf.Counts, FROZEN: embeddings.Embedded}
