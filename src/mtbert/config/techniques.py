"""Every kind of technique and pretraining that settings can name."""

from typing import Any

from mtbert.config.params import COMMON, SHARED
from mtbert.encoders.settings import SBERT
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.models.adapters import ADAPTERS
from mtbert.models.connectors import CONNECTORS
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS
from mtbert.registry import Registry

REGISTRIES: tuple[Registry[..., Any], ...] = (
    FEATURES, ADAPTERS, CONNECTORS, HEADS, SAMPLERS, OBJECTIVES, WEIGHTINGS, GRADIENTS, SCHEDULES,
)  # fmt: skip
NAMES = tuple(name for registry in REGISTRIES for name in registry)
SECTIONS = (*COMMON, *SHARED, *NAMES)
PLACES: dict[tuple[str, str], Registry[..., Any]] = {  # where settings name one technique of a kind
    ("model", "features"): FEATURES,
    ("model", "adapter"): ADAPTERS,
    ("model", "connector"): CONNECTORS,
    ("training", "sampler"): SAMPLERS,
    ("training", "weighting"): WEIGHTINGS,
    ("training", "gradients"): GRADIENTS,
    ("training", "schedule"): SCHEDULES,
}
USABLE = (*(name for registry in REGISTRIES if registry is not HEADS for name in registry), SBERT)  # by `uses`
