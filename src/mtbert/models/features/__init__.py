"""What is added to the word embeddings: every kind is one line here and one file beside this one."""

from collections.abc import Sequence

from mtbert.models.features import pos
from mtbert.models.features.base import Features
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

FEATURES: Registry[[int, Sequence[str]], Features] = Registry(
    "features",
    {
        "words": Technique(NoOptions, Features),  # adds nothing
        "pos": Technique(pos.Settings, pos.PartOfSpeech),
    },
    default="words",
)
