"""A task's own path beside the encoder's layers: every adapter is one line here and one file beside this one."""

from collections.abc import Sequence

from mtbert.adapters import none, pals
from mtbert.adapters.base import Adapter, Shape
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

ADAPTERS: Registry[[Shape, Sequence[str]], Adapter] = Registry(
    "adapter",
    {
        "none": Technique(NoOptions, none.NoAdapter),
        "pals": Technique(pals.Settings, pals.ProjectedAttentionLayers),
    },
)
