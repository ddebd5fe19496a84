"""Every kind of technique and pretraining that settings can name."""

from pathlib import Path
from typing import Any

from mtbert import tasks
from mtbert.config.params import COMMON, SHARED
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.models.adapters import ADAPTERS
from mtbert.models.connectors import CONNECTORS
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS
from mtbert.pretrained.settings import SBERT
from mtbert.registry import Registry

REGISTRIES: tuple[Registry[..., Any], ...] = (
    FEATURES, ADAPTERS, CONNECTORS, HEADS, SAMPLERS, OBJECTIVES, WEIGHTINGS, GRADIENTS, SCHEDULES,
)  # fmt: skip
# Files that do not count as a variant's code: they bring in every technique of a kind, and every task, of which the
# variant's plan names those that it uses. Else a new technique or task would train every variant again.
FILES_OF_ALL = frozenset(
    {next(registry[name].source for name in registry).with_name("__init__.py") for registry in REGISTRIES}
    | {Path(tasks.__file__).with_name(tasks.FILE)}
)
NAMES = tuple(name for registry in REGISTRIES for name in registry)
SECTIONS = (*COMMON, *SHARED, *NAMES)
PLACES: dict[str, dict[str, Registry[..., Any]]] = {  # the keys of a section that name one technique of a kind
    "model": {"features": FEATURES, "adapter": ADAPTERS, "connector": CONNECTORS},
    "training": {"sampler": SAMPLERS, "weighting": WEIGHTINGS, "gradients": GRADIENTS, "schedule": SCHEDULES},
}
KEYS = {kind.kind: (section, key) for section, kinds in PLACES.items() for key, kind in kinds.items()}
KEYS |= {OBJECTIVES.kind: ("training", "objectives")}  # which may name several
USES = {name: KEYS[kind.kind] for kind in REGISTRIES if kind is not HEADS for name in kind}
USES |= {SBERT: ("model", "encoder")}  # by each name that `uses` may list: the section and the key that it sets
