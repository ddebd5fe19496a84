"""Every kind of technique and pretraining that params.yaml can name."""

from typing import Any

from mtbert.adapters import ADAPTERS
from mtbert.encoder.sources import SbertSettings
from mtbert.gradients import GRADIENTS
from mtbert.heads import HEADS
from mtbert.objectives import OBJECTIVES
from mtbert.registry import Registry
from mtbert.samplers import SAMPLERS
from mtbert.training.schedules import SCHEDULES

REGISTRIES: tuple[Registry[Any], ...] = (ADAPTERS, HEADS, SAMPLERS, OBJECTIVES, GRADIENTS, SCHEDULES)
PRETRAININGS = {"sbert": SbertSettings}
NAMES = tuple(name for registry in REGISTRIES for name in registry)
