"""What is added to the word embeddings: every kind is one line here and one file beside this one."""

from mtbert.features import pos, words
from mtbert.features.base import Features
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

FEATURES: Registry[Features] = Registry(
    "features",
    {"words": Technique(NoOptions, words.Words), "pos": Technique(pos.Settings, pos.PartOfSpeech)},
)
