"""A task's own path beside the encoder's layers: every adapter is one line here and one file beside this one."""

from mtbert.adapters import none, pals
from mtbert.adapters.base import Adapter
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

ADAPTERS: Registry[Adapter] = Registry(
    "adapter",
    {
        "none": Technique(NoOptions, none.NoAdapter),
        "pals": Technique(pals.Settings, pals.ProjectedAttentionLayers),
    },
)
