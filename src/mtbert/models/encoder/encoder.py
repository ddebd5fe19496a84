"""An encoder of any architecture: word embeddings in, hidden states and one embedding a sequence out.

Legend: rows sequences of a batch; tokens the longest of them; width the hidden size.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mtbert.errors import EncoderError
from mtbert.models.encoder.base import Backbone, Slots
from mtbert.models.encoder.dropout import Dropout
from mtbert.models.encoder.slot import PLAIN
from mtbert.settings import Pooling


class Encoder(nn.Module):
    """A backbone whose layers an adapter can change.

    Args:
        backbone: its weights.
        dropout: replaces all its own dropout probabilities; None keeps them.
        mask_token: id of the token that hides a word, where the tokenizer has one.
        typed: whether the second sentence of a pair has a token type of its own; else all tokens have the first.
    """

    def __init__(
        self, backbone: Backbone, dropout: float | None = None, mask_token: int | None = None, typed: bool = True
    ) -> None:
        super().__init__()
        self.mask_token = mask_token
        self.typed = typed and backbone.config.token_types > 1
        self.backbone = backbone
        for module in backbone.modules():
            if isinstance(module, Dropout) and dropout is not None:
                module.p = dropout

    @property
    def width(self) -> int:
        """Hidden size."""
        return self.backbone.config.hidden_size

    def words(self, input_ids: Tensor) -> Tensor:
        """Word embeddings alone, before positions, types and LayerNorm: [rows, tokens, width]."""
        return self.backbone.word_embeddings(input_ids)

    def pooled(self, how: Pooling, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return one embedding for each sequence: [rows, tokens, width] and mask [rows, tokens] -> [rows, width].

        `cls` is the first token's hidden state; `pooler` is BERT's dense layer and tanh on it (Devlin et al. 2019);
        `mean` is the mean over the tokens that are not padding (Reimers and Gurevych 2019, section 3).
        """
        if how == "mean":
            weights = mask.unsqueeze(-1).to(hidden.dtype)  # [rows, tokens, 1]
            return (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        if how == "cls":
            return hidden[:, 0]
        if "dense" not in self.backbone.pooler:
            raise EncoderError("model.pooling is pooler, but the encoder has none; allowed: cls or mean")
        return torch.tanh(self.backbone.pooler["dense"](hidden[:, 0]))

    def forward(self, words: Tensor, token_types: Tensor, mask: Tensor, slots: Slots = lambda _: PLAIN) -> Tensor:
        """Return the last layer's hidden states; `slots` maps a layer's number (0, 1, ...) to an adapter's slot.

        Shapes: words [rows, tokens, width], token_types and mask [rows, tokens], result [rows, tokens, width].
        """
        return self.each(words, token_types, mask, [slots])[0]

    def each(self, words: Tensor, token_types: Tensor, mask: Tensor, slots: Sequence[Slots]) -> list[Tensor]:
        """Return the same for each of several slots; what is the same for them is computed once: `Backbone.forward`."""
        types = token_types if self.typed else torch.zeros_like(token_types)
        states = self.backbone(words, types, mask.bool()[:, None, None, :], slots)
        return [hidden.to(self.backbone.word_embeddings.weight.dtype) for hidden in states]

    def layer_modules(self) -> list[Any]:
        """Return the layers, the lowest first."""
        return self.backbone.layer_modules()

    def parts(self) -> dict[str, list[nn.Parameter]]:
        """Return the parameters by the names that `training.trainable` uses; parts may overlap.

        `biases` are those of linear maps, LayerNorms and pooler. Training them and the heads alone is BitFit (Ben Zaken
        et al. 2022, section 3): 102,912 weights of BERT-base. ModernBERT has none.
        """
        backbone, layers = self.backbone, self.layer_modules()
        modules: dict[str, list[nn.Module]] = {
            "encoder": [backbone],
            "embeddings": [backbone.embeddings],
            "layers": [*layers],
            "pooler": [backbone.pooler],
        }
        for part in ("attention", "feed_forward", "output_norms"):
            modules[part] = [module for layer in layers for module in layer.parts()[part]]
        modules["output_norms"] += backbone.norms()
        modules |= {f"layer_{number}": [layer] for number, layer in enumerate(layers, start=1)}
        parts = {name: [p for module in group for p in module.parameters()] for name, group in modules.items()}
        return parts | {"biases": [p for name, p in backbone.named_parameters() if name.endswith(".bias")]}
