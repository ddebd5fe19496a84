"""Every kind of technique and pretraining that params.yaml can name."""

from typing import Any

from mtbert.adapters import ADAPTERS
from mtbert.connectors import CONNECTORS
from mtbert.features import FEATURES
from mtbert.gradients import GRADIENTS
from mtbert.heads import HEADS
from mtbert.objectives import OBJECTIVES
from mtbert.registry import Registry
from mtbert.samplers import SAMPLERS
from mtbert.schedules import SCHEDULES
from mtbert.weightings import WEIGHTINGS

REGISTRIES: tuple[Registry[Any], ...] = (
    FEATURES, ADAPTERS, CONNECTORS, HEADS, SAMPLERS, OBJECTIVES, WEIGHTINGS, GRADIENTS, SCHEDULES,
)  # fmt: skip
NAMES = tuple(name for registry in REGISTRIES for name in registry)
