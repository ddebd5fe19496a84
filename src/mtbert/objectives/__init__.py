"""Extra loss terms: every objective is one line here and one file beside this one."""

from mtbert.objectives import smart
from mtbert.objectives.base import Objective
from mtbert.registry import Registry, Technique

OBJECTIVES: Registry[Objective] = Registry("objective", {"smart": Technique(smart.Settings, smart.Smart)})
