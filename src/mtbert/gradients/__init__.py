"""Several losses to one gradient: every rule is one line here and one file beside this one."""

import torch

from mtbert.gradients import pcgrad, total
from mtbert.gradients.base import GradientRule
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

GRADIENTS: Registry[[torch.Generator], GradientRule] = Registry(
    "gradient rule", {"total": Technique(NoOptions, total.Total), "pcgrad": Technique(NoOptions, pcgrad.PcGrad)}
)
