"""Scaled activations, (IA)^3.

Formula: k = l_k * (W_k h + b_k), v = l_v * (W_v h + b_v), f = W_o (l_f * GELU(W_i h_att + b_i)) + b_o.

Source: Liu et al. (2022), "Few-Shot Parameter-Efficient Fine-Tuning is Better and Cheaper than In-Context Learning",
section 3.3. T5, which they use, has no biases; here l_k and l_v scale BERT's with the rest.

Symbols: h the layer's input, h_att its feed-forward's input; l_k, l_v (d each) and l_f (inner width) `scales`,
which start at 1; * a product dimension by dimension.

Shapes: three vectors for each layer, for all tasks or for each (`per_task`). Weights of a set: L (2 d + inner) = 55,296
for L 12, d 768, inner 3072.
"""

import torch
from torch import Tensor, nn

from mtbert.models.adapters.base import InEveryLayer, InLayer, Shape
from mtbert.models.encoder.slot import LinearName
from mtbert.settings import Section


class Settings(Section):
    """Section `ia3`: a set of scales for each task, or one for all."""

    per_task: bool = False


class ScaledLayer(InLayer):
    """The scales of one layer, by linear map: they scale the outputs of key and value and the inputs of output."""

    def __init__(self, settings: Settings, shape: Shape) -> None:
        super().__init__()
        sizes = {"key": shape.width, "value": shape.width, "output": shape.inner}
        self.scales = nn.ParameterDict({name: torch.ones(size) for name, size in sizes.items()})

    def linear(self, name: LinearName, dense: nn.Linear, inputs: Tensor) -> Tensor:
        """l * (W h + b) for key and value, W (l * h) + b for output."""
        if name not in self.scales:
            return dense(inputs)
        if name == "output":
            return dense(inputs * self.scales[name].to(inputs.dtype))
        outputs = dense(inputs)
        return outputs * self.scales[name].to(outputs.dtype)


class ScaledActivations(InEveryLayer):
    """One `ScaledLayer` for each layer and set."""

    in_layer = ScaledLayer
