"""Pooled embeddings to predictions and loss: every head is one line here and one file beside this one."""

from mtbert.models.heads import chance, cosine, linear, matching, mlp, mnr, sigmoid_cosine, squared_cosine
from mtbert.models.heads.base import Head
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions
from mtbert.tasks import Task

HEADS: Registry[[Task, int, int], Head] = Registry(
    "head",
    {
        "linear": Technique(linear.Settings, linear.LinearHead),
        "mlp": Technique(mlp.Settings, mlp.MlpHead),
        "squared_cosine": Technique(NoOptions, squared_cosine.SquaredCosineHead),
        "sigmoid_cosine": Technique(NoOptions, sigmoid_cosine.SigmoidCosineHead),
        "cosine": Technique(NoOptions, cosine.CosineHead),
        "matching": Technique(matching.Settings, matching.MatchingHead),
        "mnr": Technique(mnr.Settings, mnr.MnrHead),
        "chance": Technique(NoOptions, chance.ChanceHead),
    },
    default="mlp",
)
# What `mtbert study` gives to pairs whose sentences are better encoded apart.
PAIRS_APART = "matching"
