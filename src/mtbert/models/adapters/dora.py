"""Weight-decomposed low-rank adaptation (DoRA).

What it does: splits a linear map's weights into the direction and the length of each output's row. Low-rank factors
change the direction, as in LoRA. The length is a trained number of its own and starts at the encoder's.

Formula: y = m / |V| * (V x) + b with V = W + s B A, |V| the Euclidean norm of each row of V, and s = alpha / r.

Source: Liu et al. (2024), "DoRA: Weight-Decomposed Low-Rank Adaptation", equation 5; no gradient flows through |V|
(section 4.3). The paper speaks of columns; the authors' code takes one norm for each output, as here. Dropout acts on
the inputs of B A alone; in the authors' code it acts on those of W, too.

Symbols: x the map's input; W, b its own weights; A `down` (r x in), B `up` (out x r); r `rank`; m `magnitude` (out).

Shapes: factors and a magnitude for each target and layer, for all tasks or for each (`per_task`).

Prefer `lora` where a step's time counts: here the product B A is computed in every step.
"""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtbert.models.adapters.base import InEveryLayer, Shape
from mtbert.models.adapters.factors import Factored, FactorSettings
from mtbert.models.encoder.slot import LinearName


class Settings(FactorSettings):
    """Section `dora`: a set of factors and magnitudes for each task, or one for all."""

    per_task: bool = False


class DecomposedLayer(Factored):
    """Factors and magnitudes of one layer."""

    def __init__(self, settings: Settings, shape: Shape) -> None:
        super().__init__(settings, shape)
        outputs = {name: shape.linear(name)[1] for name in settings.targets}
        self.magnitude = nn.ParameterDict({name: torch.ones(count) for name, count in outputs.items()})

    def linear(self, name: LinearName, dense: nn.Linear, inputs: Tensor) -> Tensor:
        """m / |V| * (V x) + b for a target."""
        if name not in self.factors:
            return dense(inputs)
        directed = F.linear(inputs, dense.weight) + self.factors[name](inputs)
        stretched = directed * self.stretch(name, dense).to(directed.dtype)
        return stretched if dense.bias is None else stretched + dense.bias.to(directed.dtype)

    def stretch(self, name: LinearName, dense: nn.Linear) -> Tensor:
        """m / |V|, [out]."""
        with torch.no_grad():
            lengths = (dense.weight + self.factors[name].product()).norm(dim=1)  # type: ignore[operator]
        return self.magnitude[name] / lengths


class WeightDecomposedAdaptation(InEveryLayer):
    """One `DecomposedLayer` for each layer and set."""

    in_layer = DecomposedLayer

    def init_from_encoder(self, layers: Sequence[Mapping[LinearName, nn.Linear]]) -> None:
        """Set each magnitude to the length of the encoder's own row."""
        for modules in self.sets.values():
            for module, linears in zip(modules, layers, strict=True):  # type: ignore[call-overload]
                for name, magnitude in module.magnitude.items():
                    magnitude.data.copy_(linears[name].weight.norm(dim=1))
