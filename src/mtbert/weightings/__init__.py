"""How much each task's loss counts: every weighting is one line here and one file beside this one."""

from collections.abc import Sequence

from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions
from mtbert.weightings import dynamic, equal
from mtbert.weightings.base import Weighting

WEIGHTINGS: Registry[[Sequence[str]], Weighting] = Registry(
    "weighting",
    {"equal": Technique(NoOptions, equal.Equal), "dynamic": Technique(NoOptions, dynamic.Dynamic)},
)
