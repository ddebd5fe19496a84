"""Every kind of technique and pretraining that settings can name."""

from pathlib import Path
from typing import Any

from mtbert import tasks
from mtbert.config.params import COMMON
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
from mtbert.variants.settings import TECHNIQUE_KEYS

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
SECTIONS = (*COMMON, "encoder", "pretrain", *NAMES)
# By each name that `uses` may list: the section and the key that it sets.
USES = {
    name: (section, key) for section, kinds in TECHNIQUE_KEYS.items() for key, kind in kinds.items() for name in kind
}
USES |= dict.fromkeys(OBJECTIVES, ("training", "objectives")) | {SBERT: ("model", "encoder")}
