"""What an adapter changes of the encoder's layers: every adapter is one line here and one file beside this one."""

from collections.abc import Sequence

from mtbert.models.adapters import dora, houlsby, ia3, lora, low_rank, mtl_lora, pals, pfeiffer
from mtbert.models.adapters.base import Adapter, Shape
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

ADAPTERS: Registry[[Shape, Sequence[str]], Adapter] = Registry(
    "adapter",
    {
        "none": Technique(NoOptions, Adapter),  # changes nothing
        "pals": Technique(pals.Settings, pals.ProjectedAttentionLayers),
        "lora": Technique(lora.Settings, lora.LowRankAdaptation),
        "dora": Technique(dora.Settings, dora.WeightDecomposedAdaptation),
        "ia3": Technique(ia3.Settings, ia3.ScaledActivations),
        "mtl_lora": Technique(mtl_lora.Settings, mtl_lora.MixedAdaptation),
        "low_rank": Technique(low_rank.Settings, low_rank.LowRankLayers),
        "houlsby": Technique(houlsby.Settings, houlsby.HoulsbyAdapters),
        "pfeiffer": Technique(pfeiffer.Settings, pfeiffer.PfeifferAdapters),
    },
    default="none",
)
# Those whose size can be said by another's: its name, and what settles it for an encoder's width and number of layers.
SIZED = {"low_rank": ("pals", low_rank.sized)}
