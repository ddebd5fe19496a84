"""Low-rank adaptation (LoRA).

What it does: adds the product of two narrow matrices to the weights of chosen linear maps. The product starts at zero,
so that the encoder starts as it is.

Formula: y = W x + b + s B A x with s = alpha / r.

Source: Hu et al. (2021), "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1; alpha and query and value
from sections 4.1 and 4.2. A is drawn as the authors' code draws it, uniformly as for a linear map; the paper says
Gaussian.

Symbols: x the map's input; W, b its own weights; A `down` (r x in), B `up` (out x r); r `rank`.

Shapes: one pair of factors for each target and layer, for all tasks or for each (`per_task`). Weights of a set: L r
times inputs and outputs of every target = 294,912 for L 12, r 8, query and value of width 768.
"""

from torch import Tensor, nn

from mtbert.models.adapters.base import InEveryLayer
from mtbert.models.adapters.factors import Factored, FactorSettings
from mtbert.models.encoder.slot import LinearName


class Settings(FactorSettings):
    """Section `lora`: a set of factors for each task, or one for all."""

    per_task: bool = False


class LowRankLayer(Factored):
    """The factors of one layer."""

    def linear(self, name: LinearName, dense: nn.Linear, inputs: Tensor) -> Tensor:
        """W x + b + s B A x for a target."""
        return dense(inputs) + self.factors[name](inputs) if name in self.factors else dense(inputs)


class LowRankAdaptation(InEveryLayer):
    """One `LowRankLayer` for each layer and set."""

    in_layer = LowRankLayer
