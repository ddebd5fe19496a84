"""Several losses to one gradient: every rule is one line here and one file beside this one."""

import torch

from mtbert.learning.gradients import cagrad, gradnorm, imtl_g, mgda, nash_mtl, pcgrad, upgrad
from mtbert.learning.gradients.base import GradientRule
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

GRADIENTS: Registry[[torch.Generator], GradientRule] = Registry(
    "gradient rule",
    {
        "total": Technique(NoOptions, GradientRule),  # the gradient of the sum of the losses
        "pcgrad": Technique(pcgrad.Settings, pcgrad.PcGrad),
        "mgda": Technique(NoOptions, mgda.Mgda),
        "cagrad": Technique(cagrad.Settings, cagrad.CaGrad),
        "imtl_g": Technique(NoOptions, imtl_g.ImtlG),
        "upgrad": Technique(NoOptions, upgrad.UpGrad),
        "gradnorm": Technique(gradnorm.Settings, gradnorm.GradNorm),
        "nash_mtl": Technique(NoOptions, nash_mtl.NashMtl),
    },
    default="total",
)
