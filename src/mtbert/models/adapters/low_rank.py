"""Low-rank layers, with which PALs were compared.

What it does: gives a task a map into a narrow space and back beside each BERT layer: a PAL without attention. Each
layer has projections of its own in place of the attention, so that a task has about as many weights as with PALs.

Formula: TS(h) = V_D act(V_E h), act being nothing or GELU; the layer becomes LN(h_att + FFN(h_att) + TS(h)).

Source: Stickland and Murray (2019), "BERT and PALs", section 3.3: a PAL's formula without attention. The authors' code
has biases, as here, and GELU between the maps, which the paper's formula lacks. It shares V_E and V_D among layers for
PALs alone. Its low_rank_config.json has 100 for `dim`, with which a task costs about what its PALs do; `as_pals` is the
same for any encoder.

Symbols: h `hidden`, the layer's input; d_s `dim`; V_E `down` (d_s x d), V_D `up` (d x d_s).

Shapes: hidden and TS(h) [rows, tokens, width]. Weights of a set, biases apart: L 2 d d_s = 1,843,200 for d 768, d_s
100, L 12, where a task's PALs of width 204 have 1,811,520. One set for each task, as in the source, unless `per_task`
is false.
"""

from typing import Annotated, Literal

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from mtbert.errors import SettingsError
from mtbert.models.adapters import pals
from mtbert.models.adapters.base import InEveryLayer, InLayer, Shape
from mtbert.settings import Section


class Settings(Section):
    """Section `low_rank`.

    Attributes:
        dim: d_s, the width of the narrow space; `as_pals`: with which a task has as many weights as with the PALs of
            section `pals`, as near as whole numbers come. The plan puts the number.
        activation: `gelu` between the maps as in the authors' code, or `none` as in the paper's formula.
        per_task: whether each task has a set of its own, as in the source.
    """

    dim: Annotated[int, Field(ge=1, le=4096)] | Literal["as_pals"] = 100
    activation: Literal["gelu", "none"] = "none"
    per_task: bool = True


def sized(settings: Settings, like: pals.Settings, width: int, layers: int) -> Settings:
    """Return the settings with a number as `dim`, for an encoder of such width and so many layers; biases count."""
    if settings.dim != "as_pals":
        return settings
    projection_weights = 2 * width * like.dim + like.dim + width
    attention_weights = len(pals.layers_with_pal(like.layers, layers)) * 3 * like.dim * (like.dim + 1)
    layer_weights = (projection_weights + attention_weights) / layers - width  # without the bias of V_D
    return settings.model_copy(update={"dim": max(1, round(layer_weights / (2 * width + 1)))})


class LowRank(InLayer):
    """TS(h) of one layer."""

    runs_in_parallel = True

    def __init__(self, settings: Settings, shape: Shape) -> None:
        super().__init__()
        if settings.dim == "as_pals":
            raise SettingsError("low_rank.dim is as_pals, in whose place the plan puts a number")
        self.activation = settings.activation
        self.down = nn.Linear(shape.width, settings.dim)
        self.up = nn.Linear(settings.dim, shape.width)
        for linear in (self.down, self.up):
            nn.init.normal_(linear.weight, std=shape.initializer_range)
            nn.init.zeros_(linear.bias)

    def parallel(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """TS(h); `mask` is not needed, since no token sees another."""
        narrow = self.down(hidden)  # [rows, tokens, dim]
        return self.up(F.gelu(narrow) if self.activation == "gelu" else narrow)


class LowRankLayers(InEveryLayer):
    """One `LowRank` for each layer."""

    in_layer = LowRank
