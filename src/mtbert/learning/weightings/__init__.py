"""How much each task's loss counts: every weighting is one line here and one file beside this one."""

import torch

from mtbert.learning.weightings import dynamic, dynamic_average, famo, fixed, random, uncertainty
from mtbert.learning.weightings.base import LearntSettings, Weighting
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions
from mtbert.tasks import Tasks

WEIGHTINGS: Registry[[Tasks, torch.Generator], Weighting] = Registry(
    "weighting",
    {
        "equal": Technique(NoOptions, Weighting),  # every loss counts as it is
        "fixed": Technique(fixed.Settings, fixed.Fixed),
        "random": Technique(NoOptions, random.Random),
        "dynamic": Technique(LearntSettings, dynamic.Dynamic),
        "uncertainty": Technique(LearntSettings, uncertainty.Uncertainty),
        "dynamic_average": Technique(dynamic_average.Settings, dynamic_average.DynamicAverage),
        "famo": Technique(famo.Settings, famo.Famo),
    },
    default="equal",
)
