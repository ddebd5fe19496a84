"""Extra loss terms: every objective is one line here and one file beside this one."""

import torch

from mtbert.models.multitask import MultitaskModel
from mtbert.registry import Registry, Technique
from mtbert.training.objectives import masked_language_model, simcse, simcse_linear, smart
from mtbert.training.objectives.base import Objective

OBJECTIVES: Registry[[MultitaskModel, torch.Generator], Objective] = Registry(
    "objective",
    {
        "smart": Technique(smart.Settings, smart.Smart),
        "masked_language_model": Technique(masked_language_model.Settings, masked_language_model.MaskedLanguageModel),
        "simcse": Technique(simcse.Settings, simcse.SimCse),
        "simcse_linear": Technique(simcse_linear.Settings, simcse_linear.SimCseLinear),
    },
)
