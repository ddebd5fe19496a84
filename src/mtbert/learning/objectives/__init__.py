"""Extra loss terms: every objective is one line here and one file beside this one."""

import torch

from mtbert.learning.objectives import distillation, masked_language_model, simcse, simcse_linear, smart
from mtbert.learning.objectives.base import Objective
from mtbert.models.multitask import MultitaskModel
from mtbert.registry import Registry, Technique

OBJECTIVES: Registry[[MultitaskModel, torch.Generator], Objective] = Registry(
    "objective",
    {
        "smart": Technique(smart.Settings, smart.Smart),
        "masked_language_model": Technique(masked_language_model.Settings, masked_language_model.MaskedLanguageModel),
        "simcse": Technique(simcse.Settings, simcse.SimCse),
        "simcse_linear": Technique(simcse_linear.Settings, simcse_linear.SimCseLinear),
        "distillation": Technique(distillation.Settings, distillation.Distillation),
    },
)
