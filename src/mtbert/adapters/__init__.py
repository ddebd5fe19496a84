"""What an adapter changes of the encoder's layers: every adapter is one line here and one file beside this one."""

from collections.abc import Sequence

from mtbert.adapters import houlsby, low_rank, none, pals, pfeiffer
from mtbert.adapters.base import Adapter, Shape
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

ADAPTERS: Registry[[Shape, Sequence[str]], Adapter] = Registry(
    "adapter",
    {
        "none": Technique(NoOptions, none.NoAdapter),
        "pals": Technique(pals.Settings, pals.ProjectedAttentionLayers),
        "low_rank": Technique(low_rank.Settings, low_rank.LowRankLayers),
        "houlsby": Technique(houlsby.Settings, houlsby.HoulsbyAdapters),
        "pfeiffer": Technique(pfeiffer.Settings, pfeiffer.PfeifferAdapters),
    },
)
